// SPDX-License-Identifier: MIT
/*
 * Calls: the payload of each function of Table II, checked and executed.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "state.h"
#include "instance.h"

static bool is_zero(const unsigned char *p, size_t bytes)
{
	while (bytes)
		if (p[--bytes])
			return false;
	return true;
}

/* Take @bytes of the payload, behind which there is nothing. */
static int take(const void *payload, size_t have, void *to, size_t bytes)
{
	if (have < bytes || !is_zero((const unsigned char *)payload + bytes, have - bytes))
		return annex_fail(-EINVAL, "NDP: a call of %zu bytes, of which %zu are its payload",
				  have, bytes);
	memcpy(to, payload, bytes);
	return 0;
}

static int64_t call_register(struct ndp_client *c, const void *payload, size_t bytes)
{
	struct annex_m2_register asked;
	int err = take(payload, bytes, &asked, sizeof(asked));

	return err ? err : ndp_register(c, &asked);
}

static int64_t call_unregister(struct ndp_client *c, const void *payload, size_t bytes)
{
	struct annex_m2_unregister asked;
	int err = take(payload, bytes, &asked, sizeof(asked));

	return err ? err : ndp_unregister(c, &asked);
}

static int64_t call_shootdown(struct ndp_client *c, const void *payload, size_t bytes)
{
	struct annex_m2_shootdown asked;
	int err = take(payload, bytes, &asked, sizeof(asked));

	return err ? err : ndp_client_shootdown(c, &asked);
}

static struct annex_m2_answer call_poll(struct ndp_client *c, const void *payload, size_t bytes)
{
	struct annex_m2_poll asked;
	int err = take(payload, bytes, &asked, sizeof(asked));

	return err ? (struct annex_m2_answer){.value = err} : ndp_poll(c, &asked);
}

/* *@later: the answer is given when the kernel has ended. */
static int64_t call_launch(struct ndp_client *c, const void *payload, size_t bytes, ndp_done *done,
			   void *ctx, bool *later)
{
	struct {
		struct annex_m2_launch asked;
		unsigned char args[ANNEX_M2_ARGS_MAX];
	} launch;
	int64_t id;
	int err;

	if (bytes < sizeof(launch.asked))
		return annex_fail(-EINVAL, "NDP: a launch of %zu bytes", bytes);
	memcpy(&launch.asked, payload, sizeof(launch.asked));
	if (launch.asked.args > ANNEX_M2_ARGS_MAX)
		return annex_fail(-EINVAL, "NDP: %u bytes of arguments", launch.asked.args);
	err = take(payload, bytes, &launch, sizeof(launch.asked) + launch.asked.args);
	if (err)
		return err;
	id = ndp_launch(c, &launch.asked, launch.args, done, ctx);
	*later = id > 0 && launch.asked.sync;
	return id;
}

void ndp_call(struct ndp_client *c, unsigned int function, const void *payload, size_t bytes,
	      ndp_done *done, void *ctx)
{
	struct annex_m2_answer answer = {0};
	bool later = false;

	switch (function) {
	case ANNEX_M2_REGISTER:
		answer.value = call_register(c, payload, bytes);
		break;
	case ANNEX_M2_UNREGISTER:
		answer.value = call_unregister(c, payload, bytes);
		break;
	case ANNEX_M2_LAUNCH:
		answer.value = call_launch(c, payload, bytes, done, ctx, &later);
		break;
	case ANNEX_M2_POLL:
		answer = call_poll(c, payload, bytes);
		break;
	case ANNEX_M2_SHOOTDOWN:
		answer.value = call_shootdown(c, payload, bytes);
		break;
	default:
		answer.value = annex_fail(-ENOSYS, "NDP: there is no function %u", function);
	}
	if (!later)
		done(ctx, &answer);
}

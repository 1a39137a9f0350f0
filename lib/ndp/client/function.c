// SPDX-License-Identifier: MIT
/*
 * The functions of Table II, as C functions.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "core/log.h"
#include "core/thread.h"
#include "m2.h"

#define ERRNO_MOST 4095
#define NAP_LEAST 10000u /* ns */
#define NAP_MOST (2 * ANNEX_NSEC_PER_MSEC)
#define LOOKS 32u    /* polls before the first nap */
#define LAST_MS 100u /* time limit of the last poll, after the deadline */

int m2_verdict(const char *what, const struct annex_m2_answer *a, struct annex_m2_end *end)
{
	if (end)
		*end = (struct annex_m2_end){0};
	if (a->value >= 0)
		return 0;
	if (a->value < -ERRNO_MOST)
		return annex_fail(-EIO, "M2func: %s: the device answers %lld", what,
				  (long long)a->value);
	if (!a->pc)
		return annex_fail((int)a->value, "M2func: %s: %s", what, strerror((int)-a->value));
	if (end)
		*end = (struct annex_m2_end){a->pc, a->addr};
	return annex_fail((int)a->value, "M2func: %s: the kernel ended at %#llx: %s (%#llx)", what,
			  (ull)a->pc, strerror((int)-a->value), (ull)a->addr);
}

/* Call a function without arguments after its payload, whose answer is 0. */
static int call(struct annex_m2 *m2, enum annex_m2_function function, const char *what,
		const void *payload, size_t bytes, struct annex_m2_answer *a)
{
	int err = m2_call(m2, function, payload, bytes, NULL, 0, a);

	return err ? err : m2_verdict(what, a, NULL);
}

int annex_m2_register(struct annex_m2 *m2, const void *image, const struct annex_m2_needs *needs,
		      uint32_t *id)
{
	struct annex_m2_register ask = {.code = (uintptr_t)image,
					.scratchpad = needs->scratchpad,
					.nx = needs->nx,
					.nf = needs->nf,
					.nv = needs->nv,
					.args = needs->args};
	struct annex_m2_answer a;
	int err = call(m2, ANNEX_M2_REGISTER, "registration", &ask, sizeof(ask), &a);

	if (err)
		return err;
	if (!a.value || a.value > UINT32_MAX)
		return annex_fail(-EIO, "M2func: registration: the device answers %lld",
				  (long long)a.value);
	*id = (uint32_t)a.value;
	return 0;
}

int annex_m2_unregister(struct annex_m2 *m2, uint32_t id)
{
	struct annex_m2_unregister ask = {.id = id};
	struct annex_m2_answer a;

	return call(m2, ANNEX_M2_UNREGISTER, "unregistration", &ask, sizeof(ask), &a);
}

int annex_m2_shootdown(struct annex_m2 *m2, uint32_t asid, const void *addr)
{
	struct annex_m2_shootdown ask = {.asid = asid, .page = (uintptr_t)addr / ANNEX_M2_PAGE};
	struct annex_m2_answer a;

	return call(m2, ANNEX_M2_SHOOTDOWN, "shootdown", &ask, sizeof(ask), &a);
}

static void nap(uint64_t ns)
{
	struct timespec ts = {.tv_sec = 0, .tv_nsec = (long)ns};

	THREAD_KEPT(nanosleep(&ts, NULL));
}

/* Sleep in proportion to the time waited so far, at most until @until. */
static void nap_after(uint64_t since, uint64_t until)
{
	uint64_t now = annex_now(), ns = (now - since) / 8;

	ns = ns > NAP_LEAST ? ns : NAP_LEAST;
	ns = ns < NAP_MOST ? ns : NAP_MOST;
	if (now < until)
		nap(ns < until - now ? ns : until - now);
}

/* The later of @deadline and the time limit of a call that begins now. */
static uint64_t not_before(uint64_t deadline)
{
	uint64_t least = annex_deadline_ms(LAST_MS);

	return deadline > least ? deadline : least;
}

int m2_launch_ready(struct annex_m2 *m2, struct annex_m2_launch *ask, size_t nargs)
{
	if (nargs > UINT8_MAX)
		return annex_fail(-EINVAL, "M2func: launch: %zu bytes of arguments", nargs);
	ask->args = (uint8_t)nargs;
	return m2->head.coherent
		       ? 0
		       : annex_m2_flush((void *)(uintptr_t)ask->base, ask->bound - ask->base);
}

static int launch(struct annex_m2 *m2, struct annex_m2_launch *ask, const void *args, size_t nargs,
		  struct annex_m2_answer *a)
{
	int err = m2_launch_ready(m2, ask, nargs);

	return err ? err : m2_call(m2, ANNEX_M2_LAUNCH, ask, sizeof(*ask), args, nargs, a);
}

int annex_m2_launch(struct annex_m2 *m2, uint32_t id, const void *pool, uint64_t bytes,
		    const void *args, size_t nargs, uint64_t *instance)
{
	struct annex_m2_launch ask = {
		.id = id, .base = (uintptr_t)pool, .bound = (uintptr_t)pool + bytes};
	struct annex_m2_answer a = {0};
	int err = launch(m2, &ask, args, nargs, &a);

	if (!err)
		err = m2_verdict("launch", &a, NULL);
	if (!err)
		*instance = (uint64_t)a.value;
	return err;
}

int annex_m2_run(struct annex_m2 *m2, uint32_t id, const void *pool, uint64_t bytes,
		 const void *args, size_t nargs, struct annex_m2_end *end)
{
	struct annex_m2_launch ask = {
		.id = id, .sync = 1, .base = (uintptr_t)pool, .bound = (uintptr_t)pool + bytes};
	struct annex_m2_answer a = {0};
	int err = launch(m2, &ask, args, nargs, &a);

	if (end)
		*end = (struct annex_m2_end){0};
	return err ? err : m2_verdict("launch", &a, end);
}

/* Poll until @deadline; 0: timeout of the options. */
static int poll_until(struct annex_m2 *m2, uint64_t instance, uint64_t deadline,
		      struct annex_m2_answer *a)
{
	const struct annex_m2_poll ask = {.instance = instance};
	const struct m2_text text = {.payload = &ask, .bytes = sizeof(ask)};

	return m2_call_until(m2, ANNEX_M2_POLL, &text, deadline, a);
}

int annex_m2_poll(struct annex_m2 *m2, uint64_t instance, struct annex_m2_end *end)
{
	struct annex_m2_answer a;
	int err = poll_until(m2, instance, 0, &a);

	if (end)
		*end = (struct annex_m2_end){0};
	if (!err)
		err = m2_verdict("poll", &a, end);
	return err ? err : a.value != 0;
}

int annex_m2_wait(struct annex_m2 *m2, uint64_t instance, uint32_t timeout_ms,
		  struct annex_m2_end *end)
{
	uint64_t since = annex_now(), deadline = annex_deadline_ms(timeout_ms);

	if (end)
		*end = (struct annex_m2_end){0};
	for (unsigned int looks = 0;; looks++) {
		struct annex_m2_answer a;
		int err = poll_until(m2, instance, not_before(deadline), &a);

		if (!err && a.value <= 0)
			return m2_verdict("poll", &a, end);
		if (err && err != -EBUSY && err != -ETIMEDOUT)
			return err;
		if (annex_now() >= deadline)
			return annex_fail(-ETIMEDOUT, "M2func: instance %llu runs after %u ms",
					  (ull)instance, timeout_ms);
		if (looks >= LOOKS)
			nap_after(since, deadline);
	}
}

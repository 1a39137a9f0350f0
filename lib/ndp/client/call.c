// SPDX-License-Identifier: MIT
/*
 * A call: a slot, a store, an answer. A torn or lost call was not carried out, so it is stored
 * again.
 */
#include <errno.h>
#include "core/log.h"
#include "m2.h"

int m2_usable(struct annex_m2 *m2)
{
	if (!*m2->mine)
		return annex_fail(-ECHILD, "M2func: opened before fork(): open it in the child");
	/* Acquire: pairs with the thread that set it; the head's word as in m2_down(). */
	if (annex_atomic_load(&m2->gone, ANNEX_ACQUIRE))
		return annex_fail(-ENODEV, "M2func: the device is gone");
	return 0;
}

uint32_t m2_args_most(const struct annex_m2 *m2)
{
	uint32_t room = 2 * m2->layout.stride - 8 - (uint32_t)sizeof(struct annex_m2_launch);

	return room < ANNEX_M2_ARGS_MAX ? room : ANNEX_M2_ARGS_MAX;
}

int m2_begin(struct m2_call *call, bool wait)
{
	size_t nargs = call->text.nargs;

	if (nargs > m2_args_most(call->m2))
		return annex_fail(
			-EINVAL,
			"M2func: %zu bytes of arguments; a stride of %u leaves room for %u", nargs,
			call->m2->layout.stride, m2_args_most(call->m2));
	return m2_slot_take(call, wait);
}

void m2_end(const struct m2_call *call, int err)
{
	m2_slot_give(call, err == -ETIMEDOUT || err == -EIO);
}

int m2_call_until(struct annex_m2 *m2, enum annex_m2_function function, const struct m2_text *text,
		  uint64_t deadline, struct annex_m2_answer *out)
{
	struct m2_call call = {.m2 = m2, .function = function, .text = *text, .deadline = deadline};
	int err = m2_usable(m2);

	if (!err)
		err = m2_begin(&call, true);
	if (err)
		return err;
	m2_delay(m2->opts.mem_ns / 2);
	m2_store_call(&call);
	m2_wake_device(m2);
	err = m2_wait(&call);
	m2_delay(m2->opts.mem_ns / 2);
	m2_end(&call, err);
	*out = call.answer;
	return err;
}

int m2_call(struct annex_m2 *m2, enum annex_m2_function function, const void *payload, size_t bytes,
	    const void *args, size_t nargs, struct annex_m2_answer *out)
{
	const struct m2_text text = {payload, bytes, args, nargs};

	return m2_call_until(m2, function, &text, 0, out);
}

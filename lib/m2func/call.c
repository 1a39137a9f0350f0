// SPDX-License-Identifier: MIT
/*
 * One call: a slot, a store, an answer. What was torn or lost on the way was not carried out, so it
 * is stored again.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "m2.h"

#define TRIES 8

char *m2_cell(const struct annex_m2 *m2, uint32_t slot, uint32_t function)
{
	uint64_t number = (uint64_t)slot * ANNEX_M2_FUNCTIONS + function;

	return m2->region + m2_cells_at() + number * m2->layout.stride;
}

bool m2_read_answer(const struct annex_m2 *m2, uint32_t slot, uint32_t function, uint32_t seq,
		    struct annex_m2_answer *out)
{
	uint32_t stride = m2->layout.stride;
	char *cell = m2_cell(m2, slot, function);
	/* Acquires the answer from who stored the word. */
	uint64_t word = annex_atomic_load(m2_word_of(cell, stride), ANNEX_ACQUIRE);
	uint64_t payload[M2_WORDS];

	if (!(word & ANNEX_M2_ANSWER) || (uint32_t)word != seq)
		return false;
	m2_load(cell, stride, payload);
	if (m2_word(payload, stride / 8 - 1, seq, true) != word)
		return false;
	memcpy(out, payload, sizeof(*out));
	return true;
}

int m2_usable(struct annex_m2 *m2)
{
	if (!*m2->mine)
		return annex_fail(-ECHILD, "M2func: opened before fork(): open it in the child");
	/* Acquire, with who saw it; the head's own word as in m2_down(). */
	if (annex_atomic_load(&m2->gone, ANNEX_ACQUIRE))
		return annex_fail(-ENODEV, "M2func: the device is gone");
	return 0;
}

static int converse(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	uint32_t *last = &m2->slot[call->slot].seq[call->function];
	unsigned int n = m2->layout.stride / 8 - 1;

	for (unsigned int tries = 0; tries < TRIES; tries++) {
		uint32_t seq = m2_next(*last);
		int err;

		call->word = m2_word(call->payload, n, seq, false);
		m2->transport->send(call);
		err = m2_wait(call);
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		if (call->answer.value == -EPROTO) {
			*last = (uint32_t)call->answer.addr;
		} else if (call->answer.value != -EBADMSG) {
			*last = seq;
			return 0;
		}
	}
	return annex_fail(-EIO, "M2func: %u stores of a call came to nothing", TRIES);
}

int m2_call(struct annex_m2 *m2, enum annex_m2_function function, const void *payload, size_t bytes,
	    const void *more, size_t nmore, struct annex_m2_answer *out)
{
	struct m2_call call;
	size_t room = m2->layout.stride - sizeof(uint64_t);
	int err = m2_usable(m2);

	if (err)
		return err;
	if (nmore > room - bytes)
		return annex_fail(
			-EINVAL,
			"M2func: %zu bytes of arguments; a stride of %u leaves room for %zu", nmore,
			m2->layout.stride, room - bytes);
	call.m2 = m2;
	call.function = function;
	call.answer = (struct annex_m2_answer){0};
	memset(call.payload, 0, room);
	memcpy(call.payload, payload, bytes);
	if (nmore)
		memcpy((char *)call.payload + bytes, more, nmore);
	call.deadline = annex_deadline_ms(m2->opts.timeout_ms);
	err = m2_slot_take(m2, call.deadline, &call.slot);
	if (err)
		return err;
	err = converse(&call);
	m2_slot_give(m2, call.slot, err == -ETIMEDOUT || err == -EIO, function);
	*out = call.answer;
	return err;
}

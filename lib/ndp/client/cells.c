// SPDX-License-Identifier: MIT
/*
 * The cells of a call: one store, one load (M2NDP figure 4a).
 */
#include <string.h>
#include <time.h>
#include "core/futex.h"
#include "core/thread.h"
#include "m2.h"

char *m2_cell(const struct annex_m2 *m2, uint32_t slot, uint32_t function)
{
	uint64_t number = (uint64_t)slot * ANNEX_M2_FUNCTIONS + function;

	return m2->region + m2_cells_at() + number * m2->layout.stride;
}

bool m2_read_answer(const struct annex_m2 *m2, uint32_t slot, uint32_t function, uint32_t seq,
		    struct annex_m2_answer *out)
{
	uint32_t stride = m2->layout.stride;
	uint64_t all[M2_WORDS];
	uint64_t word = annex_m2_load_cell(m2_cell(m2, slot, function), stride, all);

	if (!(word & ANNEX_M2_ANSWER) || (uint32_t)word != seq)
		return false;
	if (annex_m2_word(all, stride / 8 - 1, seq, true) != word)
		return false;
	memcpy(out, all, sizeof(*out));
	return true;
}

void m2_store_call(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	const struct m2_text *t = &call->text;
	uint32_t stride = m2->layout.stride,
		 seq = m2_next(m2->slot[call->slot].seq[call->function]);
	unsigned int n = stride / 8 - 1, rest;
	uint64_t all[M2_WORDS];

	memset(all, 0, t->bytes + t->nargs > 8 * n ? 2 * stride - 8 : 8 * n);
	memcpy(all, t->payload, t->bytes);
	if (t->nargs)
		memcpy((char *)all + t->bytes, t->args, t->nargs);
	rest = annex_m2_rest(call->function, all, stride);
	if (rest)
		annex_m2_store_rest(m2_cell(m2, call->slot, ANNEX_M2_REST), stride, all + n);
	call->word = annex_m2_word(all, n + rest, seq, false);
	annex_m2_store_cell(m2_cell(m2, call->slot, call->function), stride, all, call->word);
}

void m2_wake_device(struct annex_m2 *m2)
{
	uint32_t asleep = 1;

	annex_m2_fence();
	/* Sequentially consistent with the stores before the fence. One of several threads
	 * rings. */
	if (annex_atomic_load(&m2->doors->asleep, ANNEX_SEQ_CST) &&
	    annex_atomic_cas(&m2->doors->asleep, &asleep, 0u, ANNEX_SEQ_CST))
		annex_bell_ring(&m2->bell);
}

void m2_rest(struct m2_call *call, uint64_t until)
{
	struct annex_m2 *m2 = call->m2;
	char *cell = m2_cell(m2, call->slot, call->function);
	uint64_t *word = m2_word_of(cell, m2->layout.stride);

	if (m2->link->nap_ns) {
		const struct timespec nap = {.tv_nsec = m2->link->nap_ns};

		THREAD_KEPT(nanosleep(&nap, NULL));
		return;
	}
	/* Count before the last check; the device stores the answer before it loads the count. */
	annex_atomic_add(&m2->doors->sleepers, 1u, ANNEX_SEQ_CST);
	if (annex_atomic_load(word, ANNEX_SEQ_CST) == call->word)
		futex_sleep(m2_word_half(word), (uint32_t)(call->word >> 32), until, true);
	/* Relaxed: a stale count only costs the device a needless wake-up. */
	annex_atomic_sub(&m2->doors->sleepers, 1u, ANNEX_RELAXED);
}

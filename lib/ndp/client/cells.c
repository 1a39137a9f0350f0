// SPDX-License-Identifier: MIT
/*
 * M2func itself: one store, one load (M2NDP figure 4a).
 */
#include <time.h>
#include "core/futex.h"
#include "core/thread.h"
#include "m2.h"

static uint64_t *word_of(const struct m2_call *call)
{
	return m2_word_of(m2_cell(call->m2, call->slot, call->function), call->m2->layout.stride);
}

void m2_wake_device(struct annex_m2 *m2)
{
	uint32_t asleep = 1;

	annex_m2_fence();
	/* Sequentially consistent, with what was stored before the fence. One of many rings. */
	if (annex_atomic_load(&m2->doors->asleep, ANNEX_SEQ_CST) &&
	    annex_atomic_cas(&m2->doors->asleep, &asleep, 0u, ANNEX_SEQ_CST))
		annex_bell_ring(&m2->bell);
}

void m2_rest(struct m2_call *call, uint64_t until)
{
	struct annex_m2 *m2 = call->m2;
	uint64_t *word = word_of(call);

	if (m2->link->nap_ns) {
		const struct timespec nap = {.tv_nsec = m2->link->nap_ns};

		THREAD_KEPT(nanosleep(&nap, NULL));
		return;
	}
	/* Counted before the last look; the device stores the answer before it looks at the count.
	 */
	annex_atomic_add(&m2->doors->sleepers, 1u, ANNEX_SEQ_CST);
	if (annex_atomic_load(word, ANNEX_SEQ_CST) == call->word)
		futex_sleep(m2_word_half(word), (uint32_t)(call->word >> 32), until, true);
	/* Relaxed: who sees it too late wakes nobody. */
	annex_atomic_sub(&m2->doors->sleepers, 1u, ANNEX_RELAXED);
}

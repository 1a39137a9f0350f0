// SPDX-License-Identifier: MIT
/*
 * Slots: one for each calling thread. The slot of a thread that gave up is not reused before the
 * answer has arrived: that answer would be taken for the answer to the next call.
 */
#include <errno.h>
#include <limits.h>
#include "core/futex.h"
#include "core/log.h"
#include "m2.h"

#define NAP_NS (10 * ANNEX_NSEC_PER_MSEC)

/* Each thread begins its search at another slot, so that threads seldom collide. */
static unsigned int first_of_thread(void)
{
	static uint32_t threads;
	static _Thread_local unsigned int first;
	static _Thread_local bool numbered;

	if (!numbered) {
		/* Relaxed: the numbers only need to differ. */
		first = annex_atomic_add(&threads, 1u, ANNEX_RELAXED);
		numbered = true;
	}
	return first;
}

/* Free a stuck slot whose late answer has arrived. */
static void reclaim(struct annex_m2 *m2, uint32_t slot)
{
	struct m2_slot *s = &m2->slot[slot];
	uint32_t state = M2_STUCK;
	struct annex_m2_answer late;
	uint32_t seq;

	/* Acquire: pairs with m2_slot_give() of the thread that gave up. */
	if (!annex_atomic_cas(&s->state, &state, (uint32_t)M2_TAKEN, ANNEX_ACQUIRE))
		return;
	seq = m2_next(s->seq[s->stuck]);
	if (m2_read_answer(m2, slot, s->stuck, seq, &late)) {
		s->seq[s->stuck] = seq;
		state = M2_FREE;
	}
	annex_atomic_store(&s->state, state, ANNEX_RELEASE);
}

static bool try_all(struct annex_m2 *m2, uint32_t *slot)
{
	uint32_t n = m2->opts.slots, first = first_of_thread() % n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (first + i) % n, is_free = M2_FREE;

		/* Acquire: pairs with the release by the previous owner; sequentially consistent as
		 * in m2_slot_give(). */
		if (annex_atomic_cas(&m2->slot[at].state, &is_free, (uint32_t)M2_TAKEN,
				     ANNEX_SEQ_CST)) {
			*slot = at;
			return true;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (annex_atomic_load(&m2->slot[i].state, ANNEX_RELAXED) == M2_STUCK)
			reclaim(m2, i);
	return false;
}

static int wait_for_one(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	bool got, down;

	/* Count before the last check; m2_slot_give() loads the count after freeing a slot. */
	annex_atomic_add(&m2->waiters, 1u, ANNEX_SEQ_CST);
	for (;;) {
		uint32_t seen = annex_atomic_load(&m2->released, ANNEX_SEQ_CST);
		uint64_t nap = annex_now() + NAP_NS;
		bool late = m2_late(call);

		got = try_all(m2, &call->slot);
		/* Check the heartbeat too: the threads that hold the slots may have given up. */
		down = !got && m2_down(m2, &call->heart);
		if (got || down || late)
			break;
		futex_sleep(&m2->released, seen, nap < call->deadline ? nap : call->deadline, true);
	}
	annex_atomic_sub(&m2->waiters, 1u, ANNEX_RELAXED);
	if (got)
		return 0;
	if (down)
		return annex_fail(-ENODEV, "M2func: the device is gone");
	return annex_fail(-EBUSY, "M2func: all %u slots were taken for %u ms", m2->opts.slots,
			  m2->opts.timeout_ms);
}

int m2_slot_take(struct m2_call *call, bool wait)
{
	if (try_all(call->m2, &call->slot))
		return 0;
	return wait ? wait_for_one(call) : -EBUSY;
}

void m2_slot_give(const struct m2_call *call, bool stuck)
{
	struct annex_m2 *m2 = call->m2;
	struct m2_slot *s = &m2->slot[call->slot];

	s->stuck = call->function;
	/* Release: for the next owner of the slot. Then check for waiters, which count themselves
	 * before they check the slots for the last time. */
	annex_atomic_store(&s->state, (uint32_t)(stuck ? M2_STUCK : M2_FREE), ANNEX_SEQ_CST);
	if (!annex_atomic_load(&m2->waiters, ANNEX_SEQ_CST))
		return;
	annex_atomic_add(&m2->released, 1u, ANNEX_SEQ_CST);
	futex_rouse(&m2->released, 1, true);
}

// SPDX-License-Identifier: MIT
/*
 * The command ring, for comparison (M2NDP section II-C): calls are in cells all the same, but
 * nothing looks at them before their numbers come through the ring and its doorbell.
 */
#include "front.h"

#define AT_ONCE 64u

bool ndp_ring_look(struct ndp_front *f)
{
	/*
	 * Acquires commands and cells from who moved the tail; sequentially consistent, as the look
	 * before sleeping: see annex_m2_fence().
	 */
	uint32_t tail = annex_atomic_load(&f->doors->tail, ANNEX_SEQ_CST), left = tail - f->head;

	if (!left)
		return false;
	if (left > ANNEX_M2_RING_DEPTH) /* no host that counts: what it meant is not known */
		f->head = tail - ANNEX_M2_RING_DEPTH;
	for (unsigned int i = 0; i < AT_ONCE && f->head != tail; i++) {
		/* Relaxed: ordered by the tail. */
		uint32_t number = annex_atomic_load(
			&f->doors->command[f->head % ANNEX_M2_RING_DEPTH], ANNEX_RELAXED);

		f->head++;
		if (number >= m2_cells(&f->layout) || ndp_cell_look(f, number))
			continue;
		/* Answered already; or under way, and then there will be another completion. */
		if (!annex_atomic_load(&f->cell[number].busy, ANNEX_ACQUIRE))
			ndp_ring_post(f, number);
	}
	/* Releases the entries that were read to who writes over them. */
	annex_atomic_store(&f->doors->head, f->head, ANNEX_RELEASE);
	return true;
}

void ndp_ring_post(struct ndp_front *f, uint32_t number)
{
	uint64_t *at;

	pthread_mutex_lock(&f->post);
	at = &f->doors->completion[f->posted % ANNEX_M2_RING_DEPTH];
	f->posted++;
	/*
	 * Releases the answer to who acquires its completion. Sequentially consistent, as the look
	 * at the sleepers: they count themselves before they look at the completion last.
	 */
	annex_atomic_store(at, ANNEX_M2_GO(f->posted, number), ANNEX_SEQ_CST);
	pthread_mutex_unlock(&f->post);
	if (annex_atomic_load(&f->doors->sleepers, ANNEX_SEQ_CST))
		annex_bell_ring(&f->bell);
}

// SPDX-License-Identifier: MIT
/*
 * Single-shot registers, for comparison (M2NDP section II-C): slot 0 holds the arguments, one store
 * starts the call, and there is one at a time. So it is with kernels: the registers are one's until
 * it has ended.
 */
#include "front.h"

bool ndp_regs_look(struct ndp_front *f)
{
	/* Acquires the cell; sequentially consistent as the look before sleeping: see
	 * annex_m2_fence(). */
	uint64_t go = annex_atomic_load(&f->doors->go, ANNEX_SEQ_CST);
	uint32_t number = (uint32_t)go;

	/* Relaxed: this thread alone changes it. */
	if (go == annex_atomic_load(&f->go, ANNEX_RELAXED))
		return false;
	/* Acquire: what settle() released. */
	for (uint32_t i = 0; i < ANNEX_M2_FUNCTIONS; i++)
		if (annex_atomic_load(&f->cell[i].busy, ANNEX_ACQUIRE))
			return false;
	annex_atomic_store(&f->go, go, ANNEX_RELAXED);
	if (number >= ANNEX_M2_FUNCTIONS || !ndp_cell_look(f, number))
		ndp_regs_done(f);
	return true;
}

void ndp_regs_done(struct ndp_front *f)
{
	/* Relaxed: it changes only while no call is busy. */
	uint64_t go = annex_atomic_load(&f->go, ANNEX_RELAXED);

	/* Releases the answer to who acquires this. */
	annex_atomic_store(&f->doors->done, go, ANNEX_RELEASE);
}

static void note(void *ctx, const struct annex_m2_answer *a)
{
	*(int64_t *)ctx = a->value;
}

bool ndp_regs_taken(struct ndp_front *f)
{
	/* Relaxed: set before the launch was settled. */
	struct annex_m2_poll poll = {.instance = annex_atomic_load(&f->instance, ANNEX_RELAXED)};
	int64_t status = 0;

	if (poll.instance)
		ndp_call(f->client, ANNEX_M2_POLL, &poll, sizeof(poll), note, &status);
	return status == 1;
}

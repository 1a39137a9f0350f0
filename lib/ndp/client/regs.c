// SPDX-License-Identifier: MIT
/*
 * Single-shot registers, for comparison (M2NDP figure 4c). There is one slot, so one call at a
 * time.
 */
#include "m2.h"

static uint64_t go_of(const struct m2_call *call)
{
	return ANNEX_M2_GO(call->m2->go, call->function);
}

static void announce(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;

	m2->go++;
	/* Releases the cell; sequentially consistent as m2_wake_device(). */
	annex_atomic_store(&m2->doors->go, go_of(call), ANNEX_SEQ_CST);
}

static bool answered(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	uint64_t done;

	m2_delay(m2->opts.io_ns / 2);
	/* Acquires the answer. */
	done = annex_atomic_load(&m2->doors->done, ANNEX_ACQUIRE);
	m2_delay(m2->opts.io_ns / 2);
	return done == go_of(call);
}

const struct m2_transport m2_regs_transport = {
	.announce = announce, .answered = answered, .rest = m2_rest_on_cell};

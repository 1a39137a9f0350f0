/* SPDX-License-Identifier: MIT */
/*
 * Units at work: which micro-threads they have, and how those run.
 */
#ifndef ANNEX_EMU_NDP_UNIT_H
#define ANNEX_EMU_NDP_UNIT_H

#include "../rv/rv.h"
#include "state.h"

/* ndp_phase_next() - Begin the instance's next phase; false: that was all. Locked. */
bool ndp_phase_next(struct ndp_instance *in);

/* ndp_batch_get() - For a unit of @in; NULL: no memory. Put: of no use to it any more. Locked. */
struct ndp_batch *ndp_batch_get(struct ndp_instance *in, unsigned int unit);
void ndp_batch_put(struct annex_ndp *ndp, struct ndp_batch *b);
void ndp_batch_forget(struct ndp_batch *b);
void ndp_batch_destroy(struct ndp_batch *b);

enum ndp_end {
	NDP_LATER,    /* there is more to do for this unit */
	NDP_FINISHED, /* its share of the phase */
	NDP_FAILED,
};

/**
 * struct ndp_run - How a unit's turn went.
 * @done: instructions. @err, @pc, @addr: of NDP_FAILED.
 */
struct ndp_run {
	enum ndp_end end;
	uint64_t done;
	int err;
	uint64_t pc, addr;
};

/* ndp_unit_run() - Execute at least @grant instructions, if there are as many. Not locked. */
void ndp_unit_run(struct ndp_batch *b, uint64_t grant, struct ndp_run *run);

#endif

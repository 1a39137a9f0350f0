/* SPDX-License-Identifier: MIT */
/*
 * Units at work: which micro-threads they have, and how those run.
 */
#ifndef ANNEX_NDP_DEVICE_UNIT_H
#define ANNEX_NDP_DEVICE_UNIT_H

#include "models/ndp/harts/rv.h"
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
 * struct ndp_run - The result of a unit's turn.
 * @end: how it ended.
 * @done: instructions executed.
 * @err: the errno of NDP_FAILED.
 * @pc: its instruction.
 * @addr: its address.
 */
struct ndp_run {
	enum ndp_end end;
	uint64_t done;
	int err;
	uint64_t pc, addr;
};

/**
 * struct ndp_bounds - Of a unit's turn.
 * @grant: instructions; so many are executed, if there are as many, unless it is @until. How late
 * that is seen is a matter of @step instructions.
 */
struct ndp_bounds {
	uint64_t grant;
	uint64_t until;
	uint64_t step;
};

/* ndp_unit_run() - Execute what the bounds allow. Not locked. */
void ndp_unit_run(struct ndp_batch *b, const struct ndp_bounds *bounds, struct ndp_run *run);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The client that gets the next thread: the one whose units have been busy least, its instances in
 * turn. All locked.
 */
#ifndef ANNEX_NDP_DEVICE_TURN_H
#define ANNEX_NDP_DEVICE_TURN_H

#include "instance.h"
#include "state.h"
#include "unit.h"

/**
 * struct ndp_turn - A unit in the hands of a thread.
 * @grant: instructions that it may execute.
 * @since: when it was taken.
 * @limit: nanoseconds that it may be kept, give or take some instructions.
 */
struct ndp_turn {
	struct ndp_batch *batch;
	uint64_t grant;
	uint64_t since;
	uint32_t limit;
};

/*
 * ndp_take() - Take a unit for @thread, for about @slice instructions; false: nothing is ready.
 * Without a batch in *@turn an instance has ended, and *@reply says how. With @brief the thread
 * polls and must not be kept: it gets no unit of a client whose last turns were far too long.
 * ndp_settle() - Give the unit back. The instance may have ended by it.
 */
bool ndp_take(struct annex_ndp *ndp, unsigned int thread, uint64_t slice, bool brief,
	      struct ndp_turn *turn, struct ndp_reply *reply);
void ndp_settle(struct annex_ndp *ndp, const struct ndp_turn *turn, const struct ndp_run *run,
		struct ndp_reply *reply);

#endif

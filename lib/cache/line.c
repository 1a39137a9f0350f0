// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include "line.h"
#include "reap.h"

/* Join the transfer that moves the line whose word was @word. NULL: none yet, or no more. */
static struct annex_xfer *join(struct annex_cache *c, uint64_t at, uint64_t word)
{
	uint64_t moving = ANNEX_LINE_RESIDENCE | ANNEX_LINE_BUSY | ANNEX_LINE_WRITEBACK, now;
	/* Acquire: pairs with the store after the transfer was taken (issue.c). */
	uint32_t i = annex_atomic_load(&c->slot_xfer[annex_word_slot(word)], ANNEX_ACQUIRE);
	struct annex_xfer *x;

	if (i == XFER_NONE || !annex_xfer_join(&c->xfers[i]))
		return NULL;
	x = &c->xfers[i];
	/*
	 * If the line still moves, this is the transfer that moves it, and stays so while it is
	 * joined. Otherwise it may already carry other lines. The join's acquire keeps these
	 * loads behind it.
	 */
	now = annex_atomic_load(&c->dir[at], ANNEX_ACQUIRE);
	if ((now & moving) == (word & moving) &&
	    annex_atomic_load(&c->slot_xfer[annex_word_slot(word)], ANNEX_RELAXED) == i)
		return x;
	annex_xfer_leave(c, x);
	return NULL;
}

int annex_line_wait(struct annex_cache *c, uint64_t at)
{
	/* Acquire: pairs with the claim; the slot's transfer is of this claim or NONE. */
	uint64_t word = annex_atomic_load(&c->dir[at], ANNEX_ACQUIRE);
	struct annex_xfer *x;
	int err;

	if (!(word & (ANNEX_LINE_BUSY | ANNEX_LINE_WRITEBACK)))
		return 0;
	x = join(c, at, word);
	if (!x) {
		sched_yield(); /* its claimer is about to send it, or it has just ended */
		return 0;
	}
	err = annex_xfer_wait(c, x);
	annex_xfer_leave(c, x);
	/* Other lines of the transfer may have failed, not this one. */
	if (!err || err == XFER_UNSENT ||
	    (word & ANNEX_LINE_BUSY &&
	     annex_atomic_load(&c->dir[at], ANNEX_RELAXED) & ANNEX_LINE_VALID))
		return 0;
	return err;
}

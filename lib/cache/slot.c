// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <annex/detail/clock.h>
#include "entry.h"
#include "line.h"
#include "reap.h"
#include "slot.h"
#include "cache.h"

#define MOVING_MAX 256u /* lines in flight that the hand passes before it waits for them */
#define POLLS 64u       /* transfers in flight that are looked at before one is waited for */
#define FAILURES_MAX 4u /* rounds in which lines could not be written back */
#define PATIENCE_BAD 4u /* looks, where lines that cannot be written are among the reasons */

uint32_t annex_slot_take(struct annex_cache *c)
{
	unsigned int moving = 0;
	uint64_t victim;

	for (uint64_t step = 0; step < 2ull * c->nslots && moving < MOVING_MAX; step++) {
		/* Relaxed: it only spreads threads over the slots. */
		uint64_t at = annex_atomic_add(&c->hand, 1, ANNEX_RELAXED);
		uint32_t slot = (uint32_t)(at % c->nslots);
		enum annex_look found = annex_slot_look(c->dir, c->owner, slot, &victim);

		if (found == ANNEX_LOOK_VICTIM) {
			annex_stat_add(c->shards, STAT_EVICTIONS, 1);
			annex_entry_tidy(c, victim);
		}
		if (found == ANNEX_LOOK_VICTIM || found == ANNEX_LOOK_FREE)
			return slot;
		moving += found == ANNEX_LOOK_MOVING || found == ANNEX_LOOK_DIRTY;
	}
	return ANNEX_SLOT_NONE;
}

int annex_slot_wait(struct annex_cache *c, struct annex_slot_wait *wait, unsigned int patience)
{
	/* Acquire: pairs with the count's release; the errno is there. */
	uint64_t errors = annex_atomic_load(&c->wb_errors, ANNEX_ACQUIRE);
	unsigned int progress;
	uint32_t failed;

	if (!wait->patience.end) {
		wait->patience.end = annex_deadline_ms(c->timeout_ms);
		wait->wb_errors = errors;
	}
	wait->failures += errors != wait->wb_errors;
	wait->wb_errors = errors;
	if (wait->failures > FAILURES_MAX)
		return annex_atomic_load(&c->wb_err, ANNEX_RELAXED);
	progress = annex_xfer_reap(c, POLLS);
	progress += annex_writeback_start(c, &failed);
	if (progress || annex_xfer_wait_any(c)) {
		wait->idle = 0;
	} else if (failed && (failed == c->nslots || ++wait->idle > PATIENCE_BAD)) {
		return annex_atomic_load(&c->wb_err, ANNEX_RELAXED);
	} else if (++wait->idle > patience) {
		return -EBUSY;
	} else {
		sched_yield();
	}
	return annex_patience_ends(&wait->patience) ? -EBUSY : 0;
}

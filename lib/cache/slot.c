// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <annex/clock.h>
#include "line.h"
#include "slot.h"
#include "writeback.h"

#define MOVING_MAX 256u /* lines in flight that the hand passes before it waits for them */
#define POLLS 64u       /* transfers in flight that are looked at before one is waited for */
#define FAILURES_MAX 4u /* rounds in which lines could not be written back */
#define PATIENCE_BAD 4u /* looks, where lines that cannot be written are among the reasons */

/* What the hand found in a slot. */
enum found {
	PINNED,
	MOVING,
	SPARED, /* its second chance */
	VICTIM,
};

static enum found look(struct annex_cache *c, uint32_t slot)
{
	/* Acquire: pairs with the slot's release; a free slot's last use is over. */
	uint64_t owner = annex_atomic_load(&c->owner[slot], ANNEX_ACQUIRE), word;

	if (owner == SLOT_FREE &&
	    annex_atomic_cas(&c->owner[slot], &owner, SLOT_TAKEN, ANNEX_ACQUIRE))
		return VICTIM;
	if (owner == SLOT_FREE || owner == SLOT_TAKEN)
		return MOVING;
	word = annex_atomic_load(&c->dir[owner], ANNEX_RELAXED);
	if (!(word & LINE_VALID) || annex_word_slot(word) != slot)
		return MOVING;
	if (word & LINE_REFS)
		return PINNED;
	if (word & LINE_REFERENCED) {
		annex_atomic_and(&c->dir[owner], ~LINE_REFERENCED, ANNEX_RELAXED);
		return SPARED;
	}
	if (word & (LINE_DIRTY | LINE_WRITEBACK))
		return MOVING;
	/*
	 * Acquire: pairs with the release of the last unpin and of the write-back; nobody reads
	 * or writes the slot any more. Release: a reader without a reference that sees new data
	 * in the slot also sees that the line has gone.
	 */
	if (!annex_atomic_cas(&c->dir[owner], &word, word & LINE_VERSION_MASK, ANNEX_ACQ_REL))
		return MOVING;
	annex_atomic_store(&c->owner[slot], SLOT_TAKEN, ANNEX_RELAXED);
	annex_stat_add(c->shards, STAT_EVICTIONS, 1);
	return VICTIM;
}

uint32_t annex_slot_take(struct annex_cache *c)
{
	unsigned int moving = 0;

	for (uint64_t step = 0; step < 2ull * c->nslots && moving < MOVING_MAX; step++) {
		/* Relaxed: it only spreads threads over the slots. */
		uint64_t at = annex_atomic_add(&c->hand, 1, ANNEX_RELAXED);
		enum found f = look(c, (uint32_t)(at % c->nslots));

		if (f == VICTIM)
			return (uint32_t)(at % c->nslots);
		moving += f == MOVING;
	}
	return SLOT_NONE;
}

void annex_slot_give(struct annex_cache *c, uint32_t slot)
{
	annex_atomic_store(&c->owner[slot], SLOT_FREE, ANNEX_RELEASE);
}

int annex_slot_wait(struct annex_cache *c, struct annex_slot_wait *wait, unsigned int patience)
{
	/* Acquire: pairs with the count's release; the errno is there. */
	uint64_t errors = annex_atomic_load(&c->wb_errors, ANNEX_ACQUIRE);
	unsigned int progress;
	uint32_t failed;

	if (!wait->deadline) {
		wait->deadline = annex_deadline_ms(c->timeout_ms);
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
	return annex_now() > wait->deadline ? -EBUSY : 0;
}

// SPDX-License-Identifier: MIT
#include <annex/detail/clock.h>
#include "issue.h"
#include "line.h"
#include "cache.h"

#define WINDOW_MAX 1024u

/*
 * Claim the dirty line in a slot, if it has no references and none of the @forbidden bits.
 *
 * Return: true, and nothing claimed, when a write of it has failed too recently.
 */
static bool collect(struct annex_cache *c, uint64_t at, uint64_t forbidden, uint64_t now,
		    struct annex_batch *batch)
{
	uint32_t slot = (uint32_t)(at % c->nslots);
	uint64_t entry = annex_slot_entry(c, slot);

	if (entry == ANNEX_SLOT_FREE || entry == ANNEX_SLOT_TAKEN)
		return false;
	/* Relaxed: one look too many or too few does no harm. */
	if (annex_atomic_load(&c->slot_retry[slot], ANNEX_RELAXED) > now)
		return true;
	if (!annex_write_begin(c, entry, ANNEX_LINE_REFS | forbidden, &slot))
		return false;
	batch->claims[batch->n].line = annex_entry_line(c, entry);
	batch->claims[batch->n++].slot = slot;
	return false;
}

void annex_writeback_ahead(struct annex_cache *c)
{
	uint64_t window = c->nslots / 4 < WINDOW_MAX ? c->nslots / 4 : WINDOW_MAX;
	uint64_t hand = annex_atomic_load(&c->hand, ANNEX_RELAXED);
	uint64_t seen = annex_atomic_load(&c->clean_hand, ANNEX_RELAXED);
	uint64_t step = window < 2 * ANNEX_GROUP ? (window + 1) / 2 : ANNEX_GROUP;
	struct annex_batch batch;
	uint64_t now = 0;

	while (window) {
		uint64_t from = seen > hand ? seen : hand;
		uint64_t to = from + step;

		if (to > hand + window)
			return; /* not a whole step is left in the window: next time */
		/* Relaxed: it only shares the slots out among threads. */
		if (!annex_atomic_cas(&c->clean_hand, &seen, to, ANNEX_RELAXED))
			continue;
		batch.n = 0;
		now = now ? now : annex_now();
		for (uint64_t at = from; at < to; at++)
			collect(c, at, ANNEX_LINE_REFERENCED, now, &batch);
		if (batch.n)
			annex_issue(c, &batch, ISSUE_AHEAD, NULL);
		seen = to;
	}
}

unsigned int annex_writeback_start(struct annex_cache *c, uint32_t *failed)
{
	uint64_t hand = annex_atomic_load(&c->hand, ANNEX_RELAXED) + c->nslots;
	struct annex_batch batch = {.n = 0};
	uint64_t now = annex_now();

	*failed = 0;

	/* Backwards: where the hand has just been is where it found them. */
	for (uint32_t i = 1; i <= c->nslots && batch.n < ANNEX_GROUP; i++) {
		if (i > WINDOW_MAX && batch.n)
			break;
		*failed += collect(c, hand - i, 0, now, &batch);
	}
	return batch.n ? annex_issue(c, &batch, ISSUE_WRITE, NULL) : 0;
}

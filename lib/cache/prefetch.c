// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "entry.h"
#include "issue.h"
#include "line.h"
#include "cache.h"
#include "reap.h"
#include "slot.h"

#define POLLS 16u /* transfers in flight to look at when the cap is reached */

/* A call of annex_cache_prefetch(). */
struct ahead {
	struct annex_cache *c;
	struct annex_batch batch;
	uint64_t started;
};

static void issue(struct ahead *a)
{
	if (a->batch.n)
		a->started += annex_issue(a->c, &a->batch, ISSUE_PREFETCH, NULL);
	annex_writeback_ahead(a->c); /* also when dirty lines left no slot for any read */
}

/*
 * Whether one more line may be read ahead. A quarter of the slots may be on their way, and one
 * call starts at most half of them, so that the first lines are still there when they are wanted.
 */
static bool room(struct ahead *a)
{
	struct annex_cache *c = a->c;
	uint64_t cap = c->nslots / 4 ? c->nslots / 4 : 1;

	if (a->started + a->batch.n >= c->nslots / 2)
		return false;
	if (annex_atomic_load(&c->prefetching, ANNEX_RELAXED) + a->batch.n < cap)
		return true;
	issue(a);
	annex_xfer_reap(c, POLLS);
	return annex_atomic_load(&c->prefetching, ANNEX_RELAXED) < cap;
}

/* annex_fill_begin() of a line that the caller does not hold. */
static bool prefetch_claim(struct annex_cache *c, uint64_t line, uint32_t slot)
{
	struct annex_held held = annex_entry_hold(c, line);
	bool begun;

	if (held.word == ANNEX_LINE_CROWDED)
		return false;
	begun = annex_fill_begin(c, held.at, slot);
	annex_entry_put(c, held.at);
	return begun;
}

/* Return: false when no further line can be started. */
static bool start(struct ahead *a, uint64_t line)
{
	struct annex_cache *c = a->c;
	uint64_t at, word = annex_entry_peek(c, line, &at);
	uint32_t slot;

	if (word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY)) {
		/* Wanted soon: as good as used. */
		if ((word & (ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED)) == ANNEX_LINE_VALID)
			annex_atomic_or(&c->dir[at], ANNEX_LINE_REFERENCED, ANNEX_RELAXED);
		return true;
	}
	if (!room(a))
		return false;
	slot = annex_slot_take(c);
	if (slot == ANNEX_SLOT_NONE)
		return false;
	if (!prefetch_claim(c, line, slot)) {
		annex_slot_free(c->owner, slot);
		return true;
	}
	a->batch.claims[a->batch.n].line = line;
	a->batch.claims[a->batch.n++].slot = slot;
	if (a->batch.n == ANNEX_GROUP)
		issue(a);
	return true;
}

static bool start_range(struct ahead *a, const struct annex_range *r)
{
	uint64_t line = r->offset >> a->c->line_shift;
	uint64_t last = (r->offset + r->len - 1) >> a->c->line_shift;

	while (line <= last)
		if (!start(a, line++))
			return false;
	return true;
}

void annex_prefetch_lines(struct annex_cache *c, const uint64_t *lines, unsigned int n)
{
	struct ahead a = {.c = c};

	for (unsigned int i = 0; i < n && !c->fork.child && start(&a, lines[i]); i++)
		;
	issue(&a);
	annex_stat_add(c->shards, STAT_PREFETCHES, a.started);
}

int64_t annex_cache_prefetch(struct annex_cache *c, const struct annex_range *ranges,
			     unsigned int n)
{
	struct ahead a = {.c = c};

	if (c->fork.child)
		return fork_refuse("cache");
	for (unsigned int i = 0; i < n; i++)
		if (ranges[i].offset > c->size || ranges[i].len > c->size - ranges[i].offset)
			return annex_fail(-ERANGE, "cache: prefetch of %llu bytes at %llu of %llu",
					  (ull)ranges[i].len, (ull)ranges[i].offset, (ull)c->size);
	for (unsigned int i = 0; i < n; i++)
		if (ranges[i].len && !start_range(&a, &ranges[i]))
			break;
	issue(&a);
	annex_stat_add(c->shards, STAT_PREFETCHES, a.started);
	return (int64_t)a.started;
}

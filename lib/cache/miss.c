// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "entry.h"
#include "issue.h"
#include "line.h"
#include "miss.h"
#include "slot.h"
#include "cache.h"

/*
 * How often to look at a cache of pinned lines. A group holds lines that others may be waiting for
 * while they hold lines that it wants: it releases its lines soon and begins again.
 */
#define PATIENCE_ONE 1024u
#define PATIENCE_GROUP 4u

/* Return: false when the line needs a slot and there is none to be had without waiting. */
static bool claim(struct annex_cache *c, uint64_t at, unsigned int flags, struct annex_batch *batch)
{
	uint64_t word = annex_atomic_load(&c->dir[at], ANNEX_RELAXED);
	uint32_t slot;

	if (word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY))
		return true;
	slot = annex_slot_take(c);
	if (slot == ANNEX_SLOT_NONE)
		return false;
	if (!annex_fill_begin(c, at, slot)) {
		annex_slot_free(c->owner, slot);
		return true;
	}
	if (flags & ANNEX_PIN_NEW) {
		memset(annex_slot_mem(c, slot), 0, c->line);
		annex_line_filled(c->dir, at);
		return true;
	}
	batch->claims[batch->n].line = annex_entry_line(c, at);
	batch->claims[batch->n++].slot = slot;
	return true;
}

int annex_fill_crowded(const struct annex_cache *c)
{
	return c->fork.child ? -ECHILD : -EBUSY;
}

int annex_fill_fail(const struct annex_cache *c, uint64_t line, int err)
{
	if (err == -ECHILD)
		return fork_refuse("cache");
	if (err == -ERANGE)
		return annex_fail(err, "cache: line %llu of %llu", (ull)line, (ull)c->nlines);
	if (err == -EBUSY)
		return annex_fail(err,
				  "cache: line %llu: all slots are pinned, or the line has "
				  "%llu references already",
				  (ull)line, ANNEX_LINE_CROWDED);
	return annex_fail(err, "cache: line %llu cannot be brought in: %s", (ull)line,
			  strerrorname_np(-err));
}

/* Wait while a line is busy. Return: 0: it is there; 1: it is absent; or an error. */
static int wait_one(struct annex_cache *c, uint64_t at)
{
	struct annex_patience patience = {0, 0};
	uint64_t word;

	/* Acquire: pairs with annex_line_filled(). */
	while ((word = annex_atomic_load(&c->dir[at], ANNEX_ACQUIRE)) & ANNEX_LINE_BUSY) {
		int err = annex_line_wait(c, at);

		if (err)
			return err;
		if (!patience.end)
			patience.end = annex_deadline_ms(XFER_PATIENCE_MS(c));
		else if (annex_patience_ends(&patience))
			return -ETIMEDOUT;
	}
	return !(word & ANNEX_LINE_VALID);
}

/*
 * Wait for each line that is on its way. Return: 0: all are there; 1: some are absent, *@failed is
 * one of them; or an error.
 */
static int wait_all(struct annex_cache *c, const uint64_t *at, unsigned int n, uint64_t *failed)
{
	int rc = 0;

	for (unsigned int i = 0; i < n; i++) {
		int err = wait_one(c, at[i]);

		if (err)
			*failed = annex_entry_line(c, at[i]);
		if (err < 0)
			return err;
		rc |= err;
	}
	return rc;
}

int annex_fill(struct annex_cache *c, const uint64_t *at, unsigned int n, unsigned int flags,
	       uint64_t *failed)
{
	struct annex_slot_wait wait = {0};
	struct annex_batch batch;

	if (c->fork.child)
		return -ECHILD;
	for (;;) {
		unsigned int i = 0;
		int rc;

		batch.n = 0;
		while (i < n && claim(c, at[i], flags, &batch))
			i++;
		if (batch.n)
			annex_issue(c, &batch, ISSUE_READ, NULL);
		annex_writeback_ahead(c);
		rc = wait_all(c, at, n, failed);
		if (rc <= 0)
			return rc;
		if (i < n) {
			rc = annex_slot_wait(c, &wait, n > 1 ? PATIENCE_GROUP : PATIENCE_ONE);
			if (rc)
				return rc;
		}
	}
}

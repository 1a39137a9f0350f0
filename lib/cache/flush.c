// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include "core/log.h"
#include "issue.h"
#include "line.h"
#include "reap.h"

static void issue(struct annex_cache *c, struct annex_batch *batch, struct annex_flush *flush)
{
	annex_atomic_add(&flush->pending, (uint64_t)batch->n, ANNEX_RELAXED);
	annex_issue(c, batch, ISSUE_WRITE, flush);
}

static void visit(struct annex_cache *c, uint64_t entry, struct annex_batch *batch,
		  struct annex_flush *flush)
{
	uint32_t slot = ANNEX_SLOT_NONE;

	/* Another thread writes the line: should that fail, the line is dirty again. */
	while (annex_atomic_load(&c->dir[entry], ANNEX_RELAXED) & ANNEX_LINE_WRITEBACK) {
		if (batch->n)
			issue(c, batch, flush);
		annex_line_wait(c, entry);
	}
	if (!annex_write_begin(c, entry, 0, &slot))
		return;
	/* From here on the entry keeps its line. If that is another by now, no harm is done. */
	batch->claims[batch->n].line = annex_entry_line(c, entry);
	batch->claims[batch->n++].slot = slot;
	if (batch->n == ANNEX_GROUP)
		issue(c, batch, flush);
}

/* Begin to write the dirty lines of [@first, @end), by the shorter of two ways to find them. */
static void write_range(struct annex_cache *c, uint64_t first, uint64_t end,
			struct annex_flush *flush)
{
	struct annex_batch batch = {.n = 0};

	if (end - first <= c->nslots) {
		for (uint64_t line = first; line < end; line++)
			visit(c, annex_entry_seek(c, line), &batch, flush);
	} else {
		for (uint32_t slot = 0; slot < c->nslots; slot++) {
			uint64_t entry = annex_slot_entry(c, slot), line;

			if (entry == ANNEX_SLOT_FREE || entry == ANNEX_SLOT_TAKEN)
				continue;
			line = annex_entry_line(c, entry);
			if (line >= first && line < end)
				visit(c, entry, &batch, flush);
		}
	}
	if (batch.n)
		issue(c, &batch, flush);
}

static void wait_written(struct annex_cache *c, struct annex_flush *flush)
{
	/* Acquire: pairs with report(), in outcome.c. */
	while (annex_atomic_load(&flush->pending, ANNEX_ACQUIRE)) {
		bool waited = false;

		for (uint32_t i = 0; i < c->nxfers; i++) {
			struct annex_xfer *x = &c->xfers[i];

			if (annex_atomic_load(&x->flush, ANNEX_RELAXED) != flush ||
			    !annex_xfer_join(x))
				continue;
			annex_xfer_wait(c, x);
			annex_xfer_leave(c, x);
			waited = true;
		}
		if (!waited)
			sched_yield(); /* the last one is just being reported */
	}
}

static int flush_devices(struct annex_cache *c)
{
	struct annex_io io = {.opcode = ANNEX_NVM_FLUSH, .nsid = c->nsid};
	int first = 0;

	annex_xfer_collect(c); /* the queues may be full of commands that nothing has reaped */
	for (uint32_t i = 0; i < c->nleaves; i++) {
		int err = annex_dev_io(c->leaves[i].dev, &io, 1, NULL);

		if (!first)
			first = err;
	}
	return first;
}

int annex_cache_flush(struct annex_cache *c, uint64_t offset, uint64_t len)
{
	struct annex_flush flush = {0};
	uint64_t end;
	int err;

	if (c->fork.child)
		return fork_refuse("cache");
	if (len == UINT64_MAX && offset <= c->size)
		len = c->size - offset;
	if (offset > c->size || len > c->size - offset)
		return annex_fail(-ERANGE, "cache: flush of %llu bytes at %llu of %llu", (ull)len,
				  (ull)offset, (ull)c->size);
	end = (offset + len + c->line - 1) >> c->line_shift;
	write_range(c, offset >> c->line_shift, end, &flush);
	wait_written(c, &flush);
	err = flush_devices(c);
	if (flush.err)
		err = flush.err;
	if (err)
		annex_fail(err, "cache: flush: not all is on the medium: %s",
			   strerrorname_np(-err));
	return err;
}

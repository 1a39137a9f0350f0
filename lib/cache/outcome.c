// SPDX-License-Identifier: MIT
/*
 * The outcome of a transfer, carried to its lines.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "layout.h"
#include "line.h"
#include "xfer.h"

static int first_error(const struct annex_xfer *x)
{
	for (uint32_t i = 0; i < x->ncmds; i++)
		if (x->cmds[i].err)
			return x->cmds[i].err;
	return 0;
}

/* Whether the device that failed might answer to a second command. */
static bool answers(int err)
{
	return err != -ENODEV && err != -ETIMEDOUT;
}

/* From the other replicas, and if the command carried more than this line, from the same again. */
static int read_again(struct annex_cache *c, struct annex_xfer *x, uint32_t i, int err)
{
	uint32_t copies = c->layout == ANNEX_REPLICA ? c->nleaves : 1;
	bool same = answers(err) && (x->count > 1 || err == -ECANCELED);

	for (uint32_t k = 1; k < copies && err; k++)
		err = annex_send_line(c, x, i, (x->leaf + k) % c->nleaves);
	return err && same ? annex_send_line(c, x, i, x->leaf) : err;
}

static int write_again(struct annex_cache *c, struct annex_xfer *x, uint32_t i, int err)
{
	if (!answers(err) || (x->count == 1 && err != -ECANCELED))
		return err;
	if (c->layout == ANNEX_STRIPE)
		return annex_send_line(c, x, i, x->leaf);
	err = 0;
	for (uint32_t leaf = 0; leaf < c->nleaves && !err; leaf++)
		err = annex_send_line(c, x, i, leaf);
	return err;
}

static void end_read(struct annex_cache *c, struct annex_xfer *x, uint32_t i, int err)
{
	uint64_t line = x->first + (uint64_t)i * x->stride;
	uint32_t bytes = annex_line_bytes(c, line);

	if (err) {
		annex_fill_undo(c, x->slots[i]);
		return;
	}
	if (bytes < c->line)
		memset(annex_slot_mem(c, x->slots[i]) + bytes, 0, c->line - bytes);
	annex_line_filled(c->dir, annex_slot_entry(c, x->slots[i]));
	annex_stat_add(c->shards, STAT_BYTES_READ, bytes);
}

/* When a line that could not be written may be written again for its slot; a flush does not ask. */
#define RETRY_NS (100 * ANNEX_NSEC_PER_MSEC)

static void end_write(struct annex_cache *c, struct annex_xfer *x, uint32_t i, int err)
{
	uint64_t line = x->first + (uint64_t)i * x->stride;
	uint32_t copies = c->layout == ANNEX_REPLICA ? c->nleaves : 1;

	if (err && err != XFER_UNSENT) {
		annex_atomic_store(&c->slot_retry[x->slots[i]], annex_now() + RETRY_NS,
				   ANNEX_RELAXED);
		annex_atomic_store(&c->wb_err, err, ANNEX_RELAXED);
		/* Release: a thread that sees the count sees the errno. */
		annex_atomic_add(&c->wb_errors, 1, ANNEX_RELEASE);
	}
	if (!err) {
		annex_atomic_store(&c->slot_retry[x->slots[i]], 0, ANNEX_RELAXED);
		annex_stat_add(c->shards, STAT_WRITEBACKS, 1);
		annex_stat_add(c->shards, STAT_BYTES_WRITTEN,
			       (uint64_t)copies * annex_line_bytes(c, line));
	}
	annex_line_written(c->dir, annex_slot_entry(c, x->slots[i]), !err);
}

/* The last touch of @flush. */
static void report(struct annex_flush *flush, int err, uint32_t lines)
{
	int32_t none = 0;

	if (err)
		annex_atomic_cas(&flush->err, &none, (int32_t)err, ANNEX_RELAXED);
	/* Release: the error before the count; afterwards the flush may have returned. */
	annex_atomic_sub(&flush->pending, (uint64_t)lines, ANNEX_RELEASE);
}

void annex_xfer_outcome(struct annex_cache *c, struct annex_xfer *x)
{
	int err = first_error(x);

	x->err = 0;
	if (err && err != XFER_UNSENT)
		annex_stat_add(c->shards, STAT_ERRORS, 1);
	for (uint32_t i = 0; i < x->count; i++) {
		int e = err;

		if (err && err != XFER_UNSENT)
			e = x->write ? write_again(c, x, i, err) : read_again(c, x, i, err);
		if (e && !x->err)
			x->err = e;
		if (x->write)
			end_write(c, x, i, e);
		else
			end_read(c, x, i, e);
	}
	if (x->prefetch)
		annex_atomic_sub(&c->prefetching, (uint64_t)x->count, ANNEX_RELAXED);
	if (x->flush)
		report(x->flush, x->err, x->count);
}

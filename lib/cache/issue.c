// SPDX-License-Identifier: MIT
#include "issue.h"
#include "layout.h"
#include "line.h"
#include "reap.h"
#include "xfer.h"

static bool before(const struct annex_cache *c, const struct annex_claim *a,
		   const struct annex_claim *b)
{
	uint32_t x = annex_line_leaf(c, a->line), y = annex_line_leaf(c, b->line);

	return x != y ? x < y : a->line < b->line;
}

/* By device, then by line. Insertion: short, and nearly in order already. */
static void sort(const struct annex_cache *c, struct annex_batch *batch)
{
	for (unsigned int i = 1; i < batch->n; i++) {
		struct annex_claim claim = batch->claims[i];
		unsigned int k = i;

		for (; k && before(c, &claim, &batch->claims[k - 1]); k--)
			batch->claims[k] = batch->claims[k - 1];
		batch->claims[k] = claim;
	}
}

/* How many claims from the first on one command can carry. */
static unsigned int run(const struct annex_cache *c, const struct annex_claim *claims,
			unsigned int n)
{
	uint32_t stride = annex_line_stride(c), segs = 1;
	unsigned int k = 1;

	for (; k < n && k < c->run_max; k++) {
		if (claims[k].line != claims[k - 1].line + stride)
			break;
		segs += claims[k].slot != claims[k - 1].slot + 1;
		if (segs > c->seg_max)
			break;
	}
	return k;
}

static void prepare(struct annex_cache *c, struct annex_xfer *x, const struct annex_claim *claims,
		    unsigned int n, enum annex_issue kind, struct annex_flush *flush)
{
	x->write = kind == ISSUE_AHEAD || kind == ISSUE_WRITE;
	x->prefetch = kind == ISSUE_PREFETCH;
	x->first = claims[0].line;
	x->stride = annex_line_stride(c);
	x->count = n;
	x->err = 0;
	annex_atomic_store(&x->flush, flush, ANNEX_RELAXED); /* looked for by annex_cache_flush() */
	x->ncmds = 0;
	x->leaf = annex_line_leaf(c, x->first);
	if (c->layout == ANNEX_REPLICA && !x->write)
		x->leaf = annex_atomic_add(&c->rotor, 1, ANNEX_RELAXED) % c->nleaves;
	for (unsigned int i = 0; i < n; i++) {
		x->slots[i] = claims[i].slot;
		/* Release: a thread that finds the transfer here finds it prepared. */
		annex_atomic_store(&c->slot_xfer[claims[i].slot], (uint32_t)(x - c->xfers),
				   ANNEX_RELEASE);
	}
}

static void unclaim(struct annex_cache *c, const struct annex_claim *claims, unsigned int n,
		    enum annex_issue kind)
{
	for (unsigned int i = 0; i < n; i++) {
		if (kind == ISSUE_PREFETCH)
			annex_fill_undo(c, claims[i].slot);
		else
			annex_line_written(c->dir, annex_slot_entry(c, claims[i].slot), false);
	}
}

unsigned int annex_issue(struct annex_cache *c, struct annex_batch *batch, enum annex_issue kind,
			 struct annex_flush *flush)
{
	bool wait = kind == ISSUE_READ || kind == ISSUE_WRITE;
	struct annex_xfer *held[ANNEX_GROUP];
	unsigned int at = 0, nheld = 0, n;

	sort(c, batch);
	for (; at < batch->n; at += n) {
		struct annex_xfer *x = annex_xfer_get(c);

		n = run(c, batch->claims + at, batch->n - at);
		/* A thread that waits holds no transfer back: others may wait for that one. */
		for (; !x && wait; x = annex_xfer_get(c)) {
			annex_send(c, held, nheld, wait);
			nheld = 0;
			annex_xfer_wait_any(c);
		}
		if (!x)
			break;
		prepare(c, x, batch->claims + at, n, kind, flush);
		if (kind == ISSUE_PREFETCH)
			annex_atomic_add(&c->prefetching, (uint64_t)n, ANNEX_RELAXED);
		held[nheld++] = x;
	}
	annex_send(c, held, nheld, wait);
	unclaim(c, batch->claims + at, batch->n - at, kind);
	batch->n = 0;
	return at;
}

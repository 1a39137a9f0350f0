// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connected components in one sweep: every edge hangs the larger of two roots under the smaller
 * (the concurrent linking of Afforest; Sutton, Ben-Nun, Barak 2018). The direction of edges does
 * not matter, so components of a directed graph are the weak ones.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "algo.h"

static uint32_t up(struct cc *r, uint32_t v)
{
	return annex_atomic_load(&r->component[v], ANNEX_RELAXED);
}

/*
 * The root above @v. On the way every other vertex is hung one higher, or chains grow long. A
 * vertex that is no root stays none, and each value stored here lies above it: so a store that
 * undoes another thread's costs a step later, and no link.
 */
static uint32_t find(struct cc *r, uint32_t v)
{
	uint32_t above = up(r, v);

	while (above != v) {
		uint32_t next = up(r, above);

		if (next != above)
			annex_atomic_store(&r->component[v], next, ANNEX_RELAXED);
		v = above;
		above = next;
	}
	return v;
}

static void join(struct cc *r, uint32_t a, uint32_t b)
{
	while (up(r, a) != up(r, b)) {
		uint32_t x = find(r, a), y = find(r, b), root;

		if (x == y)
			return;
		a = x > y ? x : y;
		b = x > y ? y : x;
		root = a;
		if (annex_atomic_cas(&r->component[a], &root, b, ANNEX_RELAXED))
			return;
	}
}

static void visit(void *ctx, unsigned int thread, uint32_t v, const uint32_t *ids,
		  const uint32_t *weights, uint64_t n)
{
	(void)thread;
	(void)weights;
	for (uint64_t i = 0; i < n; i++)
		join(ctx, v, ids[i]);
}

int cc_summarise(struct cc *r)
{
	uint32_t *size = mem_alloc(r->vertices, sizeof(*size), "component sizes");

	if (!size)
		return -ENOMEM;
	for (uint64_t v = 0; v < r->vertices; v++) {
		/* The parent of v is smaller than v, and final already. */
		uint32_t c = r->component[v] = r->component[r->component[v]];

		r->components += c == v;
		if (++size[c] > r->largest) {
			r->largest = size[c];
			r->largest_id = c;
		}
	}
	mem_free(size, r->vertices, sizeof(*size));
	return 0;
}

int cc_start(struct cc *r, uint64_t n)
{
	memset(r, 0, sizeof(*r));
	r->vertices = n;
	r->component = mem_alloc(n, sizeof(*r->component), "components");
	return r->component ? 0 : -ENOMEM;
}

int cc_run(struct edges *e, struct cc *r)
{
	int err = cc_start(r, e->g->h.vertices);

	if (err)
		return err;
	for (uint64_t v = 0; v < r->vertices; v++)
		r->component[v] = (uint32_t)v;
	progress_begin("joining");
	err = edges_sweep(e, NULL, false, visit, r);
	return err ? err : cc_summarise(r);
}

void cc_free(struct cc *r)
{
	mem_free(r->component, r->vertices, sizeof(*r->component));
}

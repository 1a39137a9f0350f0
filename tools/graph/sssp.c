// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shortest paths from one vertex, after delta-stepping (Meyer, Sanders 2003): of the vertices
 * whose distance has become shorter, those within delta of the nearest one are worked on together,
 * in the order of the file; the others wait.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "algo.h"

struct relax {
	struct sssp *r;
	uint64_t words;
	uint64_t *waiting; /* became shorter and have not been worked on since */
	uint64_t *frontier;
};

static void shorten(struct relax *x, uint32_t u, uint64_t d)
{
	uint64_t *at = &x->r->dist[u], have = annex_atomic_load(at, ANNEX_RELAXED);

	while (d < have) {
		if (!annex_atomic_cas(at, &have, d, ANNEX_RELAXED))
			continue;
		annex_atomic_or(&x->waiting[u / 64], 1ull << u % 64, ANNEX_RELAXED);
		return;
	}
}

static void visit(void *ctx, unsigned int thread, uint32_t v, const uint32_t *ids,
		  const uint32_t *weights, uint64_t n)
{
	struct relax *x = ctx;
	uint64_t d = annex_atomic_load(&x->r->dist[v], ANNEX_RELAXED);

	(void)thread;
	/* Fewer than 2^32 edges of less than 2^32 each: no path overflows. */
	for (uint64_t i = 0; i < n; i++)
		shorten(x, ids[i], d + (weights ? weights[i] : 1));
}

static uint64_t nearest(const struct relax *x)
{
	uint64_t least = SSSP_FAR;

	for (uint64_t w = 0; w < x->words; w++)
		for (uint64_t bits = x->waiting[w]; bits; bits &= bits - 1) {
			uint64_t d = x->r->dist[w * 64 + (uint64_t)__builtin_ctzll(bits)];

			least = d < least ? d : least;
		}
	return least;
}

static void take_below(struct relax *x, uint64_t limit)
{
	for (uint64_t w = 0; w < x->words; w++) {
		uint64_t taken = 0;

		for (uint64_t bits = x->waiting[w]; bits; bits &= bits - 1)
			if (x->r->dist[w * 64 + (uint64_t)__builtin_ctzll(bits)] < limit)
				taken |= bits & -bits;
		x->frontier[w] = taken;
		x->waiting[w] &= ~taken;
	}
}

static int work(struct relax *x, struct edges *e, uint32_t source, uint64_t delta)
{
	uint64_t least;

	x->r->dist[source] = 0;
	x->waiting[source / 64] = 1ull << source % 64;
	progress_begin("relaxing");
	while ((least = nearest(x)) != SSSP_FAR) {
		int err;

		take_below(x, least > SSSP_FAR - delta ? SSSP_FAR : least + delta);
		progress_update(x->r->rounds++, 0, "rounds");
		err = edges_sweep(e, x->frontier, true, visit, x);
		if (err)
			return err;
	}
	for (uint64_t v = 0; v < x->r->vertices; v++) {
		if (x->r->dist[v] == SSSP_FAR)
			continue;
		x->r->reached++;
		if (x->r->dist[v] > x->r->farthest)
			x->r->farthest = x->r->dist[v];
	}
	return 0;
}

int sssp_run(struct edges *e, uint32_t source, uint64_t delta, struct sssp *r)
{
	uint64_t n = e->g->h.vertices;
	struct relax x = {.r = r, .words = (n + 63) / 64};
	int err = -ENOMEM;

	memset(r, 0, sizeof(*r));
	r->vertices = n;
	r->dist = mem_alloc(n, sizeof(*r->dist), "distances");
	x.waiting = mem_alloc(x.words, 8, "frontier");
	x.frontier = mem_alloc(x.words, 8, "frontier");
	if (r->dist && x.waiting && x.frontier) {
		memset(r->dist, 0xff, n * sizeof(*r->dist));
		err = work(&x, e, source, delta);
	}
	mem_free(x.waiting, x.words, 8);
	mem_free(x.frontier, x.words, 8);
	return err;
}

void sssp_free(struct sssp *r)
{
	mem_free(r->dist, r->vertices, sizeof(*r->dist));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PageRank by power iteration: every vertex pushes its rank along its edges. Vertices without
 * edges give theirs to all.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "algo.h"

struct push {
	const struct csr *g;
	struct pagerank *r;
	uint64_t *next;
};

static void visit(void *ctx, unsigned int thread, uint32_t v, const uint32_t *ids,
		  const uint32_t *weights, uint64_t n)
{
	struct push *p = ctx;
	uint64_t degree = p->g->offsets[v + 1ull] - p->g->offsets[v];
	uint64_t share = pagerank_share(p->r->rank[v], degree);

	(void)thread;
	(void)weights;
	for (uint64_t i = 0; i < n; i++)
		annex_atomic_add(&p->next[ids[i]], share, ANNEX_RELAXED);
}

/* The part of the rank that every vertex gets. */
static uint64_t common_share(const struct push *p)
{
	uint64_t n = p->r->vertices, loose = 0;

	for (uint64_t v = 0; v < n; v++)
		if (p->g->offsets[v] == p->g->offsets[v + 1])
			loose += p->r->rank[v];
	return pagerank_common(loose, n);
}

static int iterate(struct push *p, struct edges *e)
{
	struct pagerank *r = p->r;
	uint64_t share = common_share(p), change = 0;
	int err = edges_sweep(e, NULL, false, visit, p);

	if (err)
		return err;
	for (uint64_t v = 0; v < r->vertices; v++) {
		uint64_t now = p->next[v] + share, was = r->rank[v];

		change += now > was ? now - was : was - now;
		r->rank[v] = now;
		p->next[v] = 0;
	}
	r->change = (double)change / (double)PAGERANK_ONE;
	r->iterations++;
	return 0;
}

int pagerank_run(struct edges *e, uint32_t max_iterations, struct pagerank *r)
{
	uint64_t n = e->g->h.vertices;
	struct push p = {.g = e->g, .r = r};
	int err = -ENOMEM;

	memset(r, 0, sizeof(*r));
	r->vertices = n;
	r->change = 1;
	r->rank = mem_alloc(n, sizeof(*r->rank), "ranks");
	p.next = mem_alloc(n, sizeof(*p.next), "ranks");
	if (r->rank && p.next) {
		for (uint64_t v = 0; v < n; v++)
			r->rank[v] = PAGERANK_ONE / n;
		progress_begin("iterating");
		for (err = 0;
		     !err && r->iterations < max_iterations && r->change > PAGERANK_TOLERANCE;) {
			progress_update(r->iterations, 0, "iterations");
			err = iterate(&p, e);
		}
	}
	mem_free(p.next, n, sizeof(*p.next));
	return err;
}

void pagerank_free(struct pagerank *r)
{
	mem_free(r->rank, r->vertices, sizeof(*r->rank));
}

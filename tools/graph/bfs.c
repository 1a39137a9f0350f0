// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breadth-first search, level by level, top down. The frontier is a set of bits, so that the edge
 * lists of a level are read in the order of the file.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "algo.h"

struct search {
	struct bfs *r;
	uint64_t words;
	uint64_t *visited;  /* found by now */
	uint64_t *before;   /* found before this level */
	uint64_t *frontier; /* found in the level before */
	uint32_t level;
};

static void visit(void *ctx, unsigned int thread, uint32_t v, const uint32_t *ids,
		  const uint32_t *weights, uint64_t n)
{
	struct search *s = ctx;

	(void)thread;
	(void)weights;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t u = ids[i];
		uint64_t *word = &s->visited[u / 64], bit = 1ull << u % 64;

		if (annex_atomic_load(word, ANNEX_RELAXED) & bit ||
		    annex_atomic_or(word, bit, ANNEX_RELAXED) & bit)
			continue;
		/* The thread that sets the bit owns the entries; they are read after the sweep. */
		s->r->parent[u] = v;
		s->r->depth[u] = s->level;
	}
}

/* Make the vertices found in this level the frontier; return its size. */
static uint64_t advance(struct search *s)
{
	uint64_t found = 0;

	for (uint64_t w = 0; w < s->words; w++) {
		s->frontier[w] = s->visited[w] & ~s->before[w];
		s->before[w] = s->visited[w];
		found += (uint64_t)__builtin_popcountll(s->frontier[w]);
	}
	return found;
}

static int search(struct search *s, struct edges *e, uint32_t source)
{
	uint64_t found;

	s->visited[source / 64] = 1ull << source % 64;
	s->r->depth[source] = 0;
	s->r->parent[source] = source;
	progress_begin("searching");
	while ((found = advance(s))) {
		int err;

		s->r->reached += found;
		s->r->levels = s->level++;
		progress_update(s->r->reached, s->r->vertices, "vertices");
		err = edges_sweep(e, s->frontier, false, visit, s);
		if (err)
			return err;
	}
	return 0;
}

int bfs_run(struct edges *e, uint32_t source, struct bfs *r)
{
	uint64_t n = e->g->h.vertices;
	struct search s = {.r = r, .words = (n + 63) / 64};
	int err = -ENOMEM;

	memset(r, 0, sizeof(*r));
	r->vertices = n;
	r->depth = mem_alloc(n, sizeof(*r->depth), "depths");
	r->parent = mem_alloc(n, sizeof(*r->parent), "parents");
	s.visited = mem_alloc(s.words, 8, "frontier");
	s.before = mem_alloc(s.words, 8, "frontier");
	s.frontier = mem_alloc(s.words, 8, "frontier");
	if (r->depth && r->parent && s.visited && s.before && s.frontier) {
		memset(r->depth, 0xff, n * sizeof(*r->depth));
		memset(r->parent, 0xff, n * sizeof(*r->parent));
		err = search(&s, e, source);
	}
	mem_free(s.visited, s.words, 8);
	mem_free(s.before, s.words, 8);
	mem_free(s.frontier, s.words, 8);
	return err;
}

void bfs_free(struct bfs *r)
{
	mem_free(r->depth, r->vertices, sizeof(*r->depth));
	mem_free(r->parent, r->vertices, sizeof(*r->parent));
}

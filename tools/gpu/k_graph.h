/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edges of a graph on storage, as warps read them; and kernels that visit all of them in any order:
 * connected components and an iteration of PageRank.
 */
#ifndef TOOLS_GPU_K_GRAPH_H
#define TOOLS_GPU_K_GRAPH_H

#include "args.h"
#include "k_lines.h"
#include "rank.h"

/* The next number, the same for all lanes of a warp. Lists differ in length: warps take single
 * vertices. */
static inline ANNEX_HD uint64_t gpu_take(uint64_t *hand)
{
	uint64_t take = 0;

	/* Relaxed: only a number. */
	if (!annex_lane())
		take = annex_local_add(hand, 1, ANNEX_RELAXED);
	annex_warp_sync(GPU_WARP_ALL);
	return annex_warp_shfl(GPU_WARP_ALL, take, 0);
}

/* Each lane begins the read of another line of the edges [@i, @end). */
static inline ANNEX_HD void gpu_edges_ahead(const struct gpu_graph *g, uint64_t i, uint64_t end)
{
	uint64_t per_line = (uint64_t)1 << (g->edges.line_shift - g->edges.elem_shift);
	uint64_t mine = i + annex_lane() * per_line;

	annex_warp_sync(GPU_WARP_ALL);
	if (annex_lane() && mine < end)
		annex_gpu_prefetch(&g->edges, mine);
}

/* The neighbour at the end of edge @e of a span. */
static inline ANNEX_HD uint64_t gpu_edge_at(const struct gpu_graph *g,
					    const struct annex_gpu_span *s, uint64_t e)
{
	return g->edges.elem_shift == 3 ? ((const uint64_t *)s->data)[e]
					: ((const uint32_t *)s->data)[e];
}

/* End a span. @stray: the caller has seen an edge that leads out of the graph. */
static inline ANNEX_HD int gpu_edges_end(const struct gpu_graph *g, struct annex_gpu_span *s,
					 bool stray)
{
	annex_gpu_span_end(&g->edges, s);
	if (annex_warp_ballot(GPU_WARP_ALL, stray))
		return annex_gpu_fail(g->edges.cache, -EINVAL, UINT64_MAX);
	return 0;
}

/*
 * The root above @v, as tools/graph/cc.c finds it: a vertex that is no root stays none, and each
 * value stored here lies above it, so a store that undoes another thread's costs a step later.
 */
static inline ANNEX_HD uint32_t gpu_cc_root(uint32_t *component, uint32_t v)
{
	uint32_t above = annex_local_load(&component[v], ANNEX_RELAXED);

	while (above != v) {
		uint32_t next = annex_local_load(&component[above], ANNEX_RELAXED);

		if (next != above)
			annex_local_store(&component[v], next, ANNEX_RELAXED);
		v = above;
		above = next;
	}
	return v;
}

/* Hang the larger of two roots under the smaller. */
static inline ANNEX_HD void gpu_cc_join(uint32_t *component, uint32_t a, uint32_t b)
{
	for (;;) {
		uint32_t x = gpu_cc_root(component, a), y = gpu_cc_root(component, b), root;

		if (x == y)
			return;
		a = x > y ? x : y;
		b = x > y ? y : x;
		root = a;
		/* Relaxed: the numbers are all that threads share. */
		if (annex_local_cas(&component[a], &root, b, ANNEX_RELAXED))
			return;
	}
}

/* Visit the neighbours of @v in one line: edges from @i on, at most @left, *@n of them. */
static inline ANNEX_HD int gpu_sweep_line(const struct gpu_args_sweep *s, uint32_t v,
					  uint64_t share, uint64_t i, uint64_t left, uint64_t *n)
{
	struct annex_gpu_span span;
	bool stray = false;
	int err = gpu_span_all(&s->g.edges, i, left, 0, &span);

	if (err)
		return err;
	for (uint64_t e = annex_lane(); e < span.count; e += ANNEX_WARP_LANES) {
		uint64_t u = gpu_edge_at(&s->g, &span, e);

		if (u >= s->g.vertices)
			stray = true;
		else if (s->component)
			gpu_cc_join(s->component, v, (uint32_t)u);
		else /* Relaxed: read when the kernel has ended. */
			annex_local_add(&s->next[u], share, ANNEX_RELAXED);
	}
	*n = span.count;
	return gpu_edges_end(&s->g, &span, stray);
}

static inline ANNEX_HD int gpu_sweep_vertex(const struct gpu_args_sweep *s, uint32_t v)
{
	uint64_t i = s->g.offsets[v], end = s->g.offsets[v + 1ull], n = 0;
	uint64_t share = s->component || i == end ? 0 : pagerank_share(s->rank[v], end - i);
	uint32_t lines = 0;
	int err = 0;

	for (; !err && i < end; i += n) {
		if (lines++ % ANNEX_WARP_LANES == 0)
			gpu_edges_ahead(&s->g, i, end);
		err = gpu_sweep_line(s, v, share, i, end - i, &n);
	}
	return err;
}

static inline ANNEX_HD void gpu_body_sweep(const struct gpu_args_sweep *s, struct gpu_thread t)
{
	uint64_t v;

	(void)t;
	while ((v = gpu_take(s->hand)) < s->g.vertices)
		if (gpu_sweep_vertex(s, (uint32_t)v))
			break;
}

/* The end of an iteration: next ranks become the ranks, and the result has sums for the next. */
static inline ANNEX_HD void gpu_body_rank(const struct gpu_args_rank *a, struct gpu_thread t)
{
	uint64_t change = 0, loose = 0;

	for (uint64_t v = t.id; v < a->vertices; v += t.count) {
		uint64_t now = a->next[v] + a->share, was = a->rank[v];

		change += now > was ? now - was : was - now;
		loose += a->offsets[v] == a->offsets[v + 1] ? now : 0;
		a->rank[v] = now;
		a->next[v] = 0;
	}
	gpu_report(a->r, change, 0, loose);
}

#endif

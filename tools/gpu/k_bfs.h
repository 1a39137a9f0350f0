/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A level of a breadth-first search: a warp takes a vertex of the frontier, and its lanes look at
 * the neighbours side by side, line by line of the edges, which are on storage.
 */
#ifndef TOOLS_GPU_K_BFS_H
#define TOOLS_GPU_K_BFS_H

#include "k_graph.h"

/* Whether neighbour @u was new; then it is the caller's to add. */
static inline ANNEX_HD bool gpu_bfs_visit(const struct gpu_args_bfs *b, uint32_t v, uint64_t u)
{
	uint32_t far = GPU_FAR;

	if (annex_local_load(&b->depth[u], ANNEX_RELAXED) != GPU_FAR)
		return false;
	/* Relaxed: the thread that sets the depth owns the entries, read after the kernel. */
	if (!annex_local_cas(&b->depth[u], &far, b->level, ANNEX_RELAXED))
		return false;
	b->parent[u] = v;
	return true;
}

/* The lanes add what each has found, if anything, to the next frontier: one addition for all. */
static inline ANNEX_HD void gpu_bfs_add(const struct gpu_args_bfs *b, bool found, uint64_t u)
{
	uint32_t votes = annex_warp_ballot(GPU_WARP_ALL, found), first;
	uint64_t at = 0;

	if (!votes)
		return;
	first = annex_warp_first(votes);
	if (annex_lane() == first)
		at = annex_local_add(&b->f->found, annex_warp_count(votes), ANNEX_RELAXED);
	annex_warp_sync(GPU_WARP_ALL);
	at = annex_warp_shfl(GPU_WARP_ALL, at, first);
	if (found)
		b->next[at + annex_warp_count(votes & ((1u << annex_lane()) - 1))] = (uint32_t)u;
}

/* Visit neighbours of @v in one line: edges from @i on, at most @left. Return how many in *@n. */
static inline ANNEX_HD int gpu_bfs_line(const struct gpu_args_bfs *b, uint32_t v, uint64_t i,
					uint64_t left, uint64_t *n)
{
	struct annex_gpu_span s;
	bool stray = false;
	int err = gpu_span_all(&b->g.edges, i, left, 0, &s);

	if (err)
		return err;
	for (uint64_t k = 0; k < s.count; k += ANNEX_WARP_LANES) {
		uint64_t e = k + annex_lane(), u = 0;
		bool found = false;

		if (e < s.count) {
			u = gpu_edge_at(&b->g, &s, e);
			stray |= u >= b->g.vertices;
			found = u < b->g.vertices && gpu_bfs_visit(b, v, u);
		}
		gpu_bfs_add(b, found, u);
	}
	*n = s.count;
	return gpu_edges_end(&b->g, &s, stray);
}

static inline ANNEX_HD int gpu_bfs_vertex(const struct gpu_args_bfs *b, uint32_t v)
{
	uint64_t i = b->g.offsets[v], end = b->g.offsets[v + 1ull], n = 0;
	uint32_t lines = 0;
	int err = 0;

	for (; !err && i < end; i += n) {
		if (lines++ % ANNEX_WARP_LANES == 0)
			gpu_edges_ahead(&b->g, i, end);
		err = gpu_bfs_line(b, v, i, end - i, &n);
	}
	return err;
}

static inline ANNEX_HD void gpu_body_bfs(const struct gpu_args_bfs *b, struct gpu_thread t)
{
	uint64_t edges = 0;

	(void)t;
	for (int err = 0; !err;) {
		uint64_t take = gpu_take(&b->f->hand);
		uint32_t v;

		if (take >= b->f->count)
			break;
		v = b->now[take];
		edges += b->g.offsets[v + 1ull] - b->g.offsets[v];
		err = gpu_bfs_vertex(b, v);
	}
	if (!annex_lane())
		annex_local_add(&b->f->edges, edges, ANNEX_RELAXED);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Algorithms over all edges of a graph on storage, by GPU threads.
 */
#ifndef TOOLS_GPU_WHOLE_H
#define TOOLS_GPU_WHOLE_H

#include "runner.h"

/*
 * struct gpu_whole - A graph, and the cost of an algorithm on it.
 * @ctx: the context with the edges, with a cache of @slots lines.
 * @edges: ids of 4 or 8 bytes, all below the number of vertices, or -EINVAL.
 * @offsets: where the edges of each vertex begin, one more than there are vertices.
 * @vertices: number of vertices, below 2^32.
 * @seconds: result: time of all kernels.
 */
struct gpu_whole {
	struct runner *r;
	struct annex_gpu_context *ctx;
	uint64_t slots;
	struct annex_gpu_array edges;
	const uint64_t *offsets;
	uint64_t vertices;
	double seconds;
};

/*
 * gpu_components() - Set component[v] to a smaller vertex of v's weakly connected component, or to
 * v if v is the smallest. 0, or -errno with the line set.
 */
int gpu_components(struct gpu_whole *w, uint32_t *component);

/*
 * gpu_ranks() - PageRank (rank.h) from equal ranks on, until the ranks change by less than
 * PAGERANK_TOLERANCE, or @most iterations. *@iterations: their number; *@change: the last change.
 */
int gpu_ranks(struct gpu_whole *w, uint32_t most, uint64_t *rank, uint32_t *iterations,
	      double *change);

#endif

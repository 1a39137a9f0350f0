/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Breadth-first search by GPU threads over edges on storage, level by level.
 */
#ifndef TOOLS_GPU_SEARCH_H
#define TOOLS_GPU_SEARCH_H

#include "runner.h"

/*
 * struct gpu_search - A breadth-first search, and its result.
 * @offsets: where the edges of each vertex begin, one more than there are vertices.
 * @vertices: number of vertices.
 * @depth: result: depth of each vertex; GPU_FAR if it is not reached.
 * @parent: result: parent of each vertex, likewise; the source is its own parent.
 * @reached: result: vertices reached.
 * @edges: result: edges visited.
 * @levels: result: levels.
 * @seconds: result: time of all kernels.
 */
struct gpu_search {
	const uint64_t *offsets;
	uint64_t vertices;
	uint32_t source;
	uint32_t *depth, *parent;
	uint64_t reached, edges;
	uint32_t levels;
	double seconds;
};

/*
 * gpu_search_run() - Search by a cache of @slots lines. @edges has ids of 4 or 8 bytes, all below
 * the number of vertices, or -EINVAL. 0, or -errno with the line set.
 */
int gpu_search_run(struct runner *r, struct annex_gpu_context *ctx, uint64_t slots,
		   const struct annex_gpu_array *edges, struct gpu_search *s);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breadth-first search of a large graph, top down and level by level, without a queue: each level
 * scans the depths of all vertices for vertices of the previous level. Edges are scattered and read
 * once. The depths do not fit in the cache, so most new vertices cause a write-back.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky_graph.h"

#define BLOCK 16u /* depths that a lane scans at a time: a line */

static const struct sky_shape shape = {.vertices = 286700, .least = 24, .core = 14};

struct bfs {
	struct sky_graph g;
	uint32_t source;
	uint64_t depth; /* u32 of each vertex; 0: not reached, 1: the source */
	uint64_t found; /* u32 of each level: whether it has vertices */
};

static int make(struct work *w)
{
	struct bfs *b = sky_own(w, sizeof(*b));
	uint64_t state = w->seed ^ 0xbf5;
	int err;

	if (!b)
		return -ENOMEM;
	sky_graph_plan(&b->g, w, &shape);
	b->source = sky_graph_core(&b->g, &state);
	b->depth = b->g.end;
	b->found = b->depth + (b->g.n + BLOCK - 1) / BLOCK * SKY_LINE;
	err = work_alloc(w, b->found + (SKY_DEPTHS + 2) * 4);
	if (err)
		return err;
	sky_graph_fill(&b->g, w, &shape);
	((uint32_t *)(w->data + b->depth))[b->source] = 1;
	return 0;
}

/* Two lanes that find the same vertex write the same depth. Return: whether any was found. */
static bool expand(const struct bfs *b, struct lane *l, uint64_t v, uint32_t depth)
{
	uint64_t list = lane_load64(l, b->g.lists + v * 8);
	bool found = false;

	lane_ops(l, 6);
	for (uint32_t e = (uint32_t)list; e < list >> 32; e++) {
		uint64_t at = b->depth + lane_load64(l, b->g.edges + e * 8ull) * 4;

		lane_ops(l, 6);
		if (lane_load32(l, at))
			continue;
		lane_store32(l, at, depth + 1);
		found = true;
	}
	return found;
}

/* Vertices beyond the last have depth 0. */
static bool scan(const struct bfs *b, struct lane *l, uint64_t block, uint32_t depth)
{
	bool found = false;

	for (uint64_t v = block * BLOCK; v < (block + 1) * BLOCK; v += 2) {
		uint64_t two = lane_load64(l, b->depth + v * 4);

		lane_ops(l, 6);
		if ((uint32_t)two == depth)
			found |= expand(b, l, v, depth);
		if (two >> 32 == depth)
			found |= expand(b, l, v + 1, depth);
	}
	return found;
}

static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct bfs *b = w->own;
	uint64_t blocks = (b->g.n + BLOCK - 1) / BLOCK;

	for (uint32_t depth = 1; depth < SKY_DEPTHS; depth++) {
		bool found = false;

		for (uint64_t block = id; block < blocks; block += w->lanes)
			found |= scan(b, l, block, depth);
		if (found)
			lane_store32(l, b->found + depth * 4ull, 1);
		lane_barrier(l);
		if (!lane_load32(l, b->found + depth * 4ull))
			return;
	}
}

/* The reference result, in a copy of the input. @queue has room for all vertices. */
static void plain(const struct bfs *b, char *data, uint32_t *queue)
{
	const uint64_t *list = (const uint64_t *)(data + b->g.lists);
	const uint64_t *edge = (const uint64_t *)(data + b->g.edges);
	uint32_t *depth = (uint32_t *)(data + b->depth), *found = (uint32_t *)(data + b->found);
	uint32_t n = 0;

	queue[n++] = b->source;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = queue[i];

		if (depth[from] == SKY_DEPTHS)
			break;
		for (uint32_t e = (uint32_t)list[from]; e < list[from] >> 32; e++)
			if (!depth[edge[e]]) {
				depth[edge[e]] = depth[from] + 1;
				found[depth[from]] = 1;
				queue[n++] = edge[e];
			}
	}
}

static bool check(const struct work *w)
{
	const struct bfs *b = w->own;
	uint32_t *queue = calloc(b->g.n, sizeof(*queue));
	char *data = sky_copy(w);
	bool same = false;

	if (data && queue) {
		plain(b, data, queue);
		same = sky_same(w, 0, data, w->bytes);
	}
	free(data);
	free(queue);
	return same;
}

/* At scale 1: 105.2 MiB, 497,000 lines are missed, 3 % of the requests to memory write. */
const struct work_kind work_bfs_dense = {
	.name = "bfs-dense",
	.summary = "breadth-first search that scans all vertices at each level",
	.set = "skybyte",
	.work = 23.33,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};

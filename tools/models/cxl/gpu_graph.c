// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels on whole random graphs as compressed rows, 8 MiB with all state. Vertices have random
 * numbers, so rows and neighbours are scattered.
 */
#include "gpu.h"

#include <stdlib.h>

#define UNREACHED UINT32_MAX

/*
 * path - Shortest paths from all vertices of the first of PATH_LAYERS layers; edges lead from each
 * layer to the next. Layer by layer, a GPU thread takes the best of the edges into a vertex.
 */
#define PATH_LAYERS 16u
#define PATH_DEGREE 6u /* edges into a vertex, in the mean */

struct path_plan {
	uint64_t n;
	uint64_t order; /* vertices by layer */
	uint64_t row;
	uint64_t edge; /* u64: source; upper half: length */
	uint64_t cost;
};

static uint64_t path_degree(uint64_t vertex)
{
	return 1 + vertex * 7 % (2 * PATH_DEGREE - 1);
}

static uint64_t path_layer(const struct path_plan *p, unsigned int layer)
{
	return p->n * layer / PATH_LAYERS;
}

static void path_plan(void *plan, double scale, uint64_t *end)
{
	struct path_plan *p = plan;
	uint64_t edges = 0;

	p->n = gpu_scaled(scale, GPU_BYTES / (12 + 8 * PATH_DEGREE), PATH_LAYERS);
	for (uint64_t v = 0; v < p->n; v++)
		edges += path_degree(v);
	p->order = gpu_array(end, p->n * 4);
	p->row = gpu_array(end, (p->n + 1) * 4);
	p->edge = gpu_array(end, edges * 8);
	p->cost = gpu_array(end, p->n * 4);
}

static void path_order(const struct path_plan *p, uint32_t *order, uint64_t *seed)
{
	for (uint64_t i = 0; i < p->n; i++) {
		uint64_t j = annex_random(seed) % (i + 1);

		order[i] = order[j];
		order[j] = (uint32_t)i;
	}
}

static void path_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct path_plan *p = plan;
	uint32_t *order = (uint32_t *)(data + p->order);
	uint32_t *row = (uint32_t *)(data + p->row);
	uint64_t *edge = (uint64_t *)(data + p->edge);
	uint32_t *cost = (uint32_t *)(data + p->cost);

	path_order(p, order, seed);
	for (uint64_t v = 0; v < p->n; v++)
		row[v + 1] = row[v] + (uint32_t)path_degree(v);
	for (unsigned int layer = 0; layer < PATH_LAYERS; layer++) {
		uint64_t begin = path_layer(p, layer), end = path_layer(p, layer + 1);
		uint64_t before = layer ? path_layer(p, layer - 1) : 0;

		for (uint64_t i = begin; i < end; i++) {
			uint32_t v = order[i];

			cost[v] = layer ? UNREACHED : 0;
			for (uint32_t e = row[v]; layer && e < row[v + 1]; e++) {
				uint64_t random = annex_random(seed);

				edge[e] = order[before + random % (begin - before)] |
					  (random >> 48 | 1) << 32;
			}
		}
	}
}

static void path_vertex(const struct path_plan *p, struct lane *l, uint32_t v)
{
	uint32_t end = lane_load32(l, p->row + (v + 1) * 4ull);
	uint32_t best = UNREACHED;

	for (uint32_t e = lane_load32(l, p->row + v * 4ull); e < end; e++) {
		uint64_t edge = lane_load64(l, p->edge + e * 8ull);
		uint32_t from = lane_load32(l, p->cost + (uint32_t)edge * 4ull);
		uint32_t cost = from + (uint32_t)(edge >> 32);

		lane_ops(l, 2);
		if (cost < best)
			best = cost;
	}
	lane_store32(l, p->cost + v * 4ull, best);
}

static void path_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct path_plan *p = plan;

	for (unsigned int layer = 1; layer < PATH_LAYERS; layer++) {
		uint64_t first = path_layer(p, layer);
		struct gpu_part part = gpu_part(path_layer(p, layer + 1) - first, id, lanes);

		for (uint64_t i = first + part.begin; i < first + part.end; i += part.step)
			path_vertex(p, l, lane_load32(l, p->order + i * 4));
		lane_barrier(l);
	}
}

/* path_relax() - Relax every edge once. Return: whether a cost fell. */
static bool path_relax(const struct path_plan *p, const char *first, uint64_t *cost)
{
	const uint32_t *row = (const uint32_t *)(first + p->row);
	const uint64_t *edge = (const uint64_t *)(first + p->edge);
	bool fell = false;

	for (uint64_t v = 0; v < p->n; v++) {
		for (uint32_t e = row[v]; cost[v] && e < row[v + 1]; e++) {
			uint64_t new = cost[(uint32_t)edge[e]] + (edge[e] >> 32);

			if (new < cost[v]) {
				cost[v] = new;
				fell = true;
			}
		}
	}
	return fell;
}

static bool path_check(const void *plan, const char *first, const char *data)
{
	const struct path_plan *p = plan;
	const uint32_t *was = (const uint32_t *)(first + p->cost);
	const uint32_t *is = (const uint32_t *)(data + p->cost);
	uint64_t *cost = malloc(p->n * sizeof(*cost));
	bool same = true;

	if (!cost)
		return false;
	for (uint64_t v = 0; v < p->n; v++)
		cost[v] = was[v];
	while (path_relax(p, first, cost))
		;
	for (uint64_t v = 0; v < p->n; v++)
		same &= cost[v] == is[v];
	free(cost);
	return same;
}

/*
 * bfs - Breadth-first search from vertex 0, level by level. A GPU thread takes a vertex of the
 * level from the queue and visits its neighbours. The first visitor of a vertex sets its cost and
 * mask, as in Rodinia's bfs, and appends it to the queue.
 */
#define BFS_DEGREE 8u /* edges from a vertex, in the mean */

struct bfs_plan {
	uint64_t n;
	uint64_t node;   /* u64: first pair of edges; upper half: number of pairs */
	uint64_t edge;   /* pairs of vertices, one access each */
	uint64_t mask;   /* 1: in the queue */
	uint64_t visits; /* number of visits */
	uint64_t cost;
	uint64_t queue;
	uint64_t tail; /* vertices appended to the queue so far */
};

static uint64_t bfs_pairs(uint64_t vertex)
{
	return 1 + vertex % (BFS_DEGREE - 1);
}

static void bfs_plan(void *plan, double scale, uint64_t *end)
{
	struct bfs_plan *p = plan;
	uint64_t pairs = 0;

	p->n = gpu_scaled(scale, GPU_BYTES / (24 + 4 * BFS_DEGREE), 16);
	for (uint64_t v = 0; v < p->n; v++)
		pairs += bfs_pairs(v);
	p->node = gpu_array(end, p->n * 8);
	p->edge = gpu_array(end, pairs * 8);
	p->mask = gpu_array(end, p->n * 4);
	p->visits = gpu_array(end, p->n * 4);
	p->cost = gpu_array(end, p->n * 4);
	p->queue = gpu_array(end, p->n * 4);
	p->tail = gpu_array(end, 4);
}

static void bfs_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct bfs_plan *p = plan;
	uint64_t *node = (uint64_t *)(data + p->node);
	uint32_t *edge = (uint32_t *)(data + p->edge);
	uint32_t *cost = (uint32_t *)(data + p->cost);
	uint64_t pairs = 0;

	for (uint64_t v = 0; v < p->n; v++) {
		node[v] = pairs | bfs_pairs(v) << 32;
		for (uint64_t e = 0; e < 2 * bfs_pairs(v); e++)
			edge[2 * pairs + e] = (uint32_t)(annex_random(seed) % p->n);
		pairs += bfs_pairs(v);
		cost[v] = UNREACHED;
	}
	cost[0] = 0;
	*(uint32_t *)(data + p->mask) = 1;
	*(uint32_t *)(data + p->visits) = 1;
	*(uint32_t *)(data + p->tail) = 1;
}

static void bfs_visit(const struct bfs_plan *p, struct lane *l, uint32_t v, uint32_t cost)
{
	uint32_t slot;

	lane_ops(l, 2);
	if (lane_load32(l, p->visits + v * 4ull) || lane_add32(l, p->visits + v * 4ull, 1))
		return;
	lane_store32(l, p->cost + v * 4ull, cost);
	lane_store32(l, p->mask + v * 4ull, 1);
	slot = lane_add32(l, p->tail, 1);
	lane_store32(l, p->queue + slot * 4ull, v);
}

static void bfs_vertex(const struct bfs_plan *p, struct lane *l, uint32_t v, uint32_t level)
{
	uint64_t node = lane_load64(l, p->node + v * 8ull);
	uint64_t end = (uint32_t)node + (node >> 32);

	lane_ops(l, 1);
	lane_store32(l, p->mask + v * 4ull, 0);
	for (uint64_t i = (uint32_t)node; i < end; i++) {
		uint64_t pair = lane_load64(l, p->edge + i * 8);

		bfs_visit(p, l, (uint32_t)pair, level + 1);
		bfs_visit(p, l, (uint32_t)(pair >> 32), level + 1);
	}
}

static void bfs_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct bfs_plan *p = plan;
	uint32_t begin = 0, end = lane_load32(l, p->tail);

	for (uint32_t level = 0; begin < end; level++) {
		struct gpu_part part = gpu_part(end - begin, id, lanes);

		lane_barrier(l);
		for (uint64_t i = begin + part.begin; i < begin + part.end; i += part.step)
			bfs_vertex(p, l, lane_load32(l, p->queue + i * 4), level);
		lane_barrier(l);
		begin = end;
		end = lane_load32(l, p->tail);
	}
}

/* bfs_plain() - The reference result. Return: number of vertices reached. */
static uint64_t bfs_plain(const struct bfs_plan *p, const char *first, uint32_t *cost,
			  uint32_t *visits, uint32_t *queue)
{
	const uint32_t *edge = (const uint32_t *)(first + p->edge);
	uint64_t begin = 0, tail = 1;

	memset(cost, 0xff, p->n * 4);
	cost[0] = 0;
	visits[0] = 1;
	queue[0] = 0;
	for (; begin < tail; begin++) {
		uint32_t v = queue[begin];

		for (uint64_t pair = 0; pair < bfs_pairs(v); pair++) {
			uint64_t node = *(const uint64_t *)(first + p->node + v * 8ull);
			const uint32_t *to = edge + 2 * ((uint32_t)node + pair);

			for (unsigned int i = 0; i < 2; i++) {
				if (!visits[to[i]]++) {
					cost[to[i]] = cost[v] + 1;
					queue[tail++] = to[i];
				}
			}
		}
	}
	return tail;
}

/* bfs_queue() - Check that the queue in @data has each reached vertex once, nearest first. */
static bool bfs_queue(const struct bfs_plan *p, const char *data, uint32_t *cost, uint64_t reached)
{
	const uint32_t *queue = (const uint32_t *)(data + p->queue);
	uint32_t last = 0;

	if (*(const uint32_t *)(data + p->tail) != reached)
		return false;
	for (uint64_t i = 0; i < reached; i++) {
		if (queue[i] >= p->n || cost[queue[i]] == UNREACHED || cost[queue[i]] < last)
			return false;
		last = cost[queue[i]];
		cost[queue[i]] = UNREACHED; /* seen */
	}
	return true;
}

static bool bfs_check(const void *plan, const char *first, const char *data)
{
	const struct bfs_plan *p = plan;
	uint32_t *state = calloc(p->n, 3 * sizeof(*state));
	const uint32_t *mask = (const uint32_t *)(data + p->mask);
	const uint32_t *visited = (const uint32_t *)(data + p->visits);
	uint32_t *cost = state, *visits, *queue;
	uint64_t reached;
	bool same;

	if (!state)
		return false;
	visits = state + p->n;
	queue = visits + p->n;
	reached = bfs_plain(p, first, cost, visits, queue);
	same = !memcmp(cost, data + p->cost, p->n * 4) && bfs_queue(p, data, cost, reached);
	for (uint64_t v = 0; v < p->n; v++)
		same &= !mask[v] && !visited[v] == !visits[v];
	free(state);
	return same;
}

GPU_KERNEL(path);
GPU_KERNEL(bfs);

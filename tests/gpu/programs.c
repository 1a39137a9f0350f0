// SPDX-License-Identifier: MIT
/*
 * Search and addition, against the same by the host.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/random.h"
#include "rig.h"
#include "tools/common/error.h"
#include "tools/gpu/add.h"
#include "tools/gpu/search.h"

#define DEGREE 8u

/* struct graph - Random edges; a few vertices have most of them, some have none. */
struct graph {
	uint64_t vertices, edges;
	uint64_t *offsets;
	void *ids;
	uint32_t id_bytes;
	uint32_t *depth, *parent, *want, *queue;
};

static void graph_free(struct graph *g)
{
	free(g->offsets);
	free(g->ids);
	free(g->depth);
	free(g->parent);
	free(g->want);
	free(g->queue);
}

static uint64_t id_at(const struct graph *g, uint64_t e)
{
	return g->id_bytes == 8 ? ((const uint64_t *)g->ids)[e] : ((const uint32_t *)g->ids)[e];
}

static int graph_make(struct graph *g, uint64_t vertices, uint32_t id_bytes)
{
	uint64_t random = tests_seed() + id_bytes, room = vertices * DEGREE * 4;

	*g = (struct graph){.vertices = vertices, .id_bytes = id_bytes};
	g->offsets = calloc(vertices + 1, 8);
	g->ids = calloc(room + 512, 8);
	g->depth = calloc(vertices, 4);
	g->parent = calloc(vertices, 4);
	g->want = calloc(vertices, 4);
	g->queue = calloc(vertices, 4);
	if (!g->offsets || !g->ids || !g->depth || !g->parent || !g->want || !g->queue)
		return err_set(-ENOMEM, "out of memory");
	for (uint64_t v = 0; v < vertices; v++) {
		uint64_t n = random_next(&random) % (DEGREE * 2);

		n = v % 997 == 5 ? vertices : n; /* lists of many lines */
		for (; n && g->edges < room; n--) {
			uint64_t u = random_next(&random) % vertices;

			if (id_bytes == 8)
				((uint64_t *)g->ids)[g->edges++] = u;
			else
				((uint32_t *)g->ids)[g->edges++] = (uint32_t)u;
		}
		g->offsets[v + 1] = g->edges;
	}
	return 0;
}

static void host_search(struct graph *g, uint32_t source)
{
	uint64_t head = 0, tail = 0;

	memset(g->want, 0xff, g->vertices * 4);
	g->want[source] = 0;
	g->queue[tail++] = source;
	while (head < tail) {
		uint32_t v = g->queue[head++];

		for (uint64_t e = g->offsets[v]; e < g->offsets[v + 1]; e++) {
			uint64_t u = id_at(g, e);

			if (g->want[u] != GPU_FAR)
				continue;
			g->want[u] = g->want[v] + 1;
			g->queue[tail++] = (uint32_t)u;
		}
	}
}

/* Depths as the host's; parents a level above, with an edge. */
static int judge(const struct graph *g, uint32_t source)
{
	for (uint64_t v = 0; v < g->vertices; v++) {
		uint32_t p = g->parent[v];
		bool edge = v == source || g->depth[v] == GPU_FAR;

		if (g->depth[v] != g->want[v])
			return err_set(-EBADMSG, "vertex %" PRIu64 ": depth %u, not %u", v,
				       g->depth[v], g->want[v]);
		if (edge)
			continue;
		if (p >= g->vertices || g->depth[p] + 1 != g->depth[v])
			return err_set(-EBADMSG, "vertex %" PRIu64 ": parent %u", v, p);
		for (uint64_t e = g->offsets[p]; !edge && e < g->offsets[p + 1ull]; e++)
			edge = id_at(g, e) == v;
		if (!edge)
			return err_set(-EBADMSG, "vertex %" PRIu64 ": no edge from its parent", v);
	}
	return 0;
}

/* Write the edges to a device, and search there with a cache of an eighth of them. */
static int search_on(struct runner *r, struct graph *g, uint32_t source)
{
	uint64_t bytes = (g->edges * g->id_bytes + 4095) / 4096 * 4096,
		 slots = bytes / 512 / 8 + 16;
	struct annex_gpu_opts opts = {.bytes = slots * 512, .line = 512, .queues = 2};
	struct gpu_search s = {.offsets = g->offsets,
			       .vertices = g->vertices,
			       .source = source,
			       .depth = g->depth,
			       .parent = g->parent};
	struct annex_gpu_context *ctx = NULL;
	struct annex_gpu_array words, edges;
	char uri[64];
	int err, closed;

	snprintf(uri, sizeof(uri), "mem:%" PRIu64, bytes);
	err = annex_gpu_open(uri, &opts, r->memory, &ctx);
	if (!err)
		err = annex_gpu_array_init(&words, ctx, 0, 8, bytes / 8);
	if (!err)
		err = annex_gpu_array_init(&edges, ctx, 0, g->id_bytes, g->edges);
	if (err)
		err_lib(err, "cannot open %s", uri);
	if (!err)
		err = runner_upload(r, ctx, &words, g->ids, bytes);
	if (!err)
		err = gpu_search_run(r, ctx, slots, &edges, &s);
	closed = annex_gpu_close(ctx);
	return err ? err : closed;
}

static int search_ids(struct runner *r, uint32_t id_bytes)
{
	uint64_t vertices = tests_small() ? 1500 : 20000;
	uint32_t source = (uint32_t)(tests_seed() % vertices);
	struct graph g;
	int err = graph_make(&g, vertices, id_bytes);

	if (!err)
		err = search_on(r, &g, source);
	if (!err) {
		host_search(&g, source);
		err = judge(&g, source);
	}
	graph_free(&g);
	return err;
}

GPU_TEST(search_narrow, search_ids(r, 4))
GPU_TEST(search_wide, search_ids(r, 8))

/* An edge that leads out of the graph ends the search, and touches nothing. */
static int search_stray(struct runner *r)
{
	struct graph g;
	int err = graph_make(&g, 600, 4);

	if (!err) {
		((uint32_t *)g.ids)[g.offsets[5]] = 600;
		err = search_on(r, &g, 5);
		err = err == -EINVAL ? 0 : err_set(-EBADMSG, "a stray edge: %d", err);
		if (!err)
			err_clear();
	}
	graph_free(&g);
	return err;
}

static void host_add(uint32_t type, void *c, const void *a, const void *b, uint64_t i)
{
	if (type == GPU_F64)
		((double *)c)[i] = ((const double *)a)[i] + ((const double *)b)[i];
	else if (type == GPU_F32)
		((float *)c)[i] = ((const float *)a)[i] + ((const float *)b)[i];
	else if (type == GPU_U64)
		((uint64_t *)c)[i] = ((const uint64_t *)a)[i] + ((const uint64_t *)b)[i];
	else
		((uint32_t *)c)[i] = ((const uint32_t *)a)[i] + ((const uint32_t *)b)[i];
}

/* Random numbers of a type, none of them an odd one like a NaN. */
static void numbers(uint32_t type, void *to, uint64_t n, uint64_t *random)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t x = random_next(random);

		if (type == GPU_F64)
			((double *)to)[i] = (double)(int64_t)x / 3e9;
		else if (type == GPU_F32)
			((float *)to)[i] = (float)(int32_t)x / 3e4f;
		else if (type == GPU_U64)
			((uint64_t *)to)[i] = x;
		else
			((uint32_t *)to)[i] = (uint32_t)x;
	}
}

/* Every element of the sum, read back through the cache by another kernel. */
static int judge_sums(struct runner *r, struct gpu_add *a, char *const host[ADD_ARRAYS])
{
	uint32_t size = gpu_type_size(a->type);
	char *got = malloc(a->count * size);
	int err = got ? rig_read_all(r, a->ctx[ADD_C], &a->array[ADD_C], got)
		      : err_set(-ENOMEM, "out of memory");

	for (uint64_t i = 0; !err && i < a->count; i++) {
		host_add(a->type, host[ADD_C], host[ADD_A], host[ADD_B], i);
		if (memcmp(got + i * size, host[ADD_C] + i * size, size))
			err = err_set(-EBADMSG, "element %" PRIu64 " of type %u is not the sum", i,
				      a->type);
	}
	free(got);
	return err;
}

/* The data of a host array, to its device. */
static int put_input(struct runner *r, struct gpu_add *a, int which, const char *data,
		     uint64_t bytes)
{
	struct annex_gpu_array words;
	int err = annex_gpu_array_init(&words, a->ctx[which], 0, 8, bytes / 8);

	return err ? err_lib(err, "cannot make an array")
		   : runner_upload(r, a->ctx[which], &words, data, bytes);
}

static int add_type(struct runner *r, uint32_t type)
{
	uint64_t bytes = tests_small() ? 256u << 10 : 4u << 20, random = tests_seed() + type;
	char uri[64], *host[ADD_ARRAYS];
	struct gpu_add a = {.type = type,
			    .cache = bytes / 4,
			    .line = 4096,
			    .queues = 2,
			    .count = bytes / gpu_type_size(type)};
	int err = 0, closed;

	snprintf(uri, sizeof(uri), "mem:%" PRIu64, bytes);
	for (int i = 0; i < ADD_ARRAYS; i++) {
		a.uri[i] = uri;
		host[i] = malloc(bytes);
		if (!host[i])
			err = err_set(-ENOMEM, "out of memory");
		else
			numbers(type, host[i], a.count, &random);
	}
	if (!err)
		err = gpu_add_open(r, &a);
	if (!err)
		err = put_input(r, &a, ADD_A, host[ADD_A], bytes);
	if (!err)
		err = put_input(r, &a, ADD_B, host[ADD_B], bytes);
	if (!err)
		err = gpu_add_run(r, &a);
	if (!err)
		err = judge_sums(r, &a, host);
	closed = gpu_add_close(&a);
	for (int i = 0; i < ADD_ARRAYS; i++)
		free(host[i]);
	return err ? err : closed;
}

GPU_TEST(add_doubles, add_type(r, GPU_F64))
GPU_TEST(add_floats, add_type(r, GPU_F32))
GPU_TEST(add_longs, add_type(r, GPU_U64))
GPU_TEST(add_ints, add_type(r, GPU_U32))

const struct gpu_test program_tests[] = {
	{"search, ids of 4 bytes", search_narrow},
	{"search, ids of 8 bytes", search_wide},
	{"search, an edge that leads nowhere", search_stray},
	{"c = a + b, f64", add_doubles},
	{"c = a + b, f32", add_floats},
	{"c = a + b, u64", add_longs},
	{"c = a + b, u32", add_ints},
	{NULL, NULL},
};

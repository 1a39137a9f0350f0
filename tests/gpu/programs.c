// SPDX-License-Identifier: MIT
/*
 * Search, connected components, PageRank and addition, against the same by the host.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "rig.h"
#include "tools/common/error.h"
#include "tools/gpu/add.h"
#include "tools/gpu/rank.h"
#include "tools/gpu/scan.h"
#include "tools/gpu/search.h"
#include "tools/gpu/whole.h"

#define DEGREE 8u
#define RANK_ITERATIONS 4u

/* struct graph - Random edges; a few vertices have most of them, some have none. */
struct graph {
	uint64_t vertices, edges;
	uint64_t *offsets;
	void *ids;
	uint32_t id_bytes, source;
	uint32_t *depth, *parent, *want, *queue;
	uint64_t *rank;
	uint32_t iterations;
	double change;
};

static void graph_free(struct graph *g)
{
	free(g->offsets);
	free(g->ids);
	free(g->depth);
	free(g->parent);
	free(g->want);
	free(g->queue);
	free(g->rank);
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
	g->rank = calloc(vertices, 8);
	if (!g->offsets || !g->ids || !g->depth || !g->parent || !g->want || !g->queue || !g->rank)
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

static int search(struct graph *g, struct gpu_whole *w)
{
	struct gpu_search s = {.offsets = g->offsets,
			       .vertices = g->vertices,
			       .source = g->source,
			       .depth = g->depth,
			       .parent = g->parent};

	return gpu_search_run(w->r, w->ctx, w->slots, &w->edges, &s);
}

static int components(struct graph *g, struct gpu_whole *w)
{
	return gpu_components(w, g->depth);
}

static int ranks(struct graph *g, struct gpu_whole *w)
{
	return gpu_ranks(w, RANK_ITERATIONS, g->rank, &g->iterations, &g->change);
}

/*
 * Write the edges to two devices, and have a program work on them there with a cache of an eighth
 * of them.
 */
static int work_on(struct runner *r, struct graph *g,
		   int (*program)(struct graph *g, struct gpu_whole *w))
{
	uint64_t bytes = (g->edges * g->id_bytes + 4095) / 4096 * 4096,
		 slots = bytes / 512 / 8 + 16;
	char uri[64];
	const char *const more[] = {uri};
	struct annex_gpu_opts opts = {.bytes = slots * 512,
				      .line = 512,
				      .queues = 2,
				      .size = bytes,
				      .more = more,
				      .nmore = 1};
	struct gpu_whole w = {
		.r = r, .slots = slots, .offsets = g->offsets, .vertices = g->vertices};
	struct annex_gpu_array words;
	int err, closed;

	snprintf(uri, sizeof(uri), "mem:%" PRIu64, bytes);
	err = annex_gpu_open(uri, &opts, r->memory, &w.ctx);
	if (!err)
		err = annex_gpu_array_init(&words, w.ctx, 0, 8, bytes / 8);
	if (!err)
		err = annex_gpu_array_init(&w.edges, w.ctx, 0, g->id_bytes, g->edges);
	if (err)
		err_lib(err, "cannot open %s", uri);
	if (!err)
		err = runner_upload(r, w.ctx, &words, g->ids, bytes);
	if (!err)
		err = program(g, &w);
	closed = annex_gpu_close(w.ctx);
	return err ? err : closed;
}

static int search_ids(struct runner *r, uint32_t id_bytes)
{
	uint64_t vertices = tests_small() ? 1500 : 20000;
	struct graph g;
	int err = graph_make(&g, vertices, id_bytes);

	g.source = (uint32_t)(tests_seed() % vertices);
	if (!err)
		err = work_on(r, &g, search);
	if (!err) {
		host_search(&g, g.source);
		err = judge(&g, g.source);
	}
	graph_free(&g);
	return err;
}

GPU_TEST(search_narrow, search_ids(r, 4))
GPU_TEST(search_wide, search_ids(r, 8))

/* Smallest vertices of the components: labels go along edges, both ways, until none changes. */
static void host_components(struct graph *g)
{
	bool again = true;

	for (uint64_t v = 0; v < g->vertices; v++)
		g->want[v] = (uint32_t)v;
	while (again) {
		again = false;
		for (uint64_t v = 0; v < g->vertices; v++) {
			for (uint64_t e = g->offsets[v]; e < g->offsets[v + 1]; e++) {
				uint32_t *a = &g->want[v], *b = &g->want[id_at(g, e)];

				again |= *a != *b;
				*a = *b = *a < *b ? *a : *b;
			}
		}
	}
}

/* Few edges, so that there are many components. */
static int components_of(struct runner *r, uint32_t id_bytes)
{
	struct graph g;
	int err = graph_make(&g, tests_small() ? 1500 : 20000, id_bytes);

	if (!err) {
		g.edges /= 2 * DEGREE;
		for (uint64_t v = 0; v <= g.vertices; v++)
			g.offsets[v] = v * g.edges / g.vertices;
		err = work_on(r, &g, components);
	}
	if (!err)
		host_components(&g);
	for (uint64_t v = 0; !err && v < g.vertices; v++) {
		/* Names of smaller vertices: by now that is its own's final name. */
		g.depth[v] = g.depth[g.depth[v]];
		if (g.depth[v] != g.want[v])
			err = err_set(-EBADMSG, "vertex %" PRIu64 ": component %u, not %u", v,
				      g.depth[v], g.want[v]);
	}
	graph_free(&g);
	return err;
}

GPU_TEST(components_narrow, components_of(r, 4))
GPU_TEST(components_wide, components_of(r, 8))

/* The ranks after as many iterations: by one thread, in the same arithmetic. */
static int judge_ranks(const struct graph *g)
{
	uint64_t n = g->vertices;
	uint64_t *rank = calloc(n, 8), *next = calloc(n, 8);
	int err = rank && next ? 0 : err_set(-ENOMEM, "out of memory");

	for (uint64_t v = 0; !err && v < n; v++)
		rank[v] = PAGERANK_ONE / n;
	for (uint32_t k = 0; !err && k < g->iterations; k++) {
		uint64_t loose = 0;

		memset(next, 0, n * 8);
		for (uint64_t v = 0; v < n; v++) {
			uint64_t from = g->offsets[v], to = g->offsets[v + 1];

			loose += from == to ? rank[v] : 0;
			for (uint64_t e = from; e < to; e++)
				next[id_at(g, e)] += pagerank_share(rank[v], to - from);
		}
		for (uint64_t v = 0; v < n; v++)
			rank[v] = next[v] + pagerank_common(loose, n);
	}
	for (uint64_t v = 0; !err && v < n; v++)
		if (g->rank[v] != rank[v])
			err = err_set(-EBADMSG,
				      "vertex %" PRIu64 ": rank %" PRIu64 ", not %" PRIu64, v,
				      g->rank[v], rank[v]);
	free(rank);
	free(next);
	return err;
}

static int ranks_of(struct runner *r, uint32_t id_bytes)
{
	struct graph g;
	int err = graph_make(&g, tests_small() ? 1500 : 20000, id_bytes);

	if (!err)
		err = work_on(r, &g, ranks);
	if (!err && g.iterations != RANK_ITERATIONS && g.change > PAGERANK_TOLERANCE)
		err = err_set(-EBADMSG, "it ended after %u iterations", g.iterations);
	if (!err)
		err = judge_ranks(&g);
	graph_free(&g);
	return err;
}

GPU_TEST(ranks_narrow, ranks_of(r, 4))
GPU_TEST(ranks_wide, ranks_of(r, 8))

/* An edge that leads out of the graph ends the program, and touches nothing. */
static int stray(struct runner *r, int (*program)(struct graph *g, struct gpu_whole *w))
{
	struct graph g;
	int err = graph_make(&g, 600, 4);

	if (!err) {
		((uint32_t *)g.ids)[g.offsets[5]] = 600;
		g.source = 5;
		err = work_on(r, &g, program);
		err = err == -EINVAL ? 0 : err_set(-EBADMSG, "a stray edge: %d", err);
		if (!err)
			err_clear();
	}
	graph_free(&g);
	return err;
}

GPU_TEST(search_stray, stray(r, search))
GPU_TEST(components_stray, stray(r, components))
GPU_TEST(ranks_stray, stray(r, ranks))

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
		else if (type == GPU_U64 || type == GPU_I64)
			((uint64_t *)to)[i] = x;
		else
			((uint32_t *)to)[i] = (uint32_t)x;
	}
}

/* Questions of BaM section 5.3: rows that pass, and sums of up to five other columns. */
#define COLUMNS 6u
#define FAR 30.0

struct table {
	char *data[COLUMNS], uri[COLUMNS][300];
	uint32_t type[COLUMNS];
	uint64_t rows;
};

static void table_free(struct table *t)
{
	for (unsigned int i = 0; i < COLUMNS; i++) {
		free(t->data[i]);
		if (*t->uri[i])
			unlink(t->uri[i] + strlen("file:"));
	}
}

/* A column of doubles from 0 to 31, and columns of all types with values of up to 2^@bits. */
static int table_make(struct table *t, uint64_t rows)
{
	static const uint32_t types[COLUMNS] = {GPU_F64, GPU_I64, GPU_F32,
						GPU_U64, GPU_I32, GPU_U32};
	uint64_t random = tests_seed() + 7;

	memset(t, 0, sizeof(*t));
	t->rows = rows;
	for (unsigned int i = 0; i < COLUMNS; i++) {
		uint64_t size = gpu_type_size(types[i]);
		char name[] = "/tmp/annex-gpu.XXXXXX";
		int fd = mkstemp(name);
		bool whole;

		t->type[i] = types[i];
		t->data[i] = malloc(rows * size);
		if (fd < 0 || !t->data[i])
			return err_set(-ENOMEM, "no memory or file for a column");
		snprintf(t->uri[i], sizeof(t->uri[i]), "file:%s", name);
		numbers(types[i], t->data[i], rows, &random);
		for (uint64_t k = 0; !i && k < rows; k++)
			((double *)(void *)t->data[0])[k] = (double)(random_next(&random) % 3100) /
							    100;
		whole = write(fd, t->data[i], rows * size) == (ssize_t)(rows * size);
		close(fd);
		if (!whole)
			return err_set(-EIO, "cannot write a column");
	}
	return 0;
}

/* The same by the host: rows in their order. Sums of floats may differ in the last digits. */
static int judge_scan(const struct table *t, const struct gpu_scan *s)
{
	__int128 sum_i[COLUMNS] = {0};
	double sum_f[COLUMNS] = {0}, size_f[COLUMNS] = {0};
	uint64_t passed = 0;

	for (uint64_t k = 0; k < t->rows; k++) {
		if ((((const double *)(void *)t->data[0])[k] >= FAR) == s->negate)
			continue;
		passed++;
		for (unsigned int i = 1; i < s->n; i++) {
			const void *p = t->data[i] + k * gpu_type_size(t->type[i]);

			if (t->type[i] == GPU_I64)
				sum_i[i] += *(const int64_t *)p;
			else if (t->type[i] == GPU_U64)
				sum_i[i] += *(const uint64_t *)p;
			else if (t->type[i] == GPU_I32)
				sum_i[i] += *(const int32_t *)p;
			else if (t->type[i] == GPU_U32)
				sum_i[i] += *(const uint32_t *)p;
			else
				sum_f[i] += *(const float *)p;
			size_f[i] += t->type[i] == GPU_F32 ? fabs((double)*(const float *)p) : 0;
		}
	}
	if (s->passed != passed)
		return err_set(-EBADMSG, "%" PRIu64 " rows, not %" PRIu64, s->passed, passed);
	for (unsigned int i = 1; i < s->n; i++)
		if (s->col[i].sum_i != sum_i[i] ||
		    fabs(s->col[i].sum_f - sum_f[i]) > 1e-9 * size_f[i])
			return err_set(-EBADMSG, "the sum of column %u is wrong", i);
	return 0;
}

static int ask(struct runner *r, const struct table *t, unsigned int others, bool negate)
{
	struct gpu_scan s = {.n = 1 + others,
			     .rows = t->rows,
			     .cache = 128 * 512,
			     .line = 512,
			     .queues = 2,
			     .negate = negate,
			     .low.f = FAR,
			     .high.f = INFINITY};
	int err, closed;

	for (unsigned int i = 0; i < s.n; i++) {
		s.col[i].uri = t->uri[i];
		s.col[i].type = t->type[i];
	}
	err = gpu_scan_open(r, &s);
	if (!err)
		err = gpu_scan_run(r, &s);
	closed = gpu_scan_close(&s);
	err = err ? err : closed;
	return err ? err : judge_scan(t, &s);
}

static int questions(struct runner *r)
{
	struct table t;
	int err = table_make(&t, tests_small() ? 6001 : 1000003);

	for (unsigned int others = 0; !err && others < COLUMNS; others++)
		err = ask(r, &t, others, false);
	if (!err)
		err = ask(r, &t, 2, true);
	table_free(&t);
	return err;
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
	{"sums over rows that pass, 0 to 5 columns", questions},
	{"search, ids of 4 bytes", search_narrow},
	{"search, ids of 8 bytes", search_wide},
	{"search, an edge that leads nowhere", search_stray},
	{"components, ids of 4 bytes", components_narrow},
	{"components, ids of 8 bytes", components_wide},
	{"components, an edge that leads nowhere", components_stray},
	{"ranks, ids of 4 bytes", ranks_narrow},
	{"ranks, ids of 8 bytes", ranks_wide},
	{"ranks, an edge that leads nowhere", ranks_stray},
	{"c = a + b, f64", add_doubles},
	{"c = a + b, f32", add_floats},
	{"c = a + b, u64", add_longs},
	{"c = a + b, u32", add_ints},
	{NULL, NULL},
};

// SPDX-License-Identifier: MIT
/*
 * The kernels that come with the library on the device's core, against qemu-riscv64 running the
 * same code over the same data: one core each, results compared. What counts is the kernel alone:
 * from launch to end on the device, the loop over micro-threads in the emulator.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "tests/unit/random.h"
#include "hdm/hdm.h"
#include "ndp.h"
#include "tests/models/ndp/way.h"

#define RANGE (768ull << 20)

/**
 * struct meter - A way to run kernels, and the seconds that all of them took since it was set to 0.
 */
struct meter {
	struct k_way way;
	struct ndp_qemu *qemu;
	double seconds;
};

/**
 * struct world - Two handles on the same data: @k[0] runs kernels on the device, @k[1] by qemu.
 * @in: random. @out: of either. @n: bytes of results.
 */
struct world {
	struct ndp_bench b;
	struct annex_kernels *device;
	struct annex_kernels k[2];
	struct ndp_qemu qemu;
	struct meter meter[2];
	uint64_t random;
	char *in, *out;
	const struct kernel_case *is;
	struct annex_ndp_csr csr;
	struct annex_ndp_edges edges;
	struct annex_ndp_kv *kv[2];
	unsigned char *keys, *values;
	bool *found;
};

/*
 * struct kernel_case - @bytes: of results, which are compared bit for bit, or, if @floats, as
 * floats that were rounded in another order.
 */
struct kernel_case {
	const char *name;
	void (*prepare)(struct world *w);
	int (*run)(struct world *w, unsigned int who);
	size_t bytes;
	bool floats;
};

static int measured(void *ctx, enum k_kernel kernel, const void *pool, uint64_t bytes,
		    const void *args, size_t nargs)
{
	struct meter *m = ctx;
	double start = bench_seconds();
	int err = m->way.run(m->way.ctx, kernel, pool, bytes, args, nargs);

	m->seconds += m->qemu ? m->qemu->seconds : bench_seconds() - start;
	return err;
}

static void *some(struct world *w, size_t bytes)
{
	return ndp_bench_alloc(&w->b, bytes);
}

/* Random words; floats from -1 to 1. */
static void words(struct world *w)
{
	uint64_t *to = (uint64_t *)w->in;

	for (size_t i = 0; i < (96u << 20) / 8; i++)
		to[i] = random_next(&w->random);
}

static void numbers(struct world *w)
{
	float *to = (float *)w->in;

	for (size_t i = 0; i < (96u << 20) / 4; i++)
		to[i] = (float)(random_unit(&w->random) * 2 - 1);
}

static void halves(struct world *w)
{
	uint16_t *to = (uint16_t *)w->in;

	for (size_t i = 0; i < (96u << 20) / 2; i++) /* magnitudes from 2^-7 to 2 */
		to[i] = (uint16_t)((random_next(&w->random) & 0x9fff) | 0x2000);
}

#define N (8u << 20)
#define SECOND (w->in + (32u << 20))

static int add_i32(struct world *w, unsigned int who)
{
	return annex_ndp_add_i32(&w->k[who], (int32_t *)w->in, (int32_t *)SECOND, (int32_t *)w->out,
				 N);
}

static int add_f32(struct world *w, unsigned int who)
{
	return annex_ndp_add_f32(&w->k[who], (float *)w->in, (float *)SECOND, (float *)w->out, N);
}

static int fill(struct world *w, unsigned int who)
{
	return annex_ndp_memset(&w->k[who], w->out, 0x5a, 64u << 20);
}

static int copy(struct world *w, unsigned int who)
{
	return annex_ndp_copy(&w->k[who], w->out, w->in, 64u << 20);
}

static int sum_i32(struct world *w, unsigned int who)
{
	return annex_ndp_sum_i32(&w->k[who], (int32_t *)w->in, 2 * N, (int64_t *)w->out);
}

static int sum_i64(struct world *w, unsigned int who)
{
	return annex_ndp_sum_i64(&w->k[who], (int64_t *)w->in, N, (int64_t *)w->out);
}

static int sum_f32(struct world *w, unsigned int who)
{
	double sum = 0;
	int err = annex_ndp_sum_f32(&w->k[who], (float *)w->in, 2 * N, &sum);

	*(float *)w->out = (float)sum;
	return err;
}

static int histogram(struct world *w, unsigned int who)
{
	return annex_ndp_histogram_i32(&w->k[who], (int32_t *)w->in, N, INT32_MIN, 24, 256,
				       (uint64_t *)w->out);
}

static int filter_i32(struct world *w, unsigned int who)
{
	return annex_ndp_filter_i32(&w->k[who], (int32_t *)w->in, 2 * N, -500000000, 700000000,
				    (uint8_t *)w->out);
}

static int filter_decimal(struct world *w, unsigned int who)
{
	return annex_ndp_filter_decimal(&w->k[who], (int64_t *)w->in, N, INT64_MIN / 3,
					INT64_MAX / 2, (uint8_t *)w->out);
}

#define WIDTH 25

static void strings(struct world *w)
{
	for (size_t i = 0; i < 2u << 20; i++) {
		memset(w->in + i * WIDTH, ' ', WIDTH);
		memcpy(w->in + i * WIDTH, random_next(&w->random) % 4 ? "PROMO" : "PROFI", 5);
	}
}

static int filter_prefix(struct world *w, unsigned int who)
{
	return annex_ndp_filter_prefix(&w->k[who], w->in, WIDTH, 2u << 20, "PROMO", 5,
				       (uint8_t *)w->out);
}

static int bitmap_and(struct world *w, unsigned int who)
{
	return annex_ndp_bitmap_and(&w->k[who], (uint8_t *)w->in, (uint8_t *)SECOND,
				    (uint8_t *)w->out, 32u * N);
}

static int bitmap_or(struct world *w, unsigned int who)
{
	return annex_ndp_bitmap_or(&w->k[who], (uint8_t *)w->in, (uint8_t *)SECOND,
				   (uint8_t *)w->out, 32u * N);
}

#define ENTRIES (1u << 20)
#define REQUESTS (1u << 17)

static void ask(struct world *w, uint32_t i, uint64_t number)
{
	memcpy(w->keys + i * ANNEX_NDP_KEY, &number, sizeof(number));
	memcpy(w->values + i * ANNEX_NDP_VALUE, &number, sizeof(number));
}

/* As many keys as the paper's table for each word, only fewer. */
static void table(struct world *w)
{
	if (w->kv[0])
		return;
	if (annex_ndp_kv_create(w->device, "kv", 2 * ENTRIES, &w->kv[0]) ||
	    annex_ndp_kv_open(&w->k[1], "kv", &w->kv[1]))
		bench_fail("%s", annex_last_error());
	annex_ndp_kv_close(w->kv[0]);
	if (annex_ndp_kv_open(&w->k[0], "kv", &w->kv[0]))
		bench_fail("%s", annex_last_error());
	w->keys = calloc(ENTRIES, ANNEX_NDP_KEY);
	w->values = calloc(ENTRIES, ANNEX_NDP_VALUE);
	w->found = calloc(ENTRIES, sizeof(*w->found));
	if (!w->keys || !w->values || !w->found)
		bench_fail("out of memory");
	for (uint32_t i = 0; i < ENTRIES; i++)
		ask(w, i, i);
	if (annex_ndp_kv_set(w->kv[0], w->keys, w->values, ENTRIES))
		bench_fail("%s", annex_last_error());
}

static int get(struct world *w, unsigned int who)
{
	uint64_t state = 5;

	for (uint32_t i = 0; i < REQUESTS; i++)
		ask(w, i, random_next(&state) % (ENTRIES + ENTRIES / 8));
	memset(w->values, 0, (size_t)REQUESTS * ANNEX_NDP_VALUE);
	return annex_ndp_kv_get(w->kv[who], w->keys, REQUESTS, w->values, w->found) ||
	       !memcpy(w->out, w->values, (size_t)REQUESTS * ANNEX_NDP_VALUE);
}

static int set(struct world *w, unsigned int who)
{
	uint64_t state = 7;

	for (uint32_t i = 0; i < REQUESTS; i++)
		ask(w, i, random_next(&state) % ENTRIES);
	*(uint64_t *)w->out = annex_ndp_kv_count(w->kv[who]);
	return annex_ndp_kv_set(w->kv[who], w->keys, w->values, REQUESTS);
}

/* As large as in M2NDP's Table V. */
static void graph(struct world *w, uint32_t rows, uint32_t entries)
{
	uint32_t *first = (uint32_t *)w->in, *column = (uint32_t *)SECOND;

	memset(first, 0, (rows + 1) * sizeof(*first));
	for (uint32_t i = 0; i < entries; i++)
		first[random_next(&w->random) % rows + 1]++;
	for (uint32_t i = 0; i < rows; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < entries; i++)
		column[i] = (uint32_t)(random_next(&w->random) % rows);
	w->csr = (struct annex_ndp_csr){rows, first, column, (float *)column + entries};
}

static void matrix(struct world *w)
{
	numbers(w);
	graph(w, 28924, 1036208);
}

static int spmv(struct world *w, unsigned int who)
{
	return annex_ndp_spmv(&w->k[who], &w->csr, w->csr.value + (2u << 20), (float *)w->out);
}

static void web(struct world *w)
{
	numbers(w);
	graph(w, 299067, 1955352);
}

static int pagerank(struct world *w, unsigned int who)
{
	/* Degrees and ranks are arbitrary. */
	return annex_ndp_pagerank(&w->k[who], &w->csr, w->csr.column, 0.85f,
				  w->csr.value + (2u << 20), (float *)w->out);
}

#define EDGES 733846u
#define VERTICES 264346u

/*
 * Edges lead from one half of the vertices to the other, near by as roads do: so a round gives the
 * same whatever the order, and a second one nothing new.
 */
static void roads(struct world *w)
{
	uint32_t *from = (uint32_t *)w->in, *to = (uint32_t *)SECOND, *weight = to + EDGES;
	uint32_t half = VERTICES / 2;

	for (uint32_t i = 0; i < EDGES; i++) {
		from[i] = (uint32_t)((uint64_t)i * half / EDGES);
		to[i] = half + (uint32_t)((from[i] + random_next(&w->random) % 2000) % half);
		weight[i] = 1 + (uint32_t)(random_next(&w->random) % 1000);
	}
	w->edges = (struct annex_ndp_edges){EDGES, from, to, weight};
}

static int sssp(struct world *w, unsigned int who)
{
	uint32_t *distance = (uint32_t *)w->out;
	uint64_t state = 3;
	bool changed = true;
	int err = 0;

	for (uint32_t i = 0; i < VERTICES; i++)
		distance[i] = i < VERTICES / 2 ? (uint32_t)(random_next(&state) % 100000)
					       : ANNEX_NDP_FAR;
	while (!err && changed)
		err = annex_ndp_sssp_relax(&w->k[who], &w->edges, distance, &changed);
	return err;
}

#define DIM 256u
#define BATCH 256u
#define LOOKUPS 80u

static void embeddings(struct world *w)
{
	uint32_t *first, *index;

	numbers(w);
	first = (uint32_t *)(w->in + (88u << 20));
	index = first + BATCH + 1;
	for (uint32_t i = 0; i <= BATCH; i++)
		first[i] = i * LOOKUPS;
	for (uint32_t i = 0; i < BATCH * LOOKUPS; i++)
		index[i] = (uint32_t)(random_next(&w->random) % (80u << 10));
}

static int sls(struct world *w, unsigned int who)
{
	uint32_t *first = (uint32_t *)(w->in + (88u << 20));

	return annex_ndp_sls(&w->k[who], (float *)w->in, DIM, first + BATCH + 1, first, BATCH,
			     (float *)w->out);
}

#define SIDE 4096u

static int gemv_f32(struct world *w, unsigned int who)
{
	return annex_ndp_gemv_f32(&w->k[who], (float *)w->in, (float *)w->in + SIDE * SIDE, SIDE,
				  SIDE, (float *)w->out);
}

static int gemv_f16(struct world *w, unsigned int who)
{
	return annex_ndp_gemv_f16(&w->k[who], (uint16_t *)w->in, (uint16_t *)w->in + SIDE * SIDE,
				  SIDE, SIDE, (float *)w->out);
}

static int softmax(struct world *w, unsigned int who)
{
	return annex_ndp_softmax(&w->k[who], (float *)w->in, 2048, 1024, (float *)w->out);
}

static int layer_norm(struct world *w, unsigned int who)
{
	return annex_ndp_layer_norm(&w->k[who], (float *)w->in, 2048, 1024, (float *)SECOND,
				    (float *)SECOND + 1024, 1e-5f, (float *)w->out);
}

static const struct kernel_case cases[] = {
	{"vector add, int32", words, add_i32, N * 4ul, false},
	{"vector add, float", numbers, add_f32, N * 4ul, false},
	{"memset", words, fill, 64ul << 20, false},
	{"copy", words, copy, 64ul << 20, false},
	{"sum, int32", words, sum_i32, 8, false},
	{"sum, int64", words, sum_i64, 8, false},
	{"sum, float", numbers, sum_f32, 4, true},
	{"histogram, 256 bins", words, histogram, 2048, false},
	{"filter, int32", words, filter_i32, N / 4, false},
	{"filter, decimal", words, filter_decimal, N / 8, false},
	{"filter, prefix", strings, filter_prefix, 256ul << 10, false},
	{"bitmap and", words, bitmap_and, N * 4ul, false},
	{"bitmap or", words, bitmap_or, N * 4ul, false},
	{"GET", table, get, REQUESTS *(size_t)ANNEX_NDP_VALUE, false},
	{"SET", table, set, 8, false},
	{"SpMV", matrix, spmv, 28924 * 4, true},
	{"PageRank step", web, pagerank, 299067 * 4, true},
	{"shortest paths", roads, sssp, VERTICES * 4ul, false},
	{"sparse length sum", embeddings, sls, (size_t)BATCH *DIM * 4, false},
	{"GEMV, float", numbers, gemv_f32, SIDE * 4, true},
	{"GEMV, half", halves, gemv_f16, SIDE * 4, true},
	{"softmax", numbers, softmax, 2048ul * 1024 * 4, true},
	{"layer norm", numbers, layer_norm, 2048ul * 1024 * 4, true},
};

static bool alike(const struct kernel_case *c, const char *a, const char *b)
{
	const float *x = (const float *)a, *y = (const float *)b;

	if (!c->floats)
		return !memcmp(a, b, c->bytes);
	for (size_t i = 0; i < c->bytes / 4; i++)
		if (!(fabsf(x[i] - y[i]) <= 1e-3f * (1 + fabsf(x[i]))))
			return false;
	return true;
}

/* Milliseconds, after which the results are in @out. */
static double milliseconds(struct world *w, const struct kernel_case *c, unsigned int who)
{
	w->meter[who].seconds = 0;
	if (c->run(w, who))
		bench_fail("%s, by %s: %s", c->name, who ? "qemu-riscv64" : "the device",
			   annex_last_error());
	return w->meter[who].seconds * 1e3;
}

static double compare(struct world *w, const struct kernel_case *c)
{
	double qemu[BENCH_ROUNDS], device[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
	char *kept = malloc(c->bytes);
	char name[96];

	if (!kept)
		bench_fail("out of memory");
	w->random = 1;
	c->prepare(w);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		qemu[r] = milliseconds(w, c, 1);
		memcpy(kept, w->out, c->bytes);
		memset(w->out, 0x77, c->bytes);
		device[r] = milliseconds(w, c, 0);
		if (!alike(c, kept, w->out))
			bench_fail("%s: the device and qemu-riscv64 differ", c->name);
	}
	free(kept);
	bench_ratios(ratios, qemu, device, bench_rounds);
	snprintf(name, sizeof(name), "%s: qemu-riscv64's %.1f ms / the core's %.1f ms", c->name,
		 bench_median(qemu, bench_rounds), bench_median(device, bench_rounds));
	bench_series(name, ratios, bench_rounds, "x", 1, 0);
	return log(bench_median(ratios, bench_rounds));
}

/*
 * One core for both: threads of the device, and qemu, inherit it. The thread that looks for calls
 * runs micro-threads as well.
 */
static void stay_on_one_core(cpu_set_t *before)
{
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(*before), before))
		bench_fail("processors: %s", strerror(errno));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, before) && !CPU_COUNT(&one))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		bench_fail("processors: %s", strerror(errno));
}

static void open_world(struct world *w, char *programs)
{
	const struct annex_ndp_opts opts = {.threads = 1};
	struct annex_hdm_info info;
	char path[64];
	int fd;

	ndp_bench_open(RANGE, &opts, NULL, &w->b);
	if (annex_kernels_open(w->b.m2, w->b.hdm, &w->device))
		bench_fail("%s", annex_last_error());
	annex_hdm_get_info(w->b.hdm, &info);
	/* Once more, since the range's own does not get into children. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->b.hdm->m->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		bench_fail("%s: %s", path, strerror(errno));
	w->qemu = (struct ndp_qemu){.dir = programs,
				    .fd = fd,
				    .at = info.base,
				    .bytes = info.bytes,
				    .piece = w->device->piece,
				    .vlen = 256};
	w->meter[0] = (struct meter){.way = w->device->way};
	w->meter[1] = (struct meter){.way = {ndp_qemu_run, &w->qemu}, .qemu = &w->qemu};
	for (unsigned int i = 0; i < 2; i++)
		kernels_init(&w->k[i], w->b.hdm, &(struct k_way){measured, &w->meter[i]},
			     w->device->piece, w->device->threads);
	w->in = some(w, 96u << 20);
	w->out = some(w, 64u << 20);
}

void ndp_kernels(const struct bench_ctx *ctx)
{
	const unsigned int n = sizeof(cases) / sizeof(cases[0]);
	char programs[4200];
	struct world w = {0};
	cpu_set_t before;
	double sum = 0;

	snprintf(programs, sizeof(programs), "%s/../../ndp", ctx->dir);
	stay_on_one_core(&before);
	open_world(&w, programs);
	for (unsigned int i = 0; i < n; i++)
		sum += compare(&w, &cases[i]);
	bench_figure("kernels on the core against qemu-riscv64, geometric mean", exp(sum / n), "x",
		     3, 0);
	for (unsigned int i = 0; i < 2; i++)
		annex_ndp_kv_close(w.kv[i]);
	free(w.keys);
	free(w.values);
	free(w.found);
	close(w.qemu.fd);
	annex_kernels_close(w.device);
	ndp_bench_close(&w.b);
	sched_setaffinity(0, sizeof(before), &before);
}

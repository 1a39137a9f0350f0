// SPDX-License-Identifier: MIT
/*
 * A column filtered near data, by two host threads, against the rate at which two threads of this
 * machine read memory.
 */
#include <pthread.h>
#include <string.h>
#include <annex/kernels.h>
#include <annex/models/ndp.h>
#include "tests/unit/random.h"
#include "ndp.h"

#define ROWS (BENCH_SIZE(64u, 1u) << 20)
#define THREADS 2
#define LO (-500000000)
#define HI 700000000

typedef uint64_t row __attribute__((vector_size(64)));

struct part {
	const row *from;
	size_t n;
	row sum;
};

static void *read_part(void *arg)
{
	struct part *p = arg;
	row sum[4] = {{0}};

	for (size_t i = 0; i + 4 <= p->n; i += 4)
		for (unsigned int k = 0; k < 4; k++)
			sum[k] += p->from[i + k];
	p->sum = sum[0] + sum[1] + sum[2] + sum[3];
	return NULL;
}

/* GB/s of plain reads, summed up so that they are made. */
static double read_rate(const int32_t *column)
{
	size_t n = ROWS * sizeof(*column) / sizeof(row) / THREADS;
	struct part parts[THREADS];
	pthread_t threads[THREADS];
	double start = bench_seconds();
	uint64_t sum = 0;

	for (unsigned int i = 0; i < THREADS; i++) {
		parts[i] = (struct part){.from = (const row *)column + i * n, .n = n};
		if (pthread_create(&threads[i], NULL, read_part, &parts[i]))
			bench_fail("no thread");
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += parts[i].sum[0];
	}
	if (!sum)
		bench_fail("the sum of random words is 0");
	return ROWS * sizeof(*column) / (bench_seconds() - start) / 1e9;
}

static void verify(const int32_t *column, const uint8_t *bitmap)
{
	for (size_t i = 0; i < ROWS; i++)
		if ((bitmap[i / 8] >> i % 8 & 1) != (column[i] >= LO && column[i] <= HI))
			bench_fail("wrong bit for row %zu", i);
}

void ndp_filter(const struct bench_ctx *ctx)
{
	const struct annex_ndp_opts opts = {.threads = THREADS};
	double filter[BENCH_ROUNDS], reads[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
	struct annex_kernels *kernels;
	struct ndp_bench b;
	uint64_t state = 1;
	uint8_t *bitmap;
	int32_t *column;

	(void)ctx;
	ndp_bench_open(512u << 20, &opts, NULL, &b);
	column = ndp_bench_alloc(&b, ROWS * sizeof(*column));
	bitmap = ndp_bench_alloc(&b, ROWS / 8);
	for (size_t i = 0; i < ROWS; i++)
		column[i] = (int32_t)random_next(&state);
	if (annex_kernels_open(b.m2, b.hdm, &kernels))
		bench_fail("%s", annex_last_error());
	for (unsigned int r = 0; r < bench_rounds; r++) {
		double start = bench_seconds();

		if (annex_ndp_filter_i32(kernels, column, ROWS, LO, HI, bitmap))
			bench_fail("%s", annex_last_error());
		filter[r] = ROWS * sizeof(*column) / (bench_seconds() - start) / 1e9;
		verify(column, bitmap);
		memset(bitmap, 0, ROWS / 8);
		reads[r] = read_rate(column);
	}
	bench_ratios(ratios, filter, reads, bench_rounds);
	bench_series("int32 filter near data, 2 host threads, verified", filter, bench_rounds,
		     "GB/s", 0, 0);
	bench_series("plain reads, 2 threads", reads, bench_rounds, "GB/s", 0, 0);
	bench_series("filter / plain reads", ratios, bench_rounds, "x", 0.4, 0);
	annex_kernels_close(kernels);
	ndp_bench_close(&b);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels on dense matrices, stored by rows.
 */
#include "gpu.h"

#include <math.h>
#include <stdlib.h>

/*
 * gemm - C = A * B in doubles; B has 8 MiB. Sampled: a band of two rows of A and C, over all of B.
 * B is streamed row by row. A GPU thread has every GEMM_THREADS-th column, with its sums in
 * registers. The input has 24 bits a number, so that products are exact.
 */
#define GEMM_COLUMNS 512u
#define GEMM_THREADS 64u
#define GEMM_EACH (GEMM_COLUMNS / GEMM_THREADS)

struct gemm_plan {
	uint64_t depth; /* columns of A, rows of B */
	uint64_t a;
	uint64_t b;
	uint64_t c;
};

static void gemm_plan(void *plan, double scale, uint64_t *end)
{
	struct gemm_plan *p = plan;

	p->depth = gpu_scaled(scale, GPU_BYTES / 8 / GEMM_COLUMNS, 2);
	p->a = gpu_array(end, 2 * p->depth * 8);
	p->b = gpu_array(end, p->depth * GEMM_COLUMNS * 8);
	p->c = gpu_array(end, 2 * GEMM_COLUMNS * 8);
}

static void gemm_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct gemm_plan *p = plan;

	gpu_fill_double(data, p->a, 2 * p->depth, seed);
	gpu_fill_double(data, p->b, p->depth * GEMM_COLUMNS, seed);
}

static void gemm_thread(const struct gemm_plan *p, struct lane *l, uint64_t thread)
{
	double sum[2][GEMM_EACH] = {{0}};

	for (uint64_t k = 0; k < p->depth; k++) {
		double a0 = gpu_load_double(l, p->a + k * 8);
		double a1 = gpu_load_double(l, p->a + (p->depth + k) * 8);

		for (unsigned int i = 0; i < GEMM_EACH; i++) {
			uint64_t j = k * GEMM_COLUMNS + i * GEMM_THREADS + thread;
			double b = gpu_load_double(l, p->b + j * 8);

			lane_ops(l, 2);
			sum[0][i] += a0 * b;
			sum[1][i] += a1 * b;
		}
	}
	for (unsigned int i = 0; i < 2 * GEMM_EACH; i++) {
		uint64_t j = i / GEMM_EACH * GEMM_COLUMNS + i % GEMM_EACH * GEMM_THREADS + thread;

		gpu_store_double(l, p->c + j * 8, sum[i / GEMM_EACH][i % GEMM_EACH]);
	}
}

static void gemm_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct gpu_part part = gpu_part(GEMM_THREADS, id, lanes);

	for (uint64_t thread = part.begin; thread < part.end; thread += part.step)
		gemm_thread(plan, l, thread);
}

static bool gemm_check(const void *plan, const char *first, const char *data)
{
	const struct gemm_plan *p = plan;
	const double *a = (const double *)(first + p->a);
	const double *b = (const double *)(first + p->b);

	for (uint64_t i = 0; i < 2 * GEMM_COLUMNS; i++) {
		uint64_t row = i / GEMM_COLUMNS, column = i % GEMM_COLUMNS;
		double sum = 0;

		for (uint64_t k = 0; k < p->depth; k++)
			sum += a[row * p->depth + k] * b[k * GEMM_COLUMNS + column];
		if (!gpu_same_double(sum, data + p->c + i * 8))
			return false;
	}
	return true;
}

/*
 * gauss - Gaussian elimination of a matrix of floats with 8 MiB, in place. Of two rows, the one
 * with the larger first element is the pivot: it becomes the previous row, and the eliminated
 * other row becomes the current row. Pairs are visited from the last row up, as usual for
 * neighbour pivoting. Sampled: GAUSS_ROUNDS rounds of the first column; a round halves the
 * remaining rows.
 */
#define GAUSS_COLUMNS 1024u
#define GAUSS_ROW (GAUSS_COLUMNS * 4)
#define GAUSS_ROUNDS 2u

struct gauss_plan {
	uint64_t rows;
	uint64_t matrix;
	uint64_t factor; /* of each pair of rows */
	uint64_t pick;   /* of each pair of rows: 1: the current row is the pivot */
};

static void gauss_plan(void *plan, double scale, uint64_t *end)
{
	struct gauss_plan *p = plan;

	p->rows = gpu_scaled(scale, GPU_BYTES / GAUSS_ROW / 4, 1) * 4;
	p->matrix = gpu_array(end, p->rows * GAUSS_ROW);
	p->factor = gpu_array(end, p->rows / 2 * 4);
	p->pick = gpu_array(end, p->rows / 2 * 4);
}

static void gauss_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct gauss_plan *p = plan;

	gpu_fill(data, p->matrix, p->rows * GAUSS_COLUMNS, seed);
}

/* gauss_choose() - Compute the factors of all pairs of rows that are @apart. */
static void gauss_choose(const struct gauss_plan *p, struct lane *l, unsigned int id,
			 unsigned int lanes, uint64_t apart)
{
	const struct gpu_part part = gpu_part(p->rows / apart / 2, id, lanes);

	for (uint64_t pair = part.begin; pair < part.end; pair += part.step) {
		uint64_t at = p->matrix + pair * 2 * apart * GAUSS_ROW;
		float previous = lane_loadf(l, at);
		float current = lane_loadf(l, at + apart * GAUSS_ROW);
		uint32_t pick = fabsf(current) > fabsf(previous);
		float pivot = pick ? current : previous;
		float other = pick ? previous : current;

		lane_ops(l, 3);
		lane_storef(l, p->factor + pair * 4, pivot != 0 ? other / pivot : 0);
		lane_store32(l, p->pick + pair * 4, pick);
	}
}

static void gauss_pair(const struct gauss_plan *p, struct lane *l, unsigned int id,
		       unsigned int lanes, uint64_t pair, uint64_t apart)
{
	float factor = lane_loadf(l, p->factor + pair * 4);
	uint32_t pick = lane_load32(l, p->pick + pair * 4);
	uint64_t previous = p->matrix + pair * 2 * apart * GAUSS_ROW;
	uint64_t current = previous + apart * GAUSS_ROW;

	const struct gpu_part part = gpu_part(GAUSS_ROW / 8, id, lanes);

	for (uint64_t at = part.begin * 8; at < part.end * 8; at += part.step * 8) {
		struct gpu_pair pivot = gpu_load_pair(l, (pick ? current : previous) + at);
		struct gpu_pair other = gpu_load_pair(l, (pick ? previous : current) + at);

		lane_ops(l, 2);
		if (pick)
			gpu_store_pair(l, previous + at, pivot.x, pivot.y);
		gpu_store_pair(l, current + at, other.x - gpu_mul(factor, pivot.x),
			       other.y - gpu_mul(factor, pivot.y));
	}
}

static void gauss_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct gauss_plan *p = plan;

	for (unsigned int round = 0; round < GAUSS_ROUNDS; round++) {
		uint64_t apart = 1ull << round;

		if (round)
			lane_barrier(l);
		gauss_choose(p, l, id, lanes, apart);
		lane_barrier(l);
		for (uint64_t pair = p->rows / apart / 2; pair--;)
			gauss_pair(p, l, id, lanes, pair, apart);
	}
}

/* gauss_plain() - The reference result of one pair of rows. Return: the factor. */
static float gauss_plain(float *previous, float *current, uint32_t *pick)
{
	double was = previous[0], is = current[0];
	float factor = 0;

	*pick = is * is > was * was;
	for (unsigned int j = 0; *pick && j < GAUSS_COLUMNS; j++) {
		float swap = previous[j];

		previous[j] = current[j];
		current[j] = swap;
	}
	if (previous[0] < 0 || previous[0] > 0)
		factor = current[0] / previous[0];
	for (unsigned int j = 0; j < GAUSS_COLUMNS; j++)
		current[j] -= gpu_mul(factor, previous[j]);
	return factor;
}

static bool gauss_check(const void *plan, const char *first, const char *data)
{
	const struct gauss_plan *p = plan;
	uint64_t end = p->pick + p->rows / 2 * 4;
	char *copy = malloc(end);
	bool same;

	if (!copy)
		return false;
	memcpy(copy + p->matrix, first + p->matrix, end - p->matrix);
	for (uint64_t apart = 1; apart < 1u << GAUSS_ROUNDS; apart *= 2) {
		for (uint64_t pair = 0; pair < p->rows / apart / 2; pair++) {
			float *row = (float *)(copy + p->matrix) + pair * 2 * apart * GAUSS_COLUMNS;

			((float *)(copy + p->factor))[pair] =
				gauss_plain(row, row + apart * GAUSS_COLUMNS,
					    (uint32_t *)(copy + p->pick) + pair);
		}
	}
	same = !memcmp(copy + p->matrix, data + p->matrix, end - p->matrix);
	free(copy);
	return same;
}

GPU_KERNEL(gemm);
GPU_KERNEL(gauss);

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels on whole vectors of floats.
 */
#include "gpu.h"

#include <stdlib.h>

/*
 * rsum - The sum of a vector of 8 MiB. Each thread of a core sums up every GPU_THREADS-th element
 * of a block; a tree adds these sums.
 */
#define SUM_BLOCK 16384u

struct rsum_plan {
	uint64_t n;
	uint64_t sums;
	uint64_t in;
	uint64_t sum;
};

static void rsum_plan(void *plan, double scale, uint64_t *end)
{
	struct rsum_plan *p = plan;

	p->n = gpu_scaled(scale, GPU_BYTES / 4, 16);
	p->sums = (p->n + SUM_BLOCK - 1) / SUM_BLOCK * GPU_THREADS;
	p->in = gpu_array(end, p->n * 4);
	p->sum = gpu_array(end, p->sums * 4);
}

static void rsum_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct rsum_plan *p = plan;

	gpu_fill(data, p->in, p->n, seed);
}

static void rsum_tree(const struct rsum_plan *p, struct lane *l, unsigned int id,
		      unsigned int lanes)
{
	for (uint64_t count = p->sums; count > 1; count -= count / 2) {
		uint64_t half = count - count / 2;
		struct gpu_part part = gpu_part(count / 2, id, lanes);

		lane_barrier(l);
		for (uint64_t i = part.begin; i < part.end; i += part.step) {
			float a = lane_loadf(l, p->sum + i * 4);
			float b = lane_loadf(l, p->sum + (i + half) * 4);

			lane_ops(l, 1);
			lane_storef(l, p->sum + i * 4, a + b);
		}
	}
}

static void rsum_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct rsum_plan *p = plan;
	const struct gpu_part part = gpu_part(p->sums, id, lanes);

	for (uint64_t s = part.begin; s < part.end; s += part.step) {
		uint64_t begin = s / GPU_THREADS * SUM_BLOCK;
		uint64_t end = begin + SUM_BLOCK < p->n ? begin + SUM_BLOCK : p->n;
		float sum = 0;

		for (uint64_t i = begin + s % GPU_THREADS; i < end; i += GPU_THREADS) {
			sum += lane_loadf(l, p->in + i * 4);
			lane_ops(l, 1);
		}
		lane_storef(l, p->sum + s * 4, sum);
	}
	rsum_tree(p, l, id, lanes);
}

static bool rsum_check(const void *plan, const char *first, const char *data)
{
	const struct rsum_plan *p = plan;
	const float *in = (const float *)(first + p->in);
	float *sum = calloc(p->sums, sizeof(*sum));
	uint64_t count = p->sums;
	bool same;

	if (!sum)
		return false;
	for (uint64_t i = 0; i < p->n; i++)
		sum[i / SUM_BLOCK * GPU_THREADS + i % GPU_THREADS] += in[i];
	while (count > 1) {
		uint64_t half = (count + 1) / 2;

		for (uint64_t i = half; i < count; i++)
			sum[i - half] += sum[i];
		count = half;
	}
	same = !memcmp(sum, data + p->sum, p->sums * sizeof(*sum));
	free(sum);
	return same;
}

/* vadd - c = a + b, 8 MiB together. */
struct vadd_plan {
	uint64_t n;
	uint64_t a;
	uint64_t b;
	uint64_t c;
};

static void vadd_plan(void *plan, double scale, uint64_t *end)
{
	struct vadd_plan *p = plan;

	p->n = gpu_scaled(scale, GPU_BYTES / 12, 16);
	p->a = gpu_array(end, p->n * 4);
	p->b = gpu_array(end, p->n * 4);
	p->c = gpu_array(end, p->n * 4);
}

static void vadd_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct vadd_plan *p = plan;

	gpu_fill(data, p->a, p->n, seed);
	gpu_fill(data, p->b, p->n, seed);
}

static void vadd_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct vadd_plan *p = plan;
	const struct gpu_part part = gpu_part(p->n, id, lanes);

	for (uint64_t i = part.begin; i < part.end; i += part.step) {
		float a = lane_loadf(l, p->a + i * 4);
		float b = lane_loadf(l, p->b + i * 4);

		lane_ops(l, 1);
		lane_storef(l, p->c + i * 4, a + b);
	}
}

static bool vadd_check(const void *plan, const char *first, const char *data)
{
	const struct vadd_plan *p = plan;
	const float *a = (const float *)(first + p->a);
	const float *b = (const float *)(first + p->b);

	for (uint64_t i = 0; i < p->n; i++) {
		float c = a[i] + b[i];

		if (!gpu_same(c, data + p->c + i * 4))
			return false;
	}
	return true;
}

/* saxpy - y = a * x + y, 7.5 MiB together. */
struct saxpy_plan {
	uint64_t n;
	uint64_t a;
	uint64_t x;
	uint64_t y;
};

static void saxpy_plan(void *plan, double scale, uint64_t *end)
{
	struct saxpy_plan *p = plan;

	p->n = gpu_scaled(scale, 960 << 10, 16);
	p->a = gpu_array(end, 4);
	p->x = gpu_array(end, p->n * 4);
	p->y = gpu_array(end, p->n * 4);
}

static void saxpy_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct saxpy_plan *p = plan;

	gpu_fill(data, p->a, 1, seed);
	gpu_fill(data, p->x, p->n, seed);
	gpu_fill(data, p->y, p->n, seed);
}

static void saxpy_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct saxpy_plan *p = plan;
	const struct gpu_part part = gpu_part(p->n, id, lanes);
	float a = lane_loadf(l, p->a);

	for (uint64_t i = part.begin; i < part.end; i += part.step) {
		float x = lane_loadf(l, p->x + i * 4);
		float y = lane_loadf(l, p->y + i * 4);

		lane_ops(l, 1);
		lane_storef(l, p->y + i * 4, gpu_mul(a, x) + y);
	}
}

static bool saxpy_check(const void *plan, const char *first, const char *data)
{
	const struct saxpy_plan *p = plan;
	float a = *(const float *)(first + p->a);
	const float *x = (const float *)(first + p->x);
	const float *y = (const float *)(first + p->y);

	for (uint64_t i = 0; i < p->n; i++) {
		float sum = y[i] + gpu_mul(x[i], a);

		if (!gpu_same(sum, data + p->y + i * 4))
			return false;
	}
	return true;
}

GPU_KERNEL(rsum);
GPU_KERNEL(vadd);
GPU_KERNEL(saxpy);

// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>
#include "each.h"
#include "kernels.h"

#define LITTLE 1e-5f /* added to the variance */
#define LANES 16u    /* sums that go on side by side, as vectors */

/* In one order, by lanes. */
static float sum_lanes(const float *sum)
{
	float all = 0;

	for (uint32_t i = 0; i < LANES; i++)
		all += sum[i];
	return all;
}

static float mean_of(const float *row, uint32_t width)
{
	float sum[LANES] = {0};
	uint32_t c = 0;

	for (; c + LANES <= width; c += LANES)
		for (uint32_t i = 0; i < LANES; i++)
			sum[i] += row[c + i];
	for (; c < width; c++)
		sum[0] += row[c];
	return sum_lanes(sum) / (float)width;
}

/* One by the deviation. */
static float scale_of(const float *row, uint32_t width, float mean)
{
	float sum[LANES] = {0};
	uint32_t c = 0;

	for (; c + LANES <= width; c += LANES)
		for (uint32_t i = 0; i < LANES; i++)
			sum[i] += (row[c + i] - mean) * (row[c + i] - mean);
	for (; c < width; c++)
		sum[0] += (row[c] - mean) * (row[c] - mean);
	return 1 / sqrtf(sum_lanes(sum) / (float)width + LITTLE);
}

static void forward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct norm *n = ctx;
	uint32_t rows = each_size(n->rows, KERNEL_ROWS, i);

	(void)worker;
	for (uint32_t r = 0; r < rows; r++) {
		size_t at = ((size_t)i * KERNEL_ROWS + r) * n->width;
		const float *in = n->in + at;
		float mean = mean_of(in, n->width), scale = scale_of(in, n->width, mean);

		for (uint32_t c = 0; c < n->width; c++)
			n->out[at + c] = (in[c] - mean) * scale * n->gain[c] + n->bias[c];
	}
}

void kernel_norm(const struct kernels *k, const struct norm *n)
{
	each_run(k->pool, each_parts(n->rows, KERNEL_ROWS), forward, (void *)n);
}

struct back {
	const struct norm *n;
	float *sums; /* of gain and bias, for each part */
};

/* Sums by which the row's mean and deviation correct its gradient: of it, and of it times the
 * row. */
static void row_sums(const struct norm *n, size_t at, float mean, float scale, float *sum)
{
	float one[LANES] = {0}, row[LANES] = {0};
	const float *in = n->in + at, *d = n->d_out + at;
	uint32_t c = 0;

	for (; c + LANES <= n->width; c += LANES) {
		for (uint32_t i = 0; i < LANES; i++) {
			float g = d[c + i] * n->gain[c + i];

			one[i] += g;
			row[i] += g * (in[c + i] - mean) * scale;
		}
	}
	for (; c < n->width; c++) {
		one[0] += d[c] * n->gain[c];
		row[0] += d[c] * n->gain[c] * (in[c] - mean) * scale;
	}
	sum[0] = sum_lanes(one) / (float)n->width;
	sum[1] = sum_lanes(row) / (float)n->width;
}

static void back_row(const struct norm *n, size_t at, float *restrict gain, float *restrict bias)
{
	const float *restrict in = n->in + at, *restrict d = n->d_out + at;
	float mean = mean_of(in, n->width), scale = scale_of(in, n->width, mean), sum[2];
	float *restrict d_in = n->d_in + at;

	row_sums(n, at, mean, scale, sum);
	for (uint32_t c = 0; c < n->width; c++) {
		float unit = (in[c] - mean) * scale;

		gain[c] += d[c] * unit;
		bias[c] += d[c];
		d_in[c] += scale * (d[c] * n->gain[c] - sum[0] - unit * sum[1]);
	}
}

static void backward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct back *b = ctx;
	const struct norm *n = b->n;
	float *sums = b->sums + (size_t)i * 2 * n->width;
	uint32_t rows = each_size(n->rows, KERNEL_ROWS, i);

	(void)worker;
	memset(sums, 0, 2 * n->width * sizeof(*sums));
	for (uint32_t r = 0; r < rows; r++)
		back_row(n, ((size_t)i * KERNEL_ROWS + r) * n->width, sums, sums + n->width);
}

void kernel_norm_back(const struct kernels *k, const struct norm *n)
{
	struct back b = {n, k->scratch};
	uint32_t parts = each_parts(n->rows, KERNEL_ROWS);

	each_run(k->pool, parts, backward, &b);
	memset(n->d_gain, 0, n->width * sizeof(*n->d_gain));
	memset(n->d_bias, 0, n->width * sizeof(*n->d_bias));
	for (uint32_t i = 0; i < parts; i++) {
		const float *sums = k->scratch + (size_t)i * 2 * n->width;

		for (uint32_t c = 0; c < n->width; c++) {
			n->d_gain[c] += sums[c];
			n->d_bias[c] += sums[n->width + c];
		}
	}
}

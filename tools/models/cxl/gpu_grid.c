// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels on grids: one sweep over a grid of 8 MiB with its result. A work item is the points of a
 * line of 64 bytes; registers keep the points to the left.
 */
#include "gpu.h"

#define ITEM 8u /* doubles, or pairs of floats */

/*
 * stencil - One step of heat conduction on a grid of doubles. Points at the border stay zero.
 * All factors are powers of two, so that products are exact.
 */
#define STENCIL_COLUMNS 512u
#define STENCIL_ROW (STENCIL_COLUMNS * 8)

struct stencil_plan {
	uint64_t rows;
	uint64_t in;
	uint64_t out;
};

static void stencil_plan(void *plan, double scale, uint64_t *end)
{
	struct stencil_plan *p = plan;

	p->rows = gpu_scaled(scale, GPU_BYTES / 2 / STENCIL_ROW, 4);
	p->in = gpu_array(end, p->rows * STENCIL_ROW);
	p->out = gpu_array(end, p->rows * STENCIL_ROW);
}

static void stencil_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct stencil_plan *p = plan;

	gpu_fill_double(data, p->in, p->rows * STENCIL_COLUMNS, seed);
}

/* stencil_row() - Compute points of one row, from @at on. */
static void stencil_row(const struct stencil_plan *p, struct lane *l, uint64_t at, uint64_t points)
{
	double left = gpu_load_double(l, at - 8);
	double here = gpu_load_double(l, at);

	for (; points; points--, at += 8) {
		double above = gpu_load_double(l, at - STENCIL_ROW);
		double below = gpu_load_double(l, at + STENCIL_ROW);
		double right = gpu_load_double(l, at + 8);
		double sum = above + below + left + right;

		lane_ops(l, 5);
		gpu_store_double(l, at - p->in + p->out, here * 0.5 + sum * 0.125);
		left = here;
		here = right;
	}
}

static void stencil_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct stencil_plan *p = plan;
	const uint64_t items = STENCIL_COLUMNS / ITEM;
	const struct gpu_part part = gpu_part((p->rows - 2) * items, id, lanes);

	for (uint64_t i = part.begin; i < part.end; i += part.step) {
		uint64_t row = i / items + 1, column = i % items * ITEM;
		uint64_t end = column + ITEM < STENCIL_COLUMNS ? column + ITEM : column + ITEM - 1;

		column += !column;
		stencil_row(p, l, p->in + row * STENCIL_ROW + column * 8, end - column);
	}
}

static bool stencil_check(const void *plan, const char *first, const char *data)
{
	const struct stencil_plan *p = plan;
	const double *in = (const double *)(first + p->in);
	const uint64_t w = STENCIL_COLUMNS;

	for (uint64_t i = 0; i < p->rows * w; i++) {
		double out = 0;

		if (i >= w && i < (p->rows - 1) * w && i % w && i % w != w - 1)
			out = in[i] / 2 + (in[i - w] + in[i + w] + in[i - 1] + in[i + 1]) / 8;
		if (!gpu_same_double(out, data + p->out + i * 8))
			return false;
	}
	return true;
}

/*
 * conv3 - Convolution of an image of floats, padded with zeros, with 3 x 3 weights. A GPU thread
 * computes two neighbouring points.
 */
#define CONV3_COLUMNS 1024u
#define CONV3_ROW (CONV3_COLUMNS * 4)

struct conv3_plan {
	uint64_t rows;
	uint64_t weights;
	uint64_t in;
	uint64_t out;
};

static void conv3_plan(void *plan, double scale, uint64_t *end)
{
	struct conv3_plan *p = plan;

	p->rows = gpu_scaled(scale, GPU_BYTES / 2 / CONV3_ROW, 4);
	p->weights = gpu_array(end, 9 * 4);
	p->in = gpu_array(end, p->rows * CONV3_ROW);
	p->out = gpu_array(end, p->rows * CONV3_ROW);
}

static void conv3_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct conv3_plan *p = plan;

	gpu_fill(data, p->weights, 9, seed);
	gpu_fill(data, p->in, p->rows * CONV3_COLUMNS, seed);
}

/* conv3_load() - Load a pair of points; outside of the image they are zero. */
static struct gpu_pair conv3_load(const struct conv3_plan *p, struct lane *l, int64_t row,
				  int64_t pair)
{
	if (row < 0 || (uint64_t)row >= p->rows || pair < 0 || pair >= CONV3_COLUMNS / 2)
		return (struct gpu_pair){0, 0};
	return gpu_load_pair(l, p->in + (uint64_t)row * CONV3_ROW + (uint64_t)pair * 8);
}

/* conv3_point() - Compute point @which of the pair in the middle of three rows of three pairs. */
static float conv3_point(struct gpu_pair rows[3][3], unsigned int which, const float *weights)
{
	float sum = 0;

	for (unsigned int i = 0; i < 9; i++) {
		const unsigned int at = 1 + which + i % 3;
		const struct gpu_pair *pair = &rows[i / 3][at / 2];

		sum += gpu_mul(at % 2 ? pair->y : pair->x, weights[i]);
	}
	return sum;
}

/* conv3_row() - Compute pairs of one row, from @pair on. */
static void conv3_row(const struct conv3_plan *p, struct lane *l, int64_t row, int64_t pair,
		      unsigned int n, const float *weights)
{
	struct gpu_pair rows[3][3];

	for (int64_t i = 0; i < 3; i++) {
		rows[i][1] = conv3_load(p, l, row + i - 1, pair - 1);
		rows[i][2] = conv3_load(p, l, row + i - 1, pair);
	}
	for (; n; n--, pair++) {
		for (int64_t i = 0; i < 3; i++) {
			rows[i][0] = rows[i][1];
			rows[i][1] = rows[i][2];
			rows[i][2] = conv3_load(p, l, row + i - 1, pair + 1);
		}
		/* nine multiply-adds, each of two floats */
		lane_ops(l, 9);
		gpu_store_pair(l, p->out + (uint64_t)row * CONV3_ROW + (uint64_t)pair * 8,
			       conv3_point(rows, 0, weights), conv3_point(rows, 1, weights));
	}
}

static void conv3_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct conv3_plan *p = plan;
	const uint64_t items = CONV3_COLUMNS / 2 / ITEM;
	const struct gpu_part part = gpu_part(p->rows * items, id, lanes);
	float weights[9];

	for (unsigned int i = 0; i < 9; i++)
		weights[i] = lane_loadf(l, p->weights + i * 4);
	for (uint64_t i = part.begin; i < part.end; i += part.step)
		conv3_row(p, l, (int64_t)(i / items), (int64_t)(i % items * ITEM), ITEM, weights);
}

/* conv3_plain() - The reference result at @row and @column. */
static float conv3_plain(const float *in, const float *weights, int64_t rows, int64_t row,
			 int64_t column)
{
	float sum = 0;

	for (int64_t y = -1; y <= 1; y++) {
		for (int64_t x = -1; x <= 1; x++) {
			float point = 0;

			if (row + y >= 0 && row + y < rows && column + x >= 0 &&
			    column + x < CONV3_COLUMNS)
				point = in[(row + y) * CONV3_COLUMNS + column + x];
			sum += gpu_mul(point, *weights++);
		}
	}
	return sum;
}

static bool conv3_check(const void *plan, const char *first, const char *data)
{
	const struct conv3_plan *p = plan;
	const float *weights = (const float *)(first + p->weights);
	const float *in = (const float *)(first + p->in);

	for (uint64_t i = 0; i < p->rows * CONV3_COLUMNS; i++) {
		float out = conv3_plain(in, weights, (int64_t)p->rows, i / CONV3_COLUMNS,
					i % CONV3_COLUMNS);

		if (!gpu_same(out, data + p->out + i * 4))
			return false;
	}
	return true;
}

GPU_KERNEL(stencil);
GPU_KERNEL(conv3);

// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include "blas.h"
#include "each.h"
#include "kernels.h"

#define PART 256u  /* rows of a product */
#define STRIPE 64u /* columns of a sum */

static void forward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct linear *l = ctx;
	uint32_t first = i * PART, rows = each_size(l->rows, PART, i);
	float *out = l->out + (size_t)first * l->to;

	(void)worker;
	for (uint32_t r = 0; r < rows; r++) {
		const float *add = l->add ? l->add + (size_t)(first + r) * l->to : NULL;

		for (uint32_t c = 0; c < l->to; c++)
			out[(size_t)r * l->to + c] = add ? l->bias[c] + add[c] : l->bias[c];
	}
	blas_multiply(&(struct product){
		.rows = (int)rows,
		.columns = (int)l->to,
		.inner = (int)l->from,
		.scale = 1,
		.keep = 1,
		.a = l->in + (size_t)first * l->from,
		.da = (int)l->from,
		.b = l->w,
		.db = (int)l->to,
		.c = out,
		.dc = (int)l->to,
	});
}

void kernel_linear(const struct kernels *k, const struct linear *l)
{
	each_run(k->pool, each_parts(l->rows, PART), forward, (void *)l);
}

static void input(void *ctx, uint32_t i, unsigned int worker)
{
	const struct linear *l = ctx;
	uint32_t first = i * PART;

	(void)worker;
	blas_multiply(&(struct product){
		.turn_b = true,
		.rows = (int)each_size(l->rows, PART, i),
		.columns = (int)l->from,
		.inner = (int)l->to,
		.scale = 1,
		.a = l->d_out + (size_t)first * l->to,
		.da = (int)l->to,
		.b = l->w,
		.db = (int)l->to,
		.c = l->d_in + (size_t)first * l->from,
		.dc = (int)l->from,
	});
}

void kernel_linear_input(const struct kernels *k, const struct linear *l)
{
	each_run(k->pool, each_parts(l->rows, PART), input, (void *)l);
}

static void weight(void *ctx, uint32_t i, unsigned int worker)
{
	const struct linear *l = ctx;
	uint32_t first = i * PART;

	(void)worker;
	blas_multiply(&(struct product){
		.turn_a = true,
		.rows = (int)each_size(l->from, PART, i),
		.columns = (int)l->to,
		.inner = (int)l->rows,
		.scale = 1,
		.a = l->in + first,
		.da = (int)l->from,
		.b = l->d_out,
		.db = (int)l->to,
		.c = l->d_w + (size_t)first * l->to,
		.dc = (int)l->to,
	});
}

static void bias(void *ctx, uint32_t i, unsigned int worker)
{
	const struct linear *l = ctx;
	uint32_t columns = each_size(l->to, STRIPE, i);
	float sum[STRIPE] = {0};

	(void)worker;
	for (uint32_t r = 0; r < l->rows; r++) {
		const float *d = l->d_out + (size_t)r * l->to + (size_t)i * STRIPE;

		for (uint32_t c = 0; c < columns; c++)
			sum[c] += d[c];
	}
	memcpy(l->d_bias + (size_t)i * STRIPE, sum, columns * sizeof(*sum));
}

void kernel_linear_weight(const struct kernels *k, const struct linear *l)
{
	each_run(k->pool, each_parts(l->from, PART), weight, (void *)l);
	each_run(k->pool, each_parts(l->to, STRIPE), bias, (void *)l);
}

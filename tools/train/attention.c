// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>
#include "blas.h"
#include "each.h"
#include "exp.h"
#include "kernels.h"

/* One head of one sequence: where its queries begin, and its part of the weights and the output. */
struct head {
	size_t qkv, weights, out;
	int context, size, stride, width;
	float scale;
};

static struct head head_of(const struct attention *a, uint32_t i)
{
	uint32_t size = a->width / a->heads, column = i % a->heads * size;
	size_t row = (size_t)(i / a->heads) * a->context;

	return (struct head){
		.qkv = row * 3 * a->width + column,
		.weights = (size_t)i * a->context * a->context,
		.out = row * a->width + column,
		.context = (int)a->context,
		.size = (int)size,
		.stride = (int)(3 * a->width),
		.width = (int)a->width,
		.scale = 1 / sqrtf((float)size),
	};
}

static float most_of(const float *row, uint32_t n)
{
	float most = row[0];

	for (uint32_t i = 1; i < n; i++)
		most = row[i] > most ? row[i] : most;
	return most;
}

/* Of products, the shares of the first @n; the rest has none. */
static void soften(float *row, uint32_t n, uint32_t all)
{
	float most = most_of(row, n), sum = 0;

	for (uint32_t i = 0; i < n; i++)
		row[i] = exp_of(row[i] - most);
	for (uint32_t i = 0; i < n; i++)
		sum += row[i];
	for (uint32_t i = 0; i < n; i++)
		row[i] /= sum;
	memset(row + n, 0, (all - n) * sizeof(*row));
}

static void forward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct attention *a = ctx;
	struct head h = head_of(a, i);
	const float *qkv = a->qkv + h.qkv;
	float *weights = a->weights + h.weights;

	(void)worker;
	blas_multiply(&(struct product){
		.turn_b = true,
		.rows = h.context,
		.columns = h.context,
		.inner = h.size,
		.scale = h.scale,
		.a = qkv,
		.da = h.stride,
		.b = qkv + a->width,
		.db = h.stride,
		.c = weights,
		.dc = h.context,
	});
	for (uint32_t r = 0; r < a->context; r++)
		soften(weights + (size_t)r * a->context, r + 1, a->context);
	blas_multiply(&(struct product){
		.rows = h.context,
		.columns = h.size,
		.inner = h.context,
		.scale = 1,
		.a = weights,
		.da = h.context,
		.b = qkv + 2 * (size_t)a->width,
		.db = h.stride,
		.c = a->out + h.out,
		.dc = h.width,
	});
}

void kernel_attention(const struct kernels *k, const struct attention *a)
{
	each_run(k->pool, a->batch * a->heads, forward, (void *)a);
}

struct back {
	const struct attention *a;
	float *scratch;
};

/* @d: of the weights; becomes that of the products before soften(). */
static void harden(const float *weights, float *d, uint32_t n)
{
	float sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += weights[i] * d[i];
	for (uint32_t i = 0; i < n; i++)
		d[i] = weights[i] * (d[i] - sum);
}

/* @square: gradients of the products. Returns those of queries or, @turned, of keys. */
static struct product to_inputs(const struct head *h, const float *square, bool turned,
				const float *other, float *d)
{
	return (struct product){
		.turn_a = turned,
		.rows = h->context,
		.columns = h->size,
		.inner = h->context,
		.scale = h->scale,
		.a = square,
		.da = h->context,
		.b = other,
		.db = h->stride,
		.c = d,
		.dc = h->stride,
	};
}

static void back_values(const struct attention *a, const struct head *h, float *square)
{
	const float *d_out = a->d_out + h->out;

	blas_multiply(&(struct product){
		.turn_a = true,
		.rows = h->context,
		.columns = h->size,
		.inner = h->context,
		.scale = 1,
		.a = a->weights + h->weights,
		.da = h->context,
		.b = d_out,
		.db = h->width,
		.c = a->d_qkv + h->qkv + 2 * (size_t)a->width,
		.dc = h->stride,
	});
	blas_multiply(&(struct product){
		.turn_b = true,
		.rows = h->context,
		.columns = h->context,
		.inner = h->size,
		.scale = 1,
		.a = d_out,
		.da = h->width,
		.b = a->qkv + h->qkv + 2 * (size_t)a->width,
		.db = h->stride,
		.c = square,
		.dc = h->context,
	});
}

static void backward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct back *b = ctx;
	const struct attention *a = b->a;
	struct head h = head_of(a, i);
	size_t context = a->context;
	float *square = b->scratch + worker * context * context;
	const float *qkv = a->qkv + h.qkv;
	struct product p;

	back_values(a, &h, square);
	/* Tokens without attention have weight 0, and so no gradient. */
	for (size_t r = 0; r < context; r++)
		harden(a->weights + h.weights + r * context, square + r * context, a->context);
	p = to_inputs(&h, square, false, qkv + a->width, a->d_qkv + h.qkv);
	blas_multiply(&p);
	p = to_inputs(&h, square, true, qkv, a->d_qkv + h.qkv + a->width);
	blas_multiply(&p);
}

void kernel_attention_back(const struct kernels *k, const struct attention *a)
{
	struct back b = {a, k->scratch};

	each_run(k->pool, a->batch * a->heads, backward, &b);
}

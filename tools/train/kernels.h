/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The computations of a transformer, forward and backward, in single precision. Matrices lie row by
 * row; a row is a token. Sums are taken in one order, whatever the threads.
 */
#ifndef TOOLS_TRAIN_KERNELS_H
#define TOOLS_TRAIN_KERNELS_H

#include <stdint.h>
#include "../pool.h"

#define KERNEL_BYTES 256u /* values that a token has */
#define KERNEL_ROWS 64u   /* of a part, where sums over rows are taken by parts */

/*
 * struct kernels - Threads that compute, and their memory.
 * @scratch: for each worker, as much as attention wants, and for each part of the rows, sums of two
 * widths.
 */
struct kernels {
	struct pool *pool;
	float *scratch;
	double *losses;
};

/*
 * kernels_open() - For that many @rows of @width columns, @context of them in a sequence. 0 or
 * -ENOMEM with the line set.
 */
int kernels_open(struct kernels *k, struct pool *pool, uint32_t rows, uint32_t width,
		 uint32_t context);
void kernels_close(struct kernels *k);

/*
 * struct linear - @out = @in @w + @bias (+ @add): @rows of @from columns, of which @to are made.
 * Backward, @d_out is the gradient of the output: @d_in, @d_w and @d_bias, that of the rest.
 */
struct linear {
	uint32_t rows, from, to;
	const float *in, *w, *bias, *add;
	float *out;
	const float *d_out;
	float *d_in, *d_w, *d_bias;
};

void kernel_linear(const struct kernels *k, const struct linear *l);
void kernel_linear_input(const struct kernels *k, const struct linear *l);
void kernel_linear_weight(const struct kernels *k, const struct linear *l);

/*
 * struct norm - Each row less its mean, by its deviation, times @gain, plus @bias. Backward, what
 * comes is added to @d_in; @d_gain and @d_bias are set.
 */
struct norm {
	uint32_t rows, width;
	const float *in, *gain, *bias;
	float *out;
	const float *d_out;
	float *d_in, *d_gain, *d_bias;
};

void kernel_norm(const struct kernels *k, const struct norm *n);
void kernel_norm_back(const struct kernels *k, const struct norm *n);

/*
 * struct attention - Each token looks at those before it in its sequence, and at itself, with
 * @heads.
 * @qkv: queries, keys and values side by side, 3 @width columns.
 * @weights: how much it looks, @context squared for each head of each of @batch sequences.
 */
struct attention {
	uint32_t batch, context, width, heads;
	const float *qkv;
	float *weights, *out;
	const float *d_out;
	float *d_qkv;
};

void kernel_attention(const struct kernels *k, const struct attention *a);
void kernel_attention_back(const struct kernels *k, const struct attention *a);

/* GELU by its tanh formula, of @n numbers; backward, @d is replaced. */
void kernel_gelu(const struct kernels *k, const float *in, float *out, uint64_t n);
void kernel_gelu_back(const struct kernels *k, const float *in, float *d, uint64_t n);

/*
 * struct embed - The rows of @bytes and of @places that belong to each token, added.
 * @tokens: of @rows. Backward, gradients of both are set.
 */
struct embed {
	uint32_t rows, context, width;
	const uint8_t *tokens;
	const float *bytes, *places;
	float *out;
	const float *d_out;
	float *d_bytes, *d_places;
};

void kernel_embed(const struct kernels *k, const struct embed *e);
void kernel_embed_back(const struct kernels *k, const struct embed *e);

/*
 * kernel_loss() - Mean cross entropy of KERNEL_BYTES columns; @logits is replaced by its gradient.
 */
double kernel_loss(const struct kernels *k, float *logits, const uint8_t *next, uint32_t rows);

/*
 * struct adamw - One step of n numbers: @rate of learning, @decay of weights.
 * @step: from 1.
 */
struct adamw {
	uint64_t n;
	float *w, *m, *v;
	const float *grad;
	float rate, decay;
	uint32_t step;
};

void kernel_adamw(const struct kernels *k, const struct adamw *a);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Layers: operations with the shapes, the arithmetic and the saved tensors that they have in
 * PyTorch. Each adds itself to the net and returns its output.
 */
#ifndef ANNEX_PLAN_GENERATE_LAYER_H
#define ANNEX_PLAN_GENERATE_LAYER_H

#include "net.h"

/**
 * annex_layer_linear() - Rows of @from elements times a matrix of its own, to rows of @to.
 * annex_layer_project() - The same with a matrix that is there already, and a bias or 0.
 */
uint32_t annex_layer_linear(struct gen_net *net, const char *name, uint32_t x, uint64_t from,
			    uint64_t to, bool bias);
uint32_t annex_layer_project(struct gen_net *net, uint32_t x, uint32_t weight, uint32_t bias,
			     uint64_t from, uint64_t to);

/**
 * annex_layer_embed() - A row of @width from the table @weight for each of @tokens.
 * annex_layer_offset() - @x plus a smaller @weight, repeated.
 * annex_layer_prepend() - @x with one row more in each of @batch, which is @weight.
 * annex_layer_select() - @elems of @x, copied.
 */
uint32_t annex_layer_embed(struct gen_net *net, uint32_t tokens, uint32_t weight, uint64_t width);
uint32_t annex_layer_offset(struct gen_net *net, uint32_t x, uint32_t weight);
uint32_t annex_layer_prepend(struct gen_net *net, uint32_t x, uint32_t weight, uint64_t batch);
uint32_t annex_layer_select(struct gen_net *net, uint32_t x, uint64_t elems);

/**
 * annex_layer_norm() - LayerNorm over rows of @width. annex_layer_rms_norm() - RMSNorm.
 */
uint32_t annex_layer_norm(struct gen_net *net, const char *name, uint32_t x, uint64_t width);
uint32_t annex_layer_rms_norm(struct gen_net *net, const char *name, uint32_t x, uint64_t width);

/**
 * annex_layer_map() - An elementwise function; @flags tell the inputs of its derivative
 * (GEN_READS_*).
 * annex_layer_dropout() - Saves a mask of one byte an element.
 * annex_layer_add(), annex_layer_mul() - Sum and product of two of one shape.
 * annex_layer_softmax() - Over rows, however long.
 */
uint32_t annex_layer_map(struct gen_net *net, const char *op, uint32_t x, uint32_t flags);
uint32_t annex_layer_dropout(struct gen_net *net, uint32_t x);
uint32_t annex_layer_add(struct gen_net *net, uint32_t a, uint32_t b);
uint32_t annex_layer_mul(struct gen_net *net, uint32_t a, uint32_t b);
uint32_t annex_layer_softmax(struct gen_net *net, uint32_t x);

/**
 * annex_layer_split() - @part[0..2], a third of @x each, without moving anything.
 */
void annex_layer_split(struct gen_net *net, uint32_t x, uint32_t part[3]);

/**
 * struct gen_heads - Attention: @heads of @width each, @kv_heads of them for keys and values.
 */
struct gen_heads {
	uint64_t batch, seq, heads, kv_heads, width;
	bool causal, dropout;
};

/**
 * annex_layer_attention() - With the matrix of scores in memory. annex_layer_flash() - Without.
 */
uint32_t annex_layer_attention(struct gen_net *net, const struct gen_heads *h,
			       const uint32_t qkv[3]);
uint32_t annex_layer_flash(struct gen_net *net, const struct gen_heads *h, const uint32_t qkv[3]);

/**
 * struct gen_image - Images in the making: the value, and its shape.
 */
struct gen_image {
	uint32_t x;
	uint64_t batch, channels, size;
};

/**
 * annex_layer_conv() - Convolution, padded so that only @stride shrinks the image; as implicit
 * GEMM, whose workspace is the input in another layout. annex_layer_batch_norm(),
 * annex_layer_relu() (in place), annex_layer_add_in_place() annex_layer_max_pool() - 3 x 3 of
 * stride 2. annex_layer_mean_pool() - Of whole channels.
 */
void annex_layer_conv(struct gen_net *net, const char *name, struct gen_image *im,
		      uint64_t channels, uint64_t kernel, uint64_t stride, bool bias);
void annex_layer_batch_norm(struct gen_net *net, const char *name, struct gen_image *im);
void annex_layer_relu(struct gen_net *net, struct gen_image *im);
void annex_layer_add_in_place(struct gen_net *net, struct gen_image *im, uint32_t other);
void annex_layer_max_pool(struct gen_net *net, struct gen_image *im);
uint32_t annex_layer_mean_pool(struct gen_net *net, struct gen_image *im);

/**
 * annex_layer_loss() - Cross entropy of rows of @classes, as one number.
 */
uint32_t annex_layer_loss(struct gen_net *net, uint32_t logits, uint64_t classes);

#endif

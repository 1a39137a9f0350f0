/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A GPT over bytes: what it consists of, and one iteration of its training.
 *
 *	x = bytes + places;
 *	of each layer: x += mix(attention(qkv(norm(x)))); x += down(gelu(up(norm(x))));
 *	logits = head(norm(x)).
 *
 * Norms and GELUs are computed once more on the way back, rather than kept. A weight is changed as
 * soon as its gradient is known, which then is no more.
 */
#ifndef TOOLS_TRAIN_MODEL_H
#define TOOLS_TRAIN_MODEL_H

#include <stdbool.h>
#include "kernels.h"
#include "memory.h"

/* struct shape - @batch sequences of @context bytes go through it at once. */
struct shape {
	uint32_t layers, width, heads, context, batch;
};

/* struct param - @n numbers that are learnt, how they change, and their moments. */
struct param {
	float *w, *grad, *m, *v;
	uint64_t n;
	float decay;
	char name[32];
};

/* All that is small in a layer: gains and biases, one after the other, at these multiples. */
enum {
	NORM1_GAIN = 0,
	NORM1_BIAS = 1,
	QKV_BIAS = 2,
	MIX_BIAS = 5,
	NORM2_GAIN = 6,
	NORM2_BIAS = 7,
	UP_BIAS = 8,
	DOWN_BIAS = 12,
	SMALL_WIDTHS = 13
};

/*
 * struct layer - Parameters of a layer, and the activations that forward leaves for backward.
 * @in: the layer's input.
 * @qkvs: queries, keys and values.
 * @weights: attention weights.
 * @seen: output of the attention.
 * @middle: input of the feed-forward part.
 * @high: its hidden activations.
 */
struct layer {
	struct param qkv, mix, up, down, small;
	float *in, *qkvs, *weights, *seen, *middle, *high;
};

/* struct model_time - Of kernels of one name: how often, how long, and how long they waited. */
struct model_time {
	const char *name;
	uint64_t calls, ns, stall_ns;
};

#define MODEL_KERNELS 24u

/*
 * struct model - The model, and the state of its training.
 * @end: gain and bias of the last norm, bias of the head.
 * @x: output of the last layer.
 * @last: its norm.
 * @d: gradient of the values between layers.
 * @step: iterations so far.
 * @times: times of kernels since they were cleared last.
 * @running: the entry of the kernel that runs.
 * @began: when it began (annex_now()).
 */
struct model {
	struct shape shape;
	struct kernels kernels;
	struct memory *memory;
	struct layer *layers;
	struct param bytes, places, end, head;
	float *x, *last, *d, *logits;
	float rate;
	uint32_t rows, step;
	uint64_t params;
	struct model_time times[MODEL_KERNELS], *running;
	uint64_t began;
};

/*
 * shape_bytes() - Room for all tensors that live at once.
 * shape_weights() - Attention weights of a layer.
 * shape_check() - Whether there can be such a model, else -EINVAL with the line set.
 */
uint64_t shape_bytes(const struct shape *s);
uint64_t shape_weights(const struct shape *s);
int shape_check(const struct shape *s);

/*
 * model_open() - Make a model whose weights depend on @seed alone, with the highest learning rate
 * @rate. 0 or -errno with the line set.
 * model_close() - Free it; its tensors end with @memory.
 */
int model_open(struct model *m, const struct shape *shape, struct memory *memory, struct pool *pool,
	       uint64_t seed, double rate);
void model_close(struct model *m);

/*
 * model_forward() - The first half of an iteration: predict what follows each of @tokens.
 * model_backward() - The second: learn. *@loss is the mean loss before it.
 */
int model_forward(struct model *m, const uint8_t *tokens);
int model_backward(struct model *m, const uint8_t *tokens, const uint8_t *next, double *loss);

/* For the two halves: a layer's attention, but for what goes in or comes out of only one of them.
 */
struct attention model_attention(const struct model *m, const struct layer *y);

/* For the two halves: what a kernel uses, until model_end(). */
#define READS(p)                                                                                   \
	{                                                                                          \
		(p), ANNEX_USE_READ                                                                \
	}
#define WRITES(p)                                                                                  \
	{                                                                                          \
		(p), ANNEX_USE_WRITE                                                               \
	}
#define CHANGES(p)                                                                                 \
	{                                                                                          \
		(p), ANNEX_USE_READ | ANNEX_USE_WRITE                                              \
	}
#define MODEL_BEGIN(m, name, ...)                                                                  \
	model_begin((m), (name), (const struct annex_exec_use[]){__VA_ARGS__},                     \
		    sizeof((const struct annex_exec_use[]){__VA_ARGS__}) /                         \
			    sizeof(struct annex_exec_use))

int model_begin(struct model *m, const char *name, const struct annex_exec_use *uses,
		unsigned int n);
int model_end(struct model *m);

/* model_tensor() - A new one of @n numbers, in layer @l. */
int model_tensor(struct model *m, uint32_t l, const char *what, uint64_t n, float **p);

/* model_norm() - Of @in, with @small's gain and bias at these multiples of the width. */
int model_norm(struct model *m, const struct param *small, unsigned int gain, unsigned int bias,
	       const float *in, float *out);

/* model_gelu() - Of what went up. */
int model_gelu(struct model *m, const float *in, float *out);

#endif

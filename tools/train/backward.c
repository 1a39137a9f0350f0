// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include "model.h"

#define WARM 5u /* iterations until the rate of learning is at its highest */

static int gradient(struct model *m, struct param *p)
{
	char name[48];

	snprintf(name, sizeof(name), "%s, gradient", p->name);
	return memory_alloc(m->memory, name, p->n, &p->grad);
}

/* Its gradient is known. */
static int learn(struct model *m, struct param *p)
{
	int err = MODEL_BEGIN(m, "learn", READS(p->grad), CHANGES(p->w), CHANGES(p->m),
			      CHANGES(p->v));

	if (err)
		return err;
	kernel_adamw(&m->kernels,
		     &(struct adamw){
			     .n = p->n,
			     .w = p->w,
			     .m = p->m,
			     .v = p->v,
			     .grad = p->grad,
			     .rate = m->rate * (m->step < WARM ? (float)m->step / WARM : 1),
			     .decay = p->decay,
			     .step = m->step,
		     });
	err = model_end(m);
	return err ? err : memory_free(m->memory, p->n, &p->grad);
}

/* @small: whose gradient has that of the bias, at that multiple of the width. */
struct step {
	struct param *w, *small;
	unsigned int bias;
	uint32_t from, to;
	const float *in, *d_out;
	float *d_in;
};

static int to_input(struct model *m, const struct step *s)
{
	int err = MODEL_BEGIN(m, "to input", READS(s->d_out), READS(s->w->w), WRITES(s->d_in));

	if (err)
		return err;
	kernel_linear_input(&m->kernels, &(struct linear){.rows = m->rows,
							  .from = s->from,
							  .to = s->to,
							  .w = s->w->w,
							  .d_out = s->d_out,
							  .d_in = s->d_in});
	return model_end(m);
}

static int to_weight(struct model *m, const struct step *s)
{
	int err = gradient(m, s->w);

	if (!err)
		err = MODEL_BEGIN(m, "to weight", READS(s->in), READS(s->d_out), WRITES(s->w->grad),
				  CHANGES(s->small->grad));
	if (err)
		return err;
	kernel_linear_weight(
		&m->kernels,
		&(struct linear){.rows = m->rows,
				 .from = s->from,
				 .to = s->to,
				 .in = s->in,
				 .d_out = s->d_out,
				 .d_w = s->w->grad,
				 .d_bias = s->small->grad + (size_t)s->bias * m->shape.width});
	return model_end(m);
}

/* Add the gradient that comes back through a norm of @in to the stream's gradient. */
static int back_norm(struct model *m, struct param *small, unsigned int gain, unsigned int bias,
		     const float *in, const float *d_out)
{
	uint32_t width = m->shape.width;
	int err = MODEL_BEGIN(m, "norm back", READS(in), READS(small->w), READS(d_out),
			      CHANGES(m->d), CHANGES(small->grad));

	if (err)
		return err;
	kernel_norm_back(&m->kernels, &(struct norm){
					      .rows = m->rows,
					      .width = width,
					      .in = in,
					      .gain = small->w + (size_t)gain * width,
					      .d_out = d_out,
					      .d_in = m->d,
					      .d_gain = small->grad + (size_t)gain * width,
					      .d_bias = small->grad + (size_t)bias * width,
				      });
	return model_end(m);
}

static int back_gelu(struct model *m, const float *in, float *d)
{
	int err = MODEL_BEGIN(m, "gelu back", READS(in), CHANGES(d));

	if (err)
		return err;
	kernel_gelu_back(&m->kernels, in, d, (uint64_t)m->rows * 4 * m->shape.width);
	return model_end(m);
}

/* @d: becomes the gradient of what had gone up. */
static int back_down(struct model *m, uint32_t l, float *d)
{
	struct layer *y = &m->layers[l];
	uint32_t width = m->shape.width;
	uint64_t n = (uint64_t)m->rows * 4 * width;
	float *bent = NULL;
	struct step s = {&y->down, &y->small, DOWN_BIAS, 4 * width, width, NULL, m->d, d};
	int err = model_tensor(m, l, "gelu", n, &bent);

	if (!err)
		err = model_gelu(m, y->high, bent);
	s.in = bent;
	if (!err)
		err = to_weight(m, &s);
	if (!err)
		err = memory_free(m->memory, n, &bent);
	if (!err)
		err = to_input(m, &s);
	if (!err)
		err = learn(m, &y->down);
	if (!err)
		err = back_gelu(m, y->high, d);
	return err ? err : memory_free(m->memory, n, &y->high);
}

/*
 * struct branch - What a norm and a product make of @in; they widen it @times. @above() makes the
 * gradient of what comes out.
 */
struct branch {
	struct param *w;
	unsigned int gain, bias, w_bias;
	uint32_t times;
	float **in;
	int (*above)(struct model *m, uint32_t l, float *d);
};

static int back_branch(struct model *m, uint32_t l, const struct branch *b)
{
	struct param *small = &m->layers[l].small;
	uint32_t width = m->shape.width;
	uint64_t n = (uint64_t)m->rows * width;
	float *d = NULL, *norm = NULL;
	struct step s = {b->w, small, b->w_bias, width, b->times * width, NULL, NULL, NULL};
	int err = model_tensor(m, l, "gradient of what came out", b->times * n, &d);

	if (!err)
		err = b->above(m, l, d);
	if (!err)
		err = model_tensor(m, l, "norm", n, &norm);
	if (!err)
		err = model_norm(m, small, b->gain, b->bias, *b->in, norm);
	s.in = s.d_in = norm;
	s.d_out = d;
	if (!err)
		err = to_weight(m, &s);
	if (!err)
		err = to_input(m, &s);
	if (!err)
		err = memory_free(m->memory, b->times * n, &d);
	if (!err)
		err = learn(m, b->w);
	if (!err)
		err = back_norm(m, small, b->gain, b->bias, *b->in, norm);
	if (!err)
		err = memory_free(m->memory, n, &norm);
	return err ? err : memory_free(m->memory, n, b->in);
}

static int back_think(struct model *m, uint32_t l)
{
	struct layer *y = &m->layers[l];

	return back_branch(m, l,
			   &(struct branch){&y->up, NORM2_GAIN, NORM2_BIAS, UP_BIAS, 4, &y->middle,
					    back_down});
}

static int back_look(struct model *m, struct layer *y, const float *d_out, float *d_qkv)
{
	int err = MODEL_BEGIN(m, "attention back", READS(y->qkvs), READS(y->weights), READS(d_out),
			      WRITES(d_qkv));
	struct attention a;

	if (err)
		return err;
	a = model_attention(m, y);
	a.d_out = d_out;
	a.d_qkv = d_qkv;
	kernel_attention_back(&m->kernels, &a);
	return model_end(m);
}

/* @d: becomes the gradient of queries, keys and values. */
static int back_mix(struct model *m, uint32_t l, float *d)
{
	struct layer *y = &m->layers[l];
	uint32_t width = m->shape.width;
	uint64_t n = (uint64_t)m->rows * width;
	float *seen = NULL;
	struct step s = {&y->mix, &y->small, MIX_BIAS, width, width, y->seen, m->d, NULL};
	int err = to_weight(m, &s);

	if (!err)
		err = memory_free(m->memory, n, &y->seen);
	if (!err)
		err = model_tensor(m, l, "gradient of seen", n, &seen);
	s.d_in = seen;
	if (!err)
		err = to_input(m, &s);
	if (!err)
		err = learn(m, &y->mix);
	if (!err)
		err = back_look(m, y, seen, d);
	if (!err)
		err = memory_free(m->memory, n, &seen);
	if (!err)
		err = memory_free(m->memory, 3 * n, &y->qkvs);
	return err ? err : memory_free(m->memory, shape_weights(&m->shape), &y->weights);
}

static int back_attend(struct model *m, uint32_t l)
{
	struct layer *y = &m->layers[l];

	return back_branch(
		m, l,
		&(struct branch){&y->qkv, NORM1_GAIN, NORM1_BIAS, QKV_BIAS, 3, &y->in, back_mix});
}

static int lose(struct model *m, const uint8_t *next, double *loss)
{
	int err = MODEL_BEGIN(m, "loss", CHANGES(m->logits));

	if (err)
		return err;
	*loss = kernel_loss(&m->kernels, m->logits, next, m->rows);
	return model_end(m);
}

static int back_predict(struct model *m)
{
	uint32_t width = m->shape.width;
	uint64_t n = (uint64_t)m->rows * width;
	struct step s = {&m->head, &m->end, 2, width, KERNEL_BYTES, m->last, m->logits, m->last};
	int err = memory_alloc(m->memory, "gradient", n, &m->d);

	if (!err)
		err = gradient(m, &m->end);
	if (!err)
		err = to_weight(m, &s);
	if (!err)
		err = to_input(m, &s);
	if (!err)
		err = memory_free(m->memory, (uint64_t)m->rows * KERNEL_BYTES, &m->logits);
	if (!err)
		err = learn(m, &m->head);
	if (!err)
		err = back_norm(m, &m->end, 0, 1, m->x, m->last);
	if (!err)
		err = memory_free(m->memory, n, &m->last);
	if (!err)
		err = memory_free(m->memory, n, &m->x);
	return err ? err : learn(m, &m->end);
}

static int back_embed(struct model *m, const uint8_t *tokens)
{
	int err = gradient(m, &m->bytes);

	if (!err)
		err = gradient(m, &m->places);
	if (!err)
		err = MODEL_BEGIN(m, "embed back", READS(m->d), WRITES(m->bytes.grad),
				  WRITES(m->places.grad));
	if (err)
		return err;
	kernel_embed_back(&m->kernels, &(struct embed){
					       .rows = m->rows,
					       .context = m->shape.context,
					       .width = m->shape.width,
					       .tokens = tokens,
					       .d_out = m->d,
					       .d_bytes = m->bytes.grad,
					       .d_places = m->places.grad,
				       });
	err = model_end(m);
	if (!err)
		err = memory_free(m->memory, (uint64_t)m->rows * m->shape.width, &m->d);
	if (!err)
		err = learn(m, &m->bytes);
	return err ? err : learn(m, &m->places);
}

int model_backward(struct model *m, const uint8_t *tokens, const uint8_t *next, double *loss)
{
	int err = lose(m, next, loss);

	m->step++;
	if (!err)
		err = back_predict(m);
	for (uint32_t l = m->shape.layers; l-- > 0 && !err;) {
		err = gradient(m, &m->layers[l].small);
		if (!err)
			err = back_think(m, l);
		if (!err)
			err = back_attend(m, l);
		if (!err)
			err = learn(m, &m->layers[l].small);
	}
	return err ? err : back_embed(m, tokens);
}

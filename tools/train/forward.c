// SPDX-License-Identifier: GPL-2.0-or-later
#include "model.h"

/* @small: where the bias is, at that multiple of the width. @add: what the result is added to, or
 * NULL. */
struct step {
	const char *name;
	const struct param *w, *small;
	unsigned int bias;
	uint32_t from, to;
	const float *in, *add;
	float *out;
};

static int linear(struct model *m, const struct step *s)
{
	const struct annex_exec_use uses[] = {READS(s->in), READS(s->w->w), READS(s->small->w),
					      WRITES(s->out), READS(s->add)};
	int err = model_begin(m, s->name, uses, s->add ? 5 : 4);

	if (err)
		return err;
	kernel_linear(&m->kernels, &(struct linear){
					   .rows = m->rows,
					   .from = s->from,
					   .to = s->to,
					   .in = s->in,
					   .w = s->w->w,
					   .bias = s->small->w + (size_t)s->bias * m->shape.width,
					   .add = s->add,
					   .out = s->out,
				   });
	return model_end(m);
}

static int look(struct model *m, struct layer *y)
{
	int err = MODEL_BEGIN(m, "attention", READS(y->qkvs), WRITES(y->weights), WRITES(y->seen));
	struct attention a;

	if (err)
		return err;
	a = model_attention(m, y);
	a.out = y->seen;
	kernel_attention(&m->kernels, &a);
	return model_end(m);
}

static int attend(struct model *m, uint32_t l)
{
	struct layer *y = &m->layers[l];
	uint32_t width = m->shape.width;
	uint64_t n = (uint64_t)m->rows * width;
	float *norm = NULL;
	int err = model_tensor(m, l, "norm", n, &norm);

	if (!err)
		err = model_norm(m, &y->small, NORM1_GAIN, NORM1_BIAS, y->in, norm);
	if (!err)
		err = model_tensor(m, l, "queries, keys, values", 3 * n, &y->qkvs);
	if (!err)
		err = linear(m, &(struct step){"qkv", &y->qkv, &y->small, QKV_BIAS, width,
					       3 * width, norm, NULL, y->qkvs});
	if (!err)
		err = memory_free(m->memory, n, &norm);
	if (!err)
		err = model_tensor(m, l, "attention", shape_weights(&m->shape), &y->weights);
	if (!err)
		err = model_tensor(m, l, "seen", n, &y->seen);
	if (!err)
		err = look(m, y);
	if (!err)
		err = model_tensor(m, l, "middle", n, &y->middle);
	if (!err)
		err = linear(m, &(struct step){"mix", &y->mix, &y->small, MIX_BIAS, width, width,
					       y->seen, y->in, y->middle});
	return err;
}

static int think(struct model *m, uint32_t l, float **out)
{
	struct layer *y = &m->layers[l];
	uint32_t width = m->shape.width;
	uint64_t n = (uint64_t)m->rows * width;
	float *norm = NULL, *bent = NULL;
	int err = model_tensor(m, l, "norm", n, &norm);

	if (!err)
		err = model_norm(m, &y->small, NORM2_GAIN, NORM2_BIAS, y->middle, norm);
	if (!err)
		err = model_tensor(m, l, "high", 4 * n, &y->high);
	if (!err)
		err = linear(m, &(struct step){"up", &y->up, &y->small, UP_BIAS, width, 4 * width,
					       norm, NULL, y->high});
	if (!err)
		err = memory_free(m->memory, n, &norm);
	if (!err)
		err = model_tensor(m, l, "gelu", 4 * n, &bent);
	if (!err)
		err = model_gelu(m, y->high, bent);
	if (!err)
		err = model_tensor(m, l, "out", n, out);
	if (!err)
		err = linear(m, &(struct step){"down", &y->down, &y->small, DOWN_BIAS, 4 * width,
					       width, bent, y->middle, *out});
	return err ? err : memory_free(m->memory, 4 * n, &bent);
}

static int embed(struct model *m, const uint8_t *tokens)
{
	float *out = NULL;
	int err = model_tensor(m, 0, "in", (uint64_t)m->rows * m->shape.width, &out);

	m->layers[0].in = out;
	if (!err)
		err = MODEL_BEGIN(m, "embed", READS(m->bytes.w), READS(m->places.w), WRITES(out));
	if (err)
		return err;
	kernel_embed(&m->kernels, &(struct embed){
					  .rows = m->rows,
					  .context = m->shape.context,
					  .width = m->shape.width,
					  .tokens = tokens,
					  .bytes = m->bytes.w,
					  .places = m->places.w,
					  .out = out,
				  });
	return model_end(m);
}

static int predict(struct model *m)
{
	uint64_t n = (uint64_t)m->rows * m->shape.width;
	int err = memory_alloc(m->memory, "last norm", n, &m->last);

	if (!err)
		err = model_norm(m, &m->end, 0, 1, m->x, m->last);
	if (!err)
		err = memory_alloc(m->memory, "logits", (uint64_t)m->rows * KERNEL_BYTES,
				   &m->logits);
	return err ? err
		   : linear(m, &(struct step){"head", &m->head, &m->end, 2, m->shape.width,
					      KERNEL_BYTES, m->last, NULL, m->logits});
}

int model_forward(struct model *m, const uint8_t *tokens)
{
	int err = embed(m, tokens);

	for (uint32_t l = 0; l < m->shape.layers && !err; l++) {
		bool last = l + 1 == m->shape.layers;

		err = attend(m, l);
		if (!err)
			err = think(m, l, last ? &m->x : &m->layers[l + 1].in);
	}
	return err ? err : predict(m);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/detail/random.h>
#include "../error.h"
#include "each.h"
#include "model.h"

#define PART 65536u     /* numbers that are drawn from one seed */
#define DEVIATION 0.02f /* of weights at first */
#define DECAY 0.1f
#define TEMPORARY 24u /* widths of what one layer has besides, on the way back */
#define MOST_ROWS (1u << 24)

static uint64_t layer_params(const struct shape *s)
{
	uint64_t width = s->width;

	return 12 * width * width + SMALL_WIDTHS * width;
}

static uint64_t all_params(const struct shape *s)
{
	uint64_t width = s->width;

	return s->layers * layer_params(s) + (2 * KERNEL_BYTES + s->context + 2) * width +
	       KERNEL_BYTES;
}

uint64_t shape_weights(const struct shape *s)
{
	return (uint64_t)s->batch * s->heads * s->context * s->context;
}

uint64_t shape_bytes(const struct shape *s)
{
	uint64_t rows = (uint64_t)s->batch * s->context;
	uint64_t kept = s->layers * (10 * rows * s->width + shape_weights(s));
	uint64_t more = rows * (TEMPORARY * (uint64_t)s->width + KERNEL_BYTES);
	/* Each of a layer's tensors ends within a page, and they come and go. */
	uint64_t numbers = 4 * all_params(s) + kept + more + s->layers * (1ull << 16);

	return numbers * sizeof(float) / 8 * 9 + (4ull << 20);
}

int shape_check(const struct shape *s)
{
	if (s->width % s->heads)
		return err_set(-EINVAL, "--width %u: not a multiple of --heads %u", s->width,
			       s->heads);
	if ((uint64_t)s->batch * s->context > MOST_ROWS)
		return err_set(-EINVAL, "--batch %u of --context %u: more than %u bytes at once",
			       s->batch, s->context, MOST_ROWS);
	if (shape_bytes(s) > 1ull << 42)
		return err_set(-EINVAL, "a model of more than 4 TiB");
	return 0;
}

static struct model_time *time_of(struct model *m, const char *name)
{
	struct model_time *t = m->times;

	while (t->name && strcmp(t->name, name) && t < m->times + MODEL_KERNELS - 1)
		t++;
	t->name = name;
	return t;
}

int model_begin(struct model *m, const char *name, const struct annex_exec_use *uses,
		unsigned int n)
{
	uint64_t since = annex_now();
	struct annex_exec *exec = m->memory->exec;
	int err = exec ? annex_exec_before(exec, name, uses, n) : 0;

	if (err)
		return err_lib(err, "cannot go on training");
	m->began = annex_now();
	m->running = time_of(m, name);
	m->running->calls++;
	m->running->stall_ns += m->began - since;
	return 0;
}

int model_end(struct model *m)
{
	struct annex_exec *exec = m->memory->exec;
	int err;

	m->running->ns += annex_now() - m->began;
	err = exec ? annex_exec_after(exec) : 0;
	return err ? err_lib(err, "cannot go on training") : 0;
}

int model_tensor(struct model *m, uint32_t l, const char *what, uint64_t n, float **p)
{
	char name[64];

	snprintf(name, sizeof(name), "layer %u, %s", l + 1, what);
	return memory_alloc(m->memory, name, n, p);
}

int model_norm(struct model *m, const struct param *small, unsigned int gain, unsigned int bias,
	       const float *in, float *out)
{
	uint32_t width = m->shape.width;
	int err = MODEL_BEGIN(m, "norm", READS(in), READS(small->w), WRITES(out));

	if (err)
		return err;
	kernel_norm(&m->kernels, &(struct norm){
					 .rows = m->rows,
					 .width = width,
					 .in = in,
					 .gain = small->w + (size_t)gain * width,
					 .bias = small->w + (size_t)bias * width,
					 .out = out,
				 });
	return model_end(m);
}

int model_gelu(struct model *m, const float *in, float *out)
{
	int err = MODEL_BEGIN(m, "gelu", READS(in), WRITES(out));

	if (err)
		return err;
	kernel_gelu(&m->kernels, in, out, (uint64_t)m->rows * 4 * m->shape.width);
	return model_end(m);
}

struct draw {
	const struct param *p;
	float deviation;
	uint64_t seed;
};

/* Normal numbers, two at a time (Box, Muller 1958). */
static void draw(void *ctx, uint32_t i, unsigned int worker)
{
	const struct draw *d = ctx;
	float *w = d->p->w + (size_t)i * PART;
	uint32_t n = each_size(d->p->n, PART, i);
	uint64_t state = d->seed + i;

	(void)worker;
	state = annex_random(&state);
	for (uint32_t c = 0; c < n; c += 2) {
		float far = sqrtf(-2 * logf(1 - (float)annex_random_unit(&state) * 0.9999999f));
		float turn = 6.2831853f * (float)annex_random_unit(&state);

		w[c] = d->deviation * far * cosf(turn);
		if (c + 1 < n)
			w[c + 1] = d->deviation * far * sinf(turn);
	}
}

/* @deviation: 0: all of them 0. */
static int make(struct model *m, struct param *p, const char *name, uint64_t n, float deviation,
		uint64_t *seed)
{
	struct draw d = {p, deviation, annex_random(seed)};
	char moment[48];
	int err;

	snprintf(p->name, sizeof(p->name), "%s", name);
	p->n = n;
	p->decay = deviation > 0 ? DECAY : 0;
	m->params += n;
	err = memory_alloc(m->memory, name, n, &p->w);
	snprintf(moment, sizeof(moment), "%s, first moment", name);
	if (!err)
		err = memory_alloc(m->memory, moment, n, &p->m);
	snprintf(moment, sizeof(moment), "%s, second moment", name);
	if (!err)
		err = memory_alloc(m->memory, moment, n, &p->v);
	if (err || !(deviation > 0))
		return err;
	each_run(m->kernels.pool, each_parts(n, PART), draw, &d);
	return 0;
}

static int make_in(struct model *m, uint32_t l, struct param *p, const char *what, uint64_t n,
		   float deviation, uint64_t *seed)
{
	char name[32];

	snprintf(name, sizeof(name), "layer %u, %s", l + 1, what);
	return make(m, p, name, n, deviation, seed);
}

static void set_gain(struct model *m, struct param *p, uint64_t at)
{
	for (uint32_t i = 0; i < m->shape.width; i++)
		p->w[at + i] = 1;
}

static int make_layer(struct model *m, uint32_t l, uint64_t *seed)
{
	uint64_t width = m->shape.width;
	float small = DEVIATION / sqrtf(2 * (float)m->shape.layers);
	struct layer *y = &m->layers[l];
	int err = make_in(m, l, &y->qkv, "qkv", 3 * width * width, DEVIATION, seed);

	if (!err)
		err = make_in(m, l, &y->mix, "mix", width * width, small, seed);
	if (!err)
		err = make_in(m, l, &y->up, "up", 4 * width * width, DEVIATION, seed);
	if (!err)
		err = make_in(m, l, &y->down, "down", 4 * width * width, small, seed);
	if (!err)
		err = make_in(m, l, &y->small, "small", SMALL_WIDTHS * width, 0, seed);
	if (err)
		return err;
	set_gain(m, &y->small, NORM1_GAIN * width);
	set_gain(m, &y->small, NORM2_GAIN * width);
	return 0;
}

static int make_all(struct model *m, uint64_t seed)
{
	uint64_t width = m->shape.width;
	int err = make(m, &m->bytes, "bytes", KERNEL_BYTES * width, DEVIATION, &seed);

	if (!err)
		err = make(m, &m->places, "places", m->shape.context * width, DEVIATION, &seed);
	for (uint32_t l = 0; l < m->shape.layers && !err; l++)
		err = make_layer(m, l, &seed);
	if (!err)
		err = make(m, &m->end, "end", 2 * width + KERNEL_BYTES, 0, &seed);
	if (!err)
		err = make(m, &m->head, "head", KERNEL_BYTES * width, DEVIATION, &seed);
	if (!err)
		set_gain(m, &m->end, 0);
	return err;
}

int model_open(struct model *m, const struct shape *shape, struct memory *memory, struct pool *pool,
	       uint64_t seed, double rate)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->shape = *shape;
	m->memory = memory;
	m->rows = shape->batch * shape->context;
	m->rate = (float)rate;
	m->layers = calloc(shape->layers, sizeof(*m->layers));
	if (!m->layers)
		return err_set(-ENOMEM, "out of memory");
	err = kernels_open(&m->kernels, pool, m->rows, shape->width, shape->context);
	if (!err)
		err = make_all(m, seed);
	if (err)
		model_close(m);
	return err;
}

void model_close(struct model *m)
{
	kernels_close(&m->kernels);
	free(m->layers);
	memset(m, 0, sizeof(*m));
}

struct attention model_attention(const struct model *m, const struct layer *y)
{
	return (struct attention){
		.batch = m->shape.batch,
		.context = m->shape.context,
		.width = m->shape.width,
		.heads = m->shape.heads,
		.qkv = y->qkvs,
		.weights = y->weights,
	};
}

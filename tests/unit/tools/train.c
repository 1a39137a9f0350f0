// SPDX-License-Identifier: MIT
/*
 * A small model: its gradients beside how much its loss changes, and its losses in a device tier
 * that is too small for it beside those with all the memory it wants.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/random.h"
#include "tools/error.h"
#include "tools/train/blas.h"
#include "tools/train/text.h"
#include "train_reference.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define STEP 1e-4
#define PROBES 12u
#define STEPS 14u
#define MORE 1000u /* until there must be a plan */

/* struct rig - A model, its memory and who computes. */
struct rig {
	struct memory memory;
	struct model model;
	struct pool *pool;
};

static void rig_open(struct rig *r, const struct shape *shape, struct memory_opts opts,
		     unsigned int threads, uint64_t seed)
{
	opts.size = shape_bytes(shape);
	CU_ASSERT_EQUAL_FATAL(blas_open(), 0);
	CU_ASSERT_EQUAL_FATAL(shape_check(shape), 0);
	CU_ASSERT_EQUAL_FATAL(pool_create(threads, &r->pool), 0);
	CU_ASSERT_EQUAL_FATAL(memory_open(&r->memory, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(model_open(&r->model, shape, &r->memory, r->pool, seed, 0.003), 0);
}

static void rig_close(struct rig *r)
{
	model_close(&r->model);
	memory_close(&r->memory);
	pool_destroy(r->pool);
}

static double iterate(struct rig *r, const uint8_t *tokens, const uint8_t *next)
{
	double loss = NAN;

	CU_ASSERT_EQUAL_FATAL(annex_exec_begin(r->memory.exec), 0);
	CU_ASSERT_EQUAL_FATAL(model_forward(&r->model, tokens), 0);
	CU_ASSERT_EQUAL_FATAL(model_backward(&r->model, tokens, next, &loss), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_end(r->memory.exec), 0);
	return loss;
}

struct probe {
	const struct reference *r;
	const uint8_t *tokens, *next;
	uint64_t state;
};

/* After the first step the first moment is a tenth of the gradient. */
static void gradient_is_right(struct probe *p, const struct param *param, double *x)
{
	for (unsigned int i = 0; i < PROBES; i++) {
		size_t at = random_next(&p->state) % param->n;
		double was = x[at], more, less, want;

		x[at] = was + STEP;
		more = reference_model(p->r, p->tokens, p->next);
		x[at] = was - STEP;
		less = reference_model(p->r, p->tokens, p->next);
		x[at] = was;
		want = (more - less) / (2 * STEP);
		CU_ASSERT(fabs((double)param->m[at] * 10 - want) <= 2e-4 * fabs(want) + 2e-6);
	}
}

static void gradients(void)
{
	struct shape shape = {.layers = 2, .width = 24, .heads = 3, .context = 7, .batch = 2};
	struct probe p = {.state = random_seed("gradients")};
	uint8_t tokens[14], next[14];
	struct reference ref;
	struct rig r;
	double loss;

	rig_open(&r, &shape, (struct memory_opts){.policy = "none"}, 3, p.state);
	/* Weights as small as they are at first would hide what attention does. */
	for (size_t i = 0; i < r.model.layers[1].qkv.n; i++)
		r.model.layers[1].qkv.w[i] *= 20;
	for (size_t i = 0; i < r.model.layers[0].small.n; i++)
		r.model.layers[0].small.w[i] += 0.01f * (float)(i % 7);
	random_fill(&p.state, tokens, sizeof(tokens));
	random_fill(&p.state, next, sizeof(next));
	tokens[3] = tokens[0];
	reference_open(&ref, &r.model);
	p.r = &ref;
	p.tokens = tokens;
	p.next = next;
	loss = reference_model(&ref, tokens, next);
	CU_ASSERT(fabs(iterate(&r, tokens, next) - loss) <= 1e-5 * loss);
	for (uint32_t l = 0; l < shape.layers; l++) {
		const struct layer *y = &r.model.layers[l];

		gradient_is_right(&p, &y->qkv, ref.layers[l].qkv);
		gradient_is_right(&p, &y->mix, ref.layers[l].mix);
		gradient_is_right(&p, &y->up, ref.layers[l].up);
		gradient_is_right(&p, &y->down, ref.layers[l].down);
		for (unsigned int i = 0; i < 6; i++)
			gradient_is_right(&p, &y->small, ref.layers[l].small);
	}
	gradient_is_right(&p, &r.model.head, ref.head);
	gradient_is_right(&p, &r.model.end, ref.end);
	gradient_is_right(&p, &r.model.places, ref.places);
	/* Most bytes do not occur. */
	for (unsigned int i = 0; i < 40; i++)
		gradient_is_right(&p, &r.model.bytes, ref.bytes);
	CU_ASSERT_EQUAL(r.model.step, 1);
	reference_close(&ref);
	rig_close(&r);
}

/* The bits of all losses of a few iterations; if it is to have a plan, they go on until it has. */
static void train(const struct text *text, const struct memory_opts *opts, unsigned int threads,
		  uint64_t seed, uint64_t *losses)
{
	struct shape shape = {.layers = 3, .width = 64, .heads = 4, .context = 32, .batch = 8};
	bool plans = strcmp(opts->policy, "none") != 0;
	struct annex_exec_stats st = {.planned = false};
	uint8_t tokens[256], next[256];
	struct rig r;

	rig_open(&r, &shape, *opts, threads, seed);
	for (uint32_t i = 0; i < STEPS + MORE && (i < STEPS || st.planned != plans); i++) {
		double loss;

		text_batch(text, seed, i, 8, 32, tokens, next);
		loss = iterate(&r, tokens, next);
		if (i < STEPS)
			memcpy(&losses[i], &loss, sizeof(loss));
		annex_exec_get_stats(r.memory.exec, &st);
	}
	CU_ASSERT_EQUAL(st.planned, plans);
	/* Everything that an iteration makes ends with it. */
	CU_ASSERT_EQUAL(r.memory.now, 3 * sizeof(float) * r.model.params);
	CU_ASSERT(r.memory.peak > r.memory.now && r.memory.peak < shape_bytes(&shape));
	rig_close(&r);
}

static double from_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static void losses_are_equal(void)
{
	static const char *const policies[] = {"none", "uvm", "g10", "annex"};
	static const char *const stores[] = {"mem:64M"};
	uint64_t seed = random_seed("losses are equal");
	uint64_t want[STEPS], losses[STEPS];
	char bytes[4096];
	struct text text = {bytes, sizeof(bytes)};

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + (i * i / 7) % 9);
	train(&text, &(struct memory_opts){.policy = "none"}, 1, seed, want);
	CU_ASSERT(fabs(from_bits(want[0]) - log(256)) < 0.3);
	CU_ASSERT(from_bits(want[STEPS - 1]) < 4.5);
	for (unsigned int i = 0; i < 4; i++) {
		struct memory_opts opts = {.device = 2 * MIB,
					   .host = i % 2 ? MIB : 0,
					   .stores = stores,
					   .n_stores = 1,
					   .policy = policies[i]};

		train(&text, &opts, 1 + i, seed, losses);
		CU_ASSERT_EQUAL(memcmp(losses, want, sizeof(want)), 0);
	}
	train(&text, &(struct memory_opts){.policy = "none"}, 1, seed + 1, losses);
	CU_ASSERT_NOT_EQUAL(memcmp(losses, want, sizeof(want)), 0);
}

static void shapes_are_checked(void)
{
	struct shape s = {.layers = 1, .width = 10, .heads = 3, .context = 8, .batch = 1};

	CU_ASSERT_EQUAL(shape_check(&s), -EINVAL);
	s.heads = 5;
	CU_ASSERT_EQUAL(shape_check(&s), 0);
	s.context = s.batch = 1 << 13;
	CU_ASSERT_EQUAL(shape_check(&s), -EINVAL);
	s = (struct shape){.layers = 1000, .width = 65536, .heads = 1, .context = 1, .batch = 1};
	CU_ASSERT_EQUAL(shape_check(&s), -EINVAL);
	err_clear();
}

/* What follows a sequence is the same, one further. */
static void batches_are_of_the_text(void)
{
	uint64_t seed = random_seed("batches are of the text");
	char bytes[100];
	struct text text = {bytes, sizeof(bytes)};
	uint8_t tokens[3 * 99], next[3 * 99], again[3 * 99];
	bool other = false;

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	for (uint32_t step = 0; step < 20; step++) {
		text_batch(&text, seed, step, 9, 33, tokens, next);
		for (unsigned int i = 0; i < sizeof(tokens); i++)
			CU_ASSERT(next[i] == tokens[i] + 1 &&
				  (i % 33 == 0 || tokens[i] == tokens[i - 1] + 1));
		text_batch(&text, seed, step, 9, 33, again, next);
		CU_ASSERT_EQUAL(memcmp(tokens, again, sizeof(tokens)), 0);
		text_batch(&text, seed + 1, step, 9, 33, again, next);
		other |= memcmp(tokens, again, sizeof(tokens)) != 0;
	}
	CU_ASSERT(other);
	/* As long as the text allows. */
	text_batch(&text, seed, 0, 3, 99, tokens, next);
	CU_ASSERT(tokens[0] == 0 && next[98] == 99);
}

UNIT_SUITE(train, {"gradients", gradients}, {"losses are equal", losses_are_equal},
	   {"shapes are checked", shapes_are_checked},
	   {"batches are of the text", batches_are_of_the_text})

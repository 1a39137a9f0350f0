// SPDX-License-Identifier: MIT
/*
 * Kernels of a transformer beside their definitions in double precision, and their gradients beside
 * how much the results of these change. What is looked at is a sum of all results, each with a
 * random factor, which is then its gradient.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/random.h"
#include "tools/train/blas.h"
#include "train_reference.h"
#include "tests/unit/unit.h"

#define ARRAYS 6u
#define PROBES 24u
#define STEP 1e-4
#define NEAR 2e-4 /* of single precision, after sums of hundreds */

/* struct array - The same numbers twice, and what the kernel says of their gradient. */
struct array {
	double *x;
	float *f, *d;
	size_t n;
};

/* struct trial - @run: the results, @n_out of them, of the arrays. */
struct trial {
	struct kernels k;
	struct pool *pool;
	uint64_t state;
	struct array in[ARRAYS];
	unsigned int n_in;
	double *out;
	float *out_f, *factor;
	size_t n_out;
	const void *shape;
	void (*run)(const struct trial *t);
};

static double sign(struct trial *t)
{
	return (double)(random_next(&t->state) >> 11) / 0x1p52 - 1;
}

static uint32_t some(struct trial *t, uint32_t most)
{
	return 1 + (uint32_t)(random_next(&t->state) % most);
}

static void trial_open(struct trial *t, const char *name)
{
	memset(t, 0, sizeof(*t));
	t->state = random_seed(name);
	CU_ASSERT_EQUAL_FATAL(blas_open(), 0);
	CU_ASSERT_EQUAL_FATAL(pool_create(some(t, 4), &t->pool), 0);
	CU_ASSERT_EQUAL_FATAL(kernels_open(&t->k, t->pool, 1024, 1024, 64), 0);
}

static struct array *add(struct trial *t, size_t n)
{
	struct array *a = &t->in[t->n_in++];

	a->n = n;
	a->x = calloc(n, sizeof(*a->x));
	a->f = calloc(n, sizeof(*a->f));
	a->d = calloc(n, sizeof(*a->d));
	for (size_t i = 0; i < n; i++) {
		a->f[i] = (float)sign(t);
		a->x[i] = (double)a->f[i];
		/* Gradients must not depend on what was there. */
		a->d[i] = (float)sign(t);
	}
	return a;
}

static void add_out(struct trial *t, size_t n)
{
	t->n_out = n;
	/* One more than asked for: there is always something to free. */
	t->out = calloc(n + 1, sizeof(*t->out));
	t->out_f = calloc(n + 1, sizeof(*t->out_f));
	t->factor = calloc(n + 1, sizeof(*t->factor));
	for (size_t i = 0; i < n; i++)
		t->factor[i] = (float)sign(t);
}

static void trial_close(struct trial *t)
{
	for (unsigned int i = 0; i < t->n_in; i++) {
		free(t->in[i].x);
		free(t->in[i].f);
		free(t->in[i].d);
	}
	free(t->out);
	free(t->out_f);
	free(t->factor);
	kernels_close(&t->k);
	pool_destroy(t->pool);
}

static bool near(double a, double b, double scale)
{
	return fabs(a - b) <= NEAR * (scale + fabs(b));
}

static double sum_of(const struct trial *t)
{
	double sum = 0;

	t->run(t);
	for (size_t i = 0; i < t->n_out; i++)
		sum += t->out[i] * (double)t->factor[i];
	return sum;
}

static void results_are_right(const struct trial *t)
{
	bool right = true;

	t->run(t);
	for (size_t i = 0; i < t->n_out; i++)
		right &= near((double)t->out_f[i], t->out[i], 1);
	CU_ASSERT(right);
}

/* Of one array, at a few places; @scale: of its gradients. */
static void gradient_is_right(struct trial *t, const struct array *a, double scale)
{
	for (unsigned int i = 0; i < PROBES; i++) {
		size_t at = random_next(&t->state) % a->n;
		double was = a->x[at], more, less;

		a->x[at] = was + STEP;
		more = sum_of(t);
		a->x[at] = was - STEP;
		less = sum_of(t);
		a->x[at] = was;
		CU_ASSERT(near((double)a->d[at], (more - less) / (2 * STEP), scale));
	}
}

static void all_gradients_are_right(struct trial *t, double scale)
{
	for (unsigned int i = 0; i < t->n_in; i++)
		gradient_is_right(t, &t->in[i], scale);
}

static void run_linear(const struct trial *t)
{
	const struct linear *l = t->shape;
	size_t n = (size_t)l->rows * l->to;

	reference_linear(l->rows, l->from, l->to, t->in[0].x, t->in[1].x, t->in[2].x, t->out);
	for (size_t i = 0; i < n && l->add; i++)
		t->out[i] += t->in[3].x[i];
}

static void linear_of(uint32_t rows, uint32_t from, uint32_t to, bool adds)
{
	struct trial t;
	struct linear l = {.rows = rows, .from = from, .to = to};

	trial_open(&t, "linear");
	l.in = add(&t, (size_t)rows * from)->f;
	l.w = add(&t, (size_t)from * to)->f;
	l.bias = add(&t, to)->f;
	add_out(&t, (size_t)rows * to);
	l.out = t.out_f;
	if (adds) {
		l.add = add(&t, (size_t)rows * to)->f;
		/* Its gradient is that of the result. */
		memcpy(t.in[3].d, t.factor, t.n_out * sizeof(*t.factor));
	}
	t.shape = &l;
	t.run = run_linear;
	kernel_linear(&t.k, &l);
	results_are_right(&t);
	l.d_out = t.factor;
	l.d_in = t.in[0].d;
	l.d_w = t.in[1].d;
	l.d_bias = t.in[2].d;
	kernel_linear_input(&t.k, &l);
	kernel_linear_weight(&t.k, &l);
	all_gradients_are_right(&t, 1);
	trial_close(&t);
}

/* The second and the third have more than one part each way. */
static void linear(void)
{
	linear_of(7, 5, 11, false);
	linear_of(300, 13, 70, true);
	linear_of(9, 260, 65, false);
}

static void run_norm(const struct trial *t)
{
	const struct norm *n = t->shape;

	reference_norm(n->rows, n->width, t->in[0].x, t->in[1].x, t->in[2].x, t->out);
}

static void norm_of(uint32_t rows, uint32_t width)
{
	struct trial t;
	struct norm n = {.rows = rows, .width = width};
	float *before;

	trial_open(&t, "norm");
	n.in = add(&t, (size_t)rows * width)->f;
	n.gain = add(&t, width)->f;
	n.bias = add(&t, width)->f;
	add_out(&t, (size_t)rows * width);
	n.out = t.out_f;
	t.shape = &n;
	t.run = run_norm;
	kernel_norm(&t.k, &n);
	results_are_right(&t);
	n.d_out = t.factor;
	n.d_in = t.in[0].d;
	n.d_gain = t.in[1].d;
	n.d_bias = t.in[2].d;
	before = calloc(t.in[0].n, sizeof(*before));
	memcpy(before, n.d_in, t.in[0].n * sizeof(*before));
	kernel_norm_back(&t.k, &n);
	/* It adds to what is there. */
	for (size_t i = 0; i < t.in[0].n; i++)
		n.d_in[i] -= before[i];
	free(before);
	all_gradients_are_right(&t, 4);
	trial_close(&t);
}

static void norm(void)
{
	norm_of(5, 24);
	norm_of(3, 7);
	norm_of(150, 33);
}

static void run_attention(const struct trial *t)
{
	reference_attention(t->shape, t->in[0].x, t->out);
}

static void attention_of(uint32_t batch, uint32_t context, uint32_t heads, uint32_t size)
{
	struct trial t;
	struct attention a = {
		.batch = batch, .context = context, .width = heads * size, .heads = heads};
	size_t rows = (size_t)batch * context;

	trial_open(&t, "attention");
	a.qkv = add(&t, rows * 3 * a.width)->f;
	a.weights = calloc(rows * context * heads, sizeof(float));
	add_out(&t, rows * a.width);
	a.out = t.out_f;
	t.shape = &a;
	t.run = run_attention;
	kernel_attention(&t.k, &a);
	results_are_right(&t);
	a.d_out = t.factor;
	a.d_qkv = t.in[0].d;
	kernel_attention_back(&t.k, &a);
	for (unsigned int i = 0; i < 4; i++)
		all_gradients_are_right(&t, 1);
	free(a.weights);
	trial_close(&t);
}

static void attention(void)
{
	attention_of(1, 1, 1, 4);
	attention_of(2, 9, 3, 5);
	attention_of(3, 17, 2, 16);
}

static void run_gelu(const struct trial *t)
{
	for (size_t i = 0; i < t->n_out; i++)
		t->out[i] = reference_gelu(t->in[0].x[i]);
}

static void gelu(void)
{
	struct trial t;
	struct array *a;

	trial_open(&t, "gelu");
	a = add(&t, 70000);
	for (size_t i = 0; i < a->n; i++) {
		a->f[i] *= i % 100 ? 6 : 1000;
		a->x[i] = (double)a->f[i];
	}
	add_out(&t, a->n);
	t.run = run_gelu;
	kernel_gelu(&t.k, a->f, t.out_f, a->n);
	results_are_right(&t);
	memcpy(a->d, t.factor, a->n * sizeof(*a->d));
	kernel_gelu_back(&t.k, a->f, a->d, a->n);
	all_gradients_are_right(&t, 1);
	trial_close(&t);
}

static void run_embed(const struct trial *t)
{
	const struct embed *e = t->shape;

	for (size_t r = 0; r < e->rows; r++)
		for (size_t c = 0; c < e->width; c++)
			t->out[r * e->width + c] = t->in[0].x[e->tokens[r] * e->width + c] +
						   t->in[1].x[r % e->context * e->width + c];
}

static void embed(void)
{
	struct embed e = {.rows = 99, .context = 33, .width = 70};
	uint8_t tokens[99];
	struct trial t;

	trial_open(&t, "embed");
	/* A few only, so that rows are used by many. */
	for (unsigned int i = 0; i < 99; i++)
		tokens[i] = (uint8_t)(250 + random_next(&t.state) % 6);
	e.tokens = tokens;
	e.bytes = add(&t, (size_t)KERNEL_BYTES * e.width)->f;
	e.places = add(&t, (size_t)e.context * e.width)->f;
	add_out(&t, (size_t)e.rows * e.width);
	e.out = t.out_f;
	t.shape = &e;
	t.run = run_embed;
	kernel_embed(&t.k, &e);
	results_are_right(&t);
	e.d_out = t.factor;
	e.d_bytes = t.in[0].d;
	e.d_places = t.in[1].d;
	kernel_embed_back(&t.k, &e);
	all_gradients_are_right(&t, 1);
	trial_close(&t);
}

static void run_loss(const struct trial *t)
{
	t->out[0] = reference_loss(70, t->in[0].x, t->shape);
}

static void loss(void)
{
	uint8_t next[70];
	struct trial t;
	struct array *a;

	trial_open(&t, "loss");
	random_fill(&t.state, next, sizeof(next));
	a = add(&t, (size_t)70 * KERNEL_BYTES);
	for (size_t i = 0; i < a->n; i++)
		a->x[i] = (double)(a->f[i] *= 20);
	add_out(&t, 1);
	t.factor[0] = 1;
	t.shape = next;
	t.run = run_loss;
	memcpy(a->d, a->f, a->n * sizeof(*a->d));
	t.out_f[0] = (float)kernel_loss(&t.k, a->d, next, 70);
	results_are_right(&t);
	all_gradients_are_right(&t, 0.01);
	/* What comes next is seldom looked at by chance, and matters most. */
	for (unsigned int r = 0; r < 70; r++) {
		double was = a->x[r * KERNEL_BYTES + next[r]], more, less;

		a->x[r * KERNEL_BYTES + next[r]] = was + STEP;
		more = sum_of(&t);
		a->x[r * KERNEL_BYTES + next[r]] = was - STEP;
		less = sum_of(&t);
		a->x[r * KERNEL_BYTES + next[r]] = was;
		CU_ASSERT(near((double)a->d[r * KERNEL_BYTES + next[r]], (more - less) / (2 * STEP),
			       0.01));
	}
	trial_close(&t);
}

/* The formula, step by step, in double precision. */
static void adamw(void)
{
	enum { N = 66000 };
	struct trial t;
	struct array *w, *m, *v;
	float *grad = calloc(N, sizeof(*grad));
	bool right = true;

	trial_open(&t, "adamw");
	w = add(&t, N);
	m = add(&t, N);
	v = add(&t, N);
	memset(m->f, 0, N * sizeof(*m->f));
	memset(v->f, 0, N * sizeof(*v->f));
	memset(m->x, 0, N * sizeof(*m->x));
	memset(v->x, 0, N * sizeof(*v->x));
	for (uint32_t step = 1; step <= 4; step++) {
		struct adamw a = {.n = N,
				  .w = w->f,
				  .m = m->f,
				  .v = v->f,
				  .grad = grad,
				  .rate = 0.01f,
				  .decay = 0.1f,
				  .step = step};

		for (size_t i = 0; i < N; i++) {
			double g = sign(&t);

			grad[i] = (float)g;
			m->x[i] = 0.9 * m->x[i] + 0.1 * g;
			v->x[i] = 0.95 * v->x[i] + 0.05 * g * g;
			w->x[i] -= 0.01 * (m->x[i] / (1 - pow(0.9, step)) /
						   (sqrt(v->x[i] / (1 - pow(0.95, step))) + 1e-8) +
					   0.1 * w->x[i]);
		}
		kernel_adamw(&t.k, &a);
	}
	for (size_t i = 0; i < N; i++)
		right &= near((double)w->f[i], w->x[i], 1) && near((double)m->f[i], m->x[i], 1) &&
			 near((double)v->f[i], v->x[i], 1);
	CU_ASSERT(right);
	free(grad);
	trial_close(&t);
}

UNIT_SUITE(train_kernels, {"linear", linear}, {"norm", norm}, {"attention", attention},
	   {"gelu", gelu}, {"embed", embed}, {"loss", loss}, {"adamw", adamw})

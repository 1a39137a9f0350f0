// SPDX-License-Identifier: GPL-2.0-or-later
#include "each.h"
#include "exp.h"
#include "kernels.h"

#define PART 65536u
/* Of the formula: x / 2 (1 + tanh(ROOT (x + CUBE x^3))); ROOT is the root of 2 / pi. */
#define ROOT 0.7978845608f
#define CUBE 0.044715f

struct gelu {
	const float *in;
	float *out;
	uint64_t n;
};

/* (1 + tanh(u)) / 2 is one by 1 + e^(-2u). */
static inline float share_of(float x)
{
	return 1 / (1 + exp_of(-2 * ROOT * (x + CUBE * x * x * x)));
}

static void forward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct gelu *g = ctx;
	const float *in = g->in + (size_t)i * PART;
	float *out = g->out + (size_t)i * PART;
	uint32_t n = each_size(g->n, PART, i);

	(void)worker;
	for (uint32_t c = 0; c < n; c++)
		out[c] = in[c] * share_of(in[c]);
}

static void backward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct gelu *g = ctx;
	const float *in = g->in + (size_t)i * PART;
	float *d = g->out + (size_t)i * PART;
	uint32_t n = each_size(g->n, PART, i);

	(void)worker;
	for (uint32_t c = 0; c < n; c++) {
		float x = in[c], share = share_of(x);
		float slope = 2 * ROOT * (1 + 3 * CUBE * x * x);

		d[c] *= share + x * share * (1 - share) * slope;
	}
}

void kernel_gelu(const struct kernels *k, const float *in, float *out, uint64_t n)
{
	struct gelu g = {in, out, n};

	each_run(k->pool, each_parts(n, PART), forward, &g);
}

void kernel_gelu_back(const struct kernels *k, const float *in, float *d, uint64_t n)
{
	struct gelu g = {in, d, n};

	each_run(k->pool, each_parts(n, PART), backward, &g);
}

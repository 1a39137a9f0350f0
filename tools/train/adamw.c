// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Adam with weight decay of its own (Loshchilov, Hutter 2019).
 */
#include <math.h>
#include <stddef.h>
#include "each.h"
#include "kernels.h"

#define PART 65536u
#define BETA1 0.9f
#define BETA2 0.95f
#define LITTLE 1e-8f

struct step {
	const struct adamw *a;
	float first, second; /* what the moments are less than they will be */
};

static void part(void *ctx, uint32_t i, unsigned int worker)
{
	const struct step *s = ctx;
	const struct adamw *a = s->a;
	size_t at = (size_t)i * PART;
	float *restrict w = a->w + at, *restrict m = a->m + at, *restrict v = a->v + at;
	const float *restrict grad = a->grad + at;
	const float first = s->first, second = s->second, rate = a->rate, decay = a->decay;
	uint32_t n = each_size(a->n, PART, i);

	(void)worker;
	for (uint32_t c = 0; c < n; c++) {
		float mean, square;

		m[c] = BETA1 * m[c] + (1 - BETA1) * grad[c];
		v[c] = BETA2 * v[c] + (1 - BETA2) * grad[c] * grad[c];
		mean = m[c] * first;
		square = v[c] * second;
		w[c] -= rate * (mean / (sqrtf(square) + LITTLE) + decay * w[c]);
	}
}

void kernel_adamw(const struct kernels *k, const struct adamw *a)
{
	struct step s = {
		.a = a,
		.first = (float)(1 / (1 - pow((double)BETA1, a->step))),
		.second = (float)(1 / (1 - pow((double)BETA2, a->step))),
	};

	each_run(k->pool, each_parts(a->n, PART), part, &s);
}

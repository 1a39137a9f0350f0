// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "above.h"

/* So far from the line that nothing brings a kernel back to it. */
#define NEVER (INT64_MIN / 4)

int above_init(struct above *a, uint32_t n, const int64_t *height, const uint64_t *start)
{
	int64_t *depth = calloc(n + 1ull, sizeof(*depth)), *ns = calloc(n + 1ull, sizeof(*ns));
	int err = -ENOMEM;

	if (depth && ns) {
		for (uint32_t k = 0; k < n; k++) {
			depth[k] = height[k] > 0 ? -height[k] : NEVER;
			ns[k] = height[k] > 0 ? (int64_t)(start[k + 1] - start[k]) : 0;
		}
		err = span_init(&a->depth, n, depth);
		if (!err)
			err = sum_init(&a->ns, n, ns);
	}
	free(depth);
	free(ns);
	return err;
}

void above_free(struct above *a)
{
	span_free(&a->depth);
	sum_free(&a->ns);
}

void above_fall(struct above *a, uint32_t from, uint32_t len, int64_t by)
{
	uint32_t k;

	span_add(&a->depth, from, len, by);
	while ((k = span_last(&a->depth, from, len, 0)) < a->depth.n) {
		span_add(&a->depth, k, 1, NEVER);
		sum_add(&a->ns, k, -sum_at(&a->ns, k));
	}
}

int64_t above_ns(const struct above *a, uint32_t from, uint32_t to)
{
	uint32_t n = a->ns.n;

	if (to <= n)
		return to > from ? sum_before(&a->ns, to) - sum_before(&a->ns, from) : 0;
	return sum_before(&a->ns, n) - sum_before(&a->ns, from) + sum_before(&a->ns, to - n);
}

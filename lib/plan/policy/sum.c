// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "sum.h"

static uint32_t lowest_bit(uint32_t i)
{
	return i & -i;
}

int sum_init(struct sum *s, uint32_t n, const int64_t *values)
{
	s->n = n;
	for (s->top = 1; s->top <= n / 2; s->top *= 2)
		;
	s->node = calloc((size_t)n + 1, sizeof(*s->node));
	if (!s->node)
		return -ENOMEM;
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t above = i + lowest_bit(i);

		s->node[i] += values[i - 1];
		if (above <= n)
			s->node[above] += s->node[i];
	}
	return 0;
}

void sum_free(struct sum *s)
{
	free(s->node);
	s->node = NULL;
}

void sum_add(struct sum *s, uint32_t at, int64_t value)
{
	for (uint32_t i = at + 1; i <= s->n; i += lowest_bit(i))
		s->node[i] += value;
}

int64_t sum_before(const struct sum *s, uint32_t at)
{
	int64_t sum = 0;

	for (uint32_t i = at; i; i -= lowest_bit(i))
		sum += s->node[i];
	return sum;
}

/* The node that ends with @at, less those below it. */
int64_t sum_at(const struct sum *s, uint32_t at)
{
	uint32_t end = at + 1, from = end - lowest_bit(end);
	int64_t value = s->node[end];

	for (uint32_t i = at; i > from; i -= lowest_bit(i))
		value -= s->node[i];
	return value;
}

uint32_t sum_reach(const struct sum *s, int64_t most)
{
	uint32_t reach = 0;

	if (most < 0)
		return 0;
	for (uint32_t step = s->top; step; step /= 2) {
		if (reach + step <= s->n && s->node[reach + step] <= most) {
			reach += step;
			most -= s->node[reach];
		}
	}
	return reach;
}

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

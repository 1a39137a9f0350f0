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

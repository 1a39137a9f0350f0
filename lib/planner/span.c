// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "span.h"

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int span_init(struct span *s, uint32_t n, const int64_t *values)
{
	s->n = n;
	for (s->half = 1; s->half < n; s->half *= 2)
		;
	s->most = calloc((size_t)s->half * 2, sizeof(*s->most));
	s->carry = calloc((size_t)s->half * 2, sizeof(*s->carry));
	if (!s->most || !s->carry)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->half; i++)
		s->most[s->half + i] = i >= n ? INT64_MIN / 2 : values ? values[i] : 0;
	for (uint32_t i = s->half - 1; i; i--)
		s->most[i] = larger(s->most[2 * i], s->most[2 * i + 1]);
	return 0;
}

void span_free(struct span *s)
{
	free(s->most);
	free(s->carry);
	s->most = s->carry = NULL;
}

static void climb(struct span *s, uint32_t node)
{
	for (node /= 2; node; node /= 2)
		s->most[node] = larger(s->most[2 * node], s->most[2 * node + 1]) + s->carry[node];
}

static void add_straight(struct span *s, uint32_t from, uint32_t to, int64_t value)
{
	uint32_t l = from + s->half, r = to + s->half;

	if (from >= to)
		return;
	for (; l < r; l /= 2, r /= 2) {
		if (l & 1) {
			s->most[l] += value;
			s->carry[l++] += value;
		}
		if (r & 1) {
			s->most[--r] += value;
			s->carry[r] += value;
		}
	}
	climb(s, from + s->half);
	climb(s, to - 1 + s->half);
}

/* The most in a span, each part with what its ancestors carry. */
static int64_t most_straight(const struct span *s, uint32_t from, uint32_t to)
{
	uint32_t l = from + s->half, r = to + s->half;
	int64_t left = INT64_MIN / 2, right = INT64_MIN / 2;

	if (from >= to)
		return INT64_MIN;
	for (r--; l < r; l /= 2, r /= 2) {
		/* l and r are in the span; their siblings between them are whole. */
		if (left == INT64_MIN / 2)
			left = s->most[l];
		if (right == INT64_MIN / 2)
			right = s->most[r];
		if (l / 2 == r / 2)
			break;
		if (!(l & 1))
			left = larger(left, s->most[l + 1]);
		if (r & 1)
			right = larger(right, s->most[r - 1]);
		left += s->carry[l / 2];
		right += s->carry[r / 2];
	}
	if (l == r && left == INT64_MIN / 2) {
		left = s->most[l];
	} else {
		left = larger(left, right);
	}
	for (l /= 2; l; l /= 2)
		left += s->carry[l];
	return left;
}

void span_add(struct span *s, uint32_t from, uint32_t len, int64_t value)
{
	uint32_t end = from + len;

	add_straight(s, from, end < s->n ? end : s->n, value);
	if (end > s->n)
		add_straight(s, 0, end - s->n, value);
}

int64_t span_most(const struct span *s, uint32_t from, uint32_t len)
{
	uint32_t end = from + len;
	int64_t most = most_straight(s, from, end < s->n ? end : s->n);

	return end > s->n ? larger(most, most_straight(s, 0, end - s->n)) : most;
}

int64_t span_at(const struct span *s, uint32_t at)
{
	int64_t value = s->most[at + s->half];

	for (uint32_t i = (at + s->half) / 2; i; i /= 2)
		value += s->carry[i];
	return value;
}

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
	s->node = calloc((size_t)s->half * 2, sizeof(*s->node));
	if (!s->node)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->half; i++)
		s->node[s->half + i].most = i >= n ? INT64_MIN / 2 : values ? values[i] : 0;
	for (uint32_t i = s->half - 1; i; i--)
		s->node[i].most = larger(s->node[2 * i].most, s->node[2 * i + 1].most);
	return 0;
}

void span_free(struct span *s)
{
	free(s->node);
	s->node = NULL;
}

static void climb(struct span *s, uint32_t node)
{
	for (node /= 2; node; node /= 2)
		s->node[node].most = larger(s->node[2 * node].most, s->node[2 * node + 1].most) +
				     s->node[node].carry;
}

static void add_straight(struct span *s, uint32_t from, uint32_t to, int64_t value)
{
	uint32_t l = from + s->half, r = to + s->half;

	if (from >= to)
		return;
	for (; l < r; l /= 2, r /= 2) {
		if (l & 1) {
			s->node[l].most += value;
			s->node[l++].carry += value;
		}
		if (r & 1) {
			s->node[--r].most += value;
			s->node[r].carry += value;
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
			left = s->node[l].most;
		if (right == INT64_MIN / 2)
			right = s->node[r].most;
		if (l / 2 == r / 2)
			break;
		if (!(l & 1))
			left = larger(left, s->node[l + 1].most);
		if (r & 1)
			right = larger(right, s->node[r - 1].most);
		left += s->node[l / 2].carry;
		right += s->node[r / 2].carry;
	}
	if (l == r && left == INT64_MIN / 2) {
		left = s->node[l].most;
	} else {
		left = larger(left, right);
	}
	for (l /= 2; l; l /= 2)
		left += s->node[l].carry;
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

bool span_fits(const struct span *s, uint32_t from, uint32_t len, int64_t most)
{
	return s->node[1].most <= most || span_most(s, from, len) <= most;
}

int64_t span_at(const struct span *s, uint32_t at)
{
	int64_t value = s->node[at + s->half].most;

	for (uint32_t i = (at + s->half) / 2; i; i /= 2)
		value += s->node[i].carry;
	return value;
}

/*
 * Down to the last leaf of the span, past the left neighbour of each right child: of nodes that
 * hold enough, the deepest lies last. @least excludes the ancestors' amounts.
 */
static uint32_t last_straight(const struct span *s, uint32_t from, uint32_t to, int64_t least)
{
	uint32_t leaf = s->half + to - 1, node = 1, found = 0;
	int64_t enough = 0;

	if (from >= to)
		return s->n;
	for (uint32_t width = s->half / 2; width; width /= 2) {
		least -= s->node[node].carry;
		node = leaf / width;
		if (node & 1 && s->node[node - 1].most >= least) {
			found = node - 1;
			enough = least;
		}
	}
	if (s->node[leaf].most >= least)
		return to - 1;
	if (!found)
		return s->n;
	while (found < s->half) {
		enough -= s->node[found].carry;
		found = 2 * found + 1;
		if (s->node[found].most < enough)
			found--;
	}
	return found - s->half >= from ? found - s->half : s->n;
}

uint32_t span_last(const struct span *s, uint32_t from, uint32_t len, int64_t least)
{
	uint32_t end = from + len, last = s->n;

	if (end > s->n)
		last = last_straight(s, 0, end - s->n, least);
	return last < s->n ? last : last_straight(s, from, end < s->n ? end : s->n, least);
}

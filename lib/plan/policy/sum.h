/* SPDX-License-Identifier: MIT */
/*
 * Sums over kernels of amounts that are never negative: change one, sum up to a kernel, find where
 * a sum is reached, all in logarithmic time. Whole numbers, so that a removed amount leaves nothing
 * behind: kernels without anything sum up to zero, not to what rounding left.
 */
#ifndef ANNEX_PLAN_POLICY_SUM_H
#define ANNEX_PLAN_POLICY_SUM_H

#include <stdint.h>

/* struct sum - A Fenwick tree: @node[i] sums the values before i, of which the lowest bit tells. */
struct sum {
	uint32_t n, top; /* values; the highest power of two among 1 to n */
	int64_t *node;
};

/* sum_init() - @n values, at least 1, which together do not overflow. 0 or -ENOMEM. */
int sum_init(struct sum *s, uint32_t n, const int64_t *values);
void sum_free(struct sum *s);
void sum_add(struct sum *s, uint32_t at, int64_t value);
/* sum_before() - Of those before @at, which may be @n. */
int64_t sum_before(const struct sum *s, uint32_t at);
int64_t sum_at(const struct sum *s, uint32_t at);
/* sum_reach() - How many, from the first on, sum up to no more than @most: as many as do. */
uint32_t sum_reach(const struct sum *s, int64_t most);

#endif

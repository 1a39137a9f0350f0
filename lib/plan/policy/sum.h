/* SPDX-License-Identifier: MIT */
/*
 * Sums over kernels of amounts that are never negative: change one, sum up to a kernel, find where
 * a sum is reached, all in logarithmic time. Whole numbers, so that a removed amount leaves nothing
 * behind: kernels without anything sum up to zero, not to what rounding left.
 */
#ifndef ANNEX_PLAN_POLICY_SUM_H
#define ANNEX_PLAN_POLICY_SUM_H

#include <stdint.h>
#include "span.h"

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

/*
 * Kernels in which some amount is above a line, and only falls: how much of their time is left.
 * Each kernel crosses the line once, so that all of it takes no longer than sorting.
 */
struct above {
	struct span depth; /* below the line: less than 0 as long as a kernel counts */
	struct sum ns;     /* of kernels that count */
};

/*
 * above_init() - @n kernels; kernel k is @height[k] above the line and takes from @start[k] to
 * @start[k + 1]. 0 or -ENOMEM.
 */
int above_init(struct above *a, uint32_t n, const int64_t *height, const uint64_t *start);
void above_free(struct above *a);
/* above_fall() - @len kernels, around the end if need be, are lower by @by. */
void above_fall(struct above *a, uint32_t from, uint32_t len, int64_t by);
/* above_ns() - Time above the line from kernel @from to @to, which is beyond @n around the end. */
int64_t above_ns(const struct above *a, uint32_t from, uint32_t to);

#endif

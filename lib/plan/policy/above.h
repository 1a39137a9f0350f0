/* SPDX-License-Identifier: MIT */
/*
 * Kernels in which something is above a line, from which it only falls: how much of their time is
 * left. Each crosses the line once, so that all of it takes no longer than to sort them.
 */
#ifndef ANNEX_PLAN_POLICY_ABOVE_H
#define ANNEX_PLAN_POLICY_ABOVE_H

#include "span.h"
#include "sum.h"

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

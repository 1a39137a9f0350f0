/* SPDX-License-Identifier: MIT */
/*
 * A quantity over kernels: add to a span, ask for the most in a span, both in logarithmic time.
 *
 * Spans are circular: [@from, @from + @len) modulo the number of kernels, @len at most that.
 */
#ifndef ANNEX_PLANNER_SPAN_H
#define ANNEX_PLANNER_SPAN_H

#include <stdint.h>

struct span {
	uint32_t n, half; /* leaves; the power of two at or above */
	int64_t *most;    /* of each node, without what its ancestors carry */
	int64_t *carry;   /* added to all below */
};

/* span_init() - @n kernels, from @values (NULL: zeroes). 0 or -ENOMEM. */
int span_init(struct span *s, uint32_t n, const int64_t *values);
void span_free(struct span *s);
void span_add(struct span *s, uint32_t from, uint32_t len, int64_t value);
/* span_most() - The most in a span; INT64_MIN of an empty one. */
int64_t span_most(const struct span *s, uint32_t from, uint32_t len);
int64_t span_at(const struct span *s, uint32_t at);

#endif

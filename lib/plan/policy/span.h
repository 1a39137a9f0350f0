/* SPDX-License-Identifier: MIT */
/*
 * A quantity over kernels: add to a span, ask for the most in a span, or for the last that is no
 * less than a value, all in logarithmic time.
 *
 * Spans are circular: [@from, @from + @len) modulo the number of kernels, @len at most that.
 */
#ifndef ANNEX_PLAN_POLICY_SPAN_H
#define ANNEX_PLAN_POLICY_SPAN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * struct span_node - The most below a node, without its ancestors' amounts, and its own amount:
 * added to all below it. Both in one place, since a walk to the root needs both and a large tree
 * is in no near cache.
 */
struct span_node {
	int64_t most, carry;
};

struct span {
	uint32_t n, half; /* leaves; the power of two at or above */
	struct span_node *node;
};

/* span_init() - @n kernels, from @values (NULL: zeroes). 0 or -ENOMEM. */
int span_init(struct span *s, uint32_t n, const int64_t *values);
void span_free(struct span *s);
void span_add(struct span *s, uint32_t from, uint32_t len, int64_t value);
/* span_most() - The most in a span; INT64_MIN of an empty one. */
int64_t span_most(const struct span *s, uint32_t from, uint32_t len);
/* span_fits() - Whether nothing in a span is more than @most: at once where nothing anywhere is. */
bool span_fits(const struct span *s, uint32_t from, uint32_t len, int64_t most);
int64_t span_at(const struct span *s, uint32_t at);
/*
 * span_last() - The last kernel, in the order of the span, of at least @least; the number of
 * kernels when there is none.
 */
uint32_t span_last(const struct span *s, uint32_t from, uint32_t len, int64_t least);

#endif

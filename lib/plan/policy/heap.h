/* SPDX-License-Identifier: MIT */
/*
 * A memory that is given out in blocks, first fit from either end, and so falls into pieces.
 */
#ifndef ANNEX_PLAN_POLICY_HEAP_H
#define ANNEX_PLAN_POLICY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct heap - Free blocks, by address; neighbours are one. */
struct heap {
	struct heap_block {
		uint64_t at, bytes;
	} * free;
	size_t n, most;
};

/* heap_init() - A heap of @bytes, of which at most @most blocks are ever taken. 0 or -ENOMEM. */
int heap_init(struct heap *h, uint64_t bytes, size_t most);
void heap_free(struct heap *h);

/* Take the lowest, or the highest, free bytes that are in one piece; false when there are none. */
bool heap_take_low(struct heap *h, uint64_t bytes, uint64_t *at);
bool heap_take_high(struct heap *h, uint64_t bytes, uint64_t *at);
void heap_give(struct heap *h, uint64_t at, uint64_t bytes);

/* heap_largest() - The largest piece. */
uint64_t heap_largest(const struct heap *h);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Sets of lanes, a bit each, in loops that compilers vectorize, and the group of lanes that execute
 * together.
 */
#ifndef ANNEX_NDP_HARTS_GROUP_H
#define ANNEX_NDP_HARTS_GROUP_H

#include "hart.h"
#include "hot.h"

#define RV_B1(n) 1ull << (n)
#define RV_B4(n) RV_B1(n), RV_B1(n + 1), RV_B1(n + 2), RV_B1(n + 3)
#define RV_B16(n) RV_B4(n), RV_B4(n + 4), RV_B4(n + 8), RV_B4(n + 12)
static const uint64_t rv_bit[RV_LANES]
	__attribute__((aligned(64))) = {RV_B16(0), RV_B16(16), RV_B16(32), RV_B16(48)};

/* All ones if lane @i is in @set. */
static inline uint64_t rv_in(uint64_t set, unsigned int i)
{
	return set & rv_bit[i] ? RV_ALL : 0;
}

static inline uint64_t rv_blend(uint64_t mask, uint64_t yes, uint64_t no)
{
	return (yes & mask) | (no & ~mask);
}

/* rv_first() - The live lane with the least @key. */
typedef unsigned int rv_first_fn(const struct rv_batch *b, const uint64_t *key);
rv_first_fn rv_first, rv_first_avx2;

/* rv_choose() - Form the group of lanes with the pc and the shape of lane @first. */
typedef void rv_choose_fn(struct rv_batch *b, unsigned int first);
rv_choose_fn rv_choose, rv_choose_avx2;

/* rv_settle() - Copy the group's state to @lanes, and @pc; with @shapes vl and vtype too. */
typedef void rv_settle_fn(struct rv_batch *b, uint64_t lanes, uint64_t pc, bool shapes);
rv_settle_fn rv_settle, rv_settle_avx2;

#endif

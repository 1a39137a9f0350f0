/* SPDX-License-Identifier: MIT */
/*
 * Sets of lanes, a bit each, in loops that become vector instructions of the host.
 */
#ifndef ANNEX_NDP_HARTS_LANES_H
#define ANNEX_NDP_HARTS_LANES_H

#include "hart.h"

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

#endif

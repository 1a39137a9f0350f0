/* SPDX-License-Identifier: MIT */
/*
 * SplitMix64: a counter, and a hash of it (Steele, Lea, Flood 2014). A start value gives the same
 * numbers on every machine.
 */
#ifndef ANNEX_RANDOM_H
#define ANNEX_RANDOM_H

#include <annex/detail/atomic.h>

/* annex_random() - The next number. */
static inline ANNEX_HD uint64_t annex_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* annex_random_unit() - The next number, scaled to [0, 1). */
static inline ANNEX_HD double annex_random_unit(uint64_t *state)
{
	return (double)(annex_random(state) >> 11) / 9007199254740992.0;
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_RANDOM_H
#define ANNEX_CORE_RANDOM_H

#include <stdint.h>

/*
 * random_next() - SplitMix64: a counter, and a hash of it (Steele, Lea, Flood 2014). The same
 * numbers for the same start, on every machine.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* random_unit() - The next number as one from 0 to 1, 1 excluded. */
static inline double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif

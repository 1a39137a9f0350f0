/* SPDX-License-Identifier: MIT */
/*
 * Random inputs of tests. A test's seed is made of its name, so that a test that fails, fails
 * again; ANNEX_SEED=N gives another one. tests/unit/seeds.sh tries new ones.
 */
#ifndef ANNEX_TESTS_RANDOM_H
#define ANNEX_TESTS_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/detail/random.h>

static inline uint64_t random_next(uint64_t *state)
{
	return annex_random(state);
}

static inline double random_unit(uint64_t *state)
{
	return annex_random_unit(state);
}

static inline uint64_t random_seed(const char *test)
{
	const char *given = getenv("ANNEX_SEED");
	uint64_t seed = 0;

	for (const char *p = test; *p; p++)
		seed = seed * 31 + (unsigned char)*p;
	seed = given ? strtoull(given, NULL, 0) : seed;
	printf(" [%s: ANNEX_SEED=%llu] ", test, (unsigned long long)seed);
	return seed;
}

static inline void random_fill(uint64_t *state, void *buf, size_t len)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)random_next(state);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Fresh random inputs: every run has another seed, printed so that a failure can be repeated with
 * ANNEX_SEED=N.
 */
#ifndef ANNEX_TESTS_RANDOM_H
#define ANNEX_TESTS_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t random_seed(const char *test)
{
	const char *fixed = getenv("ANNEX_SEED");
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &ts);
	seed = fixed ? strtoull(fixed, NULL, 0) : (uint64_t)ts.tv_nsec ^ (uint64_t)ts.tv_sec << 30;
	printf(" [%s: ANNEX_SEED=%llu] ", test, (unsigned long long)seed);
	return seed;
}

/* splitmix64 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline void random_fill(uint64_t *state, void *buf, size_t len)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)random_next(state);
}

#endif

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
#include "core/random.h"

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

static inline void random_fill(uint64_t *state, void *buf, size_t len)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)random_next(state);
}

#endif

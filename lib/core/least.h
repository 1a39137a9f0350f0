/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_LEAST_H
#define ANNEX_CORE_LEAST_H

#include <stdint.h>

/* least() - The smaller one of two numbers. */
static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif

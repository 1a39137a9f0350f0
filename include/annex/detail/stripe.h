/* SPDX-License-Identifier: MIT */
/*
 * Where lines lie on several devices (enum annex_layout): line L of data that is striped over N
 * devices is line L / N of device L % N. Of replicas, each is data over one device. Programs
 * include annex/cache.h or annex/gpu.h.
 */
#ifndef ANNEX_STRIPE_H
#define ANNEX_STRIPE_H

#include <stdint.h>
#include <annex/detail/atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The device of a line, of @n that the data is striped over. */
static inline ANNEX_HD uint32_t annex_stripe_dev(uint32_t n, uint64_t line)
{
	return n > 1 ? (uint32_t)(line % n) : 0;
}

/* The line's number on its device. */
static inline ANNEX_HD uint64_t annex_stripe_line(uint32_t n, uint64_t line)
{
	return n > 1 ? line / n : line;
}

/* The end of @size bytes of data on device @dev; only its last line may be partial. */
static inline uint64_t annex_stripe_end(uint32_t n, uint32_t line_shift, uint32_t dev,
					uint64_t size)
{
	uint64_t lines = size >> line_shift, rest = size & (((uint64_t)1 << line_shift) - 1);
	uint64_t end = (lines / n + (dev < lines % n)) << line_shift;

	return dev == lines % n ? end + rest : end;
}

/* Bytes of data that fit on @n devices, of which the smallest has @least bytes. */
static inline uint64_t annex_stripe_capacity(uint32_t n, uint32_t line_shift, uint64_t least)
{
	uint64_t all;

	if (n == 1)
		return least;
	if (__builtin_mul_overflow(least >> line_shift << line_shift, (uint64_t)n, &all))
		all = UINT64_MAX >> line_shift << line_shift;
	return all;
}

#ifdef __cplusplus
}
#endif
#endif

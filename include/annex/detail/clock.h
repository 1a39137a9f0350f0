/* SPDX-License-Identifier: MIT */
/*
 * Deadlines. A deadline is a moment of the monotonic clock in nanoseconds; every wait has one. A
 * GPU has a clock of its own, so a deadline is good only on the side that made it.
 */
#ifndef ANNEX_CLOCK_H
#define ANNEX_CLOCK_H

#include <stdint.h>
#include <annex/detail/atomic.h>

#if !ANNEX_ON_GPU
#include <time.h>
#endif

#define ANNEX_NSEC_PER_SEC 1000000000ull
#define ANNEX_NSEC_PER_MSEC 1000000ull

/**
 * annex_now() - Read the monotonic clock.
 *
 * Return: nanoseconds.
 */
static inline ANNEX_HD uint64_t annex_now(void)
{
#if ANNEX_ON_GPU
	uint64_t t;

	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
#endif
}

/**
 * annex_deadline_ms() - Make a deadline from a span of time.
 * @ms: milliseconds from now.
 *
 * Return: that moment of annex_now(), or never (UINT64_MAX) if that is too far away.
 */
static inline ANNEX_HD uint64_t annex_deadline_ms(uint64_t ms)
{
	uint64_t now = annex_now();

	if (ms >= (UINT64_MAX - now) / ANNEX_NSEC_PER_MSEC)
		return UINT64_MAX;
	return now + ms * ANNEX_NSEC_PER_MSEC;
}

#endif

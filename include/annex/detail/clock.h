/* SPDX-License-Identifier: MIT */
/*
 * Deadlines. A deadline is a time of the monotonic clock in nanoseconds; every wait has one. A GPU
 * has a clock of its own, so a deadline is valid only on the side that made it.
 *
 * Waits must not time out because the process was stopped (SIGSTOP, Ctrl-Z, a debugger), since its
 * own threads, which serve emulated devices and move tensors, were stopped too. So a wait reads the
 * clock every ANNEX_LOOK_NS, and longer intervals between two readings count as ANNEX_LOOK_NS.
 */
#ifndef ANNEX_CLOCK_H
#define ANNEX_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/atomic.h>

#define ANNEX_NSEC_PER_SEC 1000000000ull
#define ANNEX_NSEC_PER_MSEC 1000000ull
#define ANNEX_LOOK_NS (250 * ANNEX_NSEC_PER_MSEC)

#ifdef __cplusplus
extern "C" {
#endif

/* The host's clock, in the library: strict C11 has no monotonic clock. */
uint64_t annex_host_now(void);

#ifdef __cplusplus
}
#endif

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
	return annex_host_now();
#endif
}

/**
 * annex_deadline_ms() - Make a deadline from a time span.
 * @ms: milliseconds from now.
 *
 * Return: the deadline, or UINT64_MAX (never) on overflow.
 */
static inline ANNEX_HD uint64_t annex_deadline_ms(uint64_t ms)
{
	uint64_t now = annex_now();

	if (ms >= (UINT64_MAX - now) / ANNEX_NSEC_PER_MSEC)
		return UINT64_MAX;
	return now + ms * ANNEX_NSEC_PER_MSEC;
}

/**
 * struct annex_patience - A wait with a deadline. {deadline, 0} begins one.
 * @end: the deadline, extended by time that did not count.
 * @seen: the last reading of the clock; 0: none yet.
 */
struct annex_patience {
	uint64_t end, seen;
};

/**
 * annex_patience_ends() - Check whether a wait has reached its deadline.
 * @p: the wait; one thread uses it.
 *
 * Return: true if it has.
 */
static inline ANNEX_HD bool annex_patience_ends(struct annex_patience *p)
{
	uint64_t now = annex_now(), lost = 0;

	if (p->seen && now - p->seen > ANNEX_LOOK_NS)
		lost = now - p->seen - ANNEX_LOOK_NS;
	p->end = lost < UINT64_MAX - p->end ? p->end + lost : UINT64_MAX;
	p->seen = now;
	return now >= p->end;
}

/**
 * annex_patience_until() - Begin to sleep during a wait.
 * @p: the wait; one thread uses it.
 *
 * Return: the time at which to call annex_patience_ends().
 */
static inline ANNEX_HD uint64_t annex_patience_until(struct annex_patience *p)
{
	p->seen = annex_now();
	return p->end < p->seen + ANNEX_LOOK_NS ? p->end : p->seen + ANNEX_LOOK_NS;
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_THREAD_H
#define ANNEX_CORE_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <annex/detail/clock.h>

/* annex_thread_start() - A thread in which handlers of the program run for its own faults
 * (SIGBUS, SIGSEGV) alone. Return: 0, -EAGAIN. */
int annex_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* thread_cpu() - Processor time by a thread's clock, in nanoseconds. */
static inline uint64_t thread_cpu(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/*
 * THREAD_KEPT() - The value of an expression, in which the thread is not cancelled.
 *
 * A thread that waits for the device has a lock or others' completions, with which it must not end:
 * pthread_cancel() is acted upon when the program's own code comes to a cancellation point.
 */
#define THREAD_KEPT(expr)                                                                          \
	({                                                                                         \
		int kept_;                                                                         \
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept_);                            \
		__typeof__(expr) value_ = (expr);                                                  \
		pthread_setcancelstate(kept_, NULL);                                               \
		value_;                                                                            \
	})

/* thread_wait() - Until @cond, whose clock is CLOCK_MONOTONIC, is signalled. Return: 0, or
 * ETIMEDOUT: @patience has ended. */
static inline int thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			      struct annex_patience *patience)
{
	uint64_t until = annex_patience_until(patience);
	struct timespec ts = {.tv_sec = (time_t)(until / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(until % ANNEX_NSEC_PER_SEC)};

	return THREAD_KEPT(pthread_cond_timedwait(cond, lock, &ts)) && annex_patience_ends(patience)
		       ? ETIMEDOUT
		       : 0;
}

#endif

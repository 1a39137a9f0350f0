/* SPDX-License-Identifier: MIT */
/*
 * Sleeping on a word, which may be in memory that processes share.
 */
#ifndef ANNEX_CORE_FUTEX_H
#define ANNEX_CORE_FUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>

/* futex_sleep() - Until woken, at the latest until @until (annex_now()), if *@word is @seen. */
static inline void futex_sleep(uint32_t *word, uint32_t seen, uint64_t until)
{
	struct timespec ts = {.tv_sec = (time_t)(until / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(until % ANNEX_NSEC_PER_SEC)};

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* futex_rouse() - Wake up to @n of those who sleep on it. */
static inline void futex_rouse(uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

#endif

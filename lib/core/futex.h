/* SPDX-License-Identifier: MIT */
/*
 * Sleeping on a word, which is in memory that processes share (@shared) or in private memory.
 */
#ifndef ANNEX_CORE_FUTEX_H
#define ANNEX_CORE_FUTEX_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>

/* futex_sleep() - Until woken, at the latest until @until (annex_now()), if *@word is @seen. */
static inline void futex_sleep(uint32_t *word, uint32_t seen, uint64_t until, bool shared)
{
	struct timespec ts = {.tv_sec = (time_t)(until / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(until % ANNEX_NSEC_PER_SEC)};
	int own = shared ? 0 : FUTEX_PRIVATE_FLAG;

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | own, seen, &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* futex_rouse() - Wake up to @n threads that sleep on it. Return: their number. */
static inline long futex_rouse(uint32_t *word, int n, bool shared)
{
	int own = shared ? 0 : FUTEX_PRIVATE_FLAG;

	return syscall(SYS_futex, word, FUTEX_WAKE | own, n, NULL, NULL, 0);
}

#endif

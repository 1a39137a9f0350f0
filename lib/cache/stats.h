/* SPDX-License-Identifier: MIT */
/*
 * Counters that the hit path can afford: each of the first threads of the process has a shard of
 * its own and adds to it without an atomic operation; the others share the rest.
 */
#ifndef ANNEX_CACHE_STATS_H
#define ANNEX_CACHE_STATS_H

#include <stdint.h>
#include <annex/atomic.h>

#define ANNEX_SHARDS 64u
#define ANNEX_SHARDS_OWN 48u

enum annex_stat {
	STAT_HITS,
	STAT_MISSES,
	STAT_PREFETCHES,
	STAT_EVICTIONS,
	STAT_WRITEBACKS,
	STAT_ERRORS,
	STAT_BYTES_READ,
	STAT_BYTES_WRITTEN,
	STAT_BYTES_ASKED,
	STAT_COUNT,
};

struct annex_shard {
	uint64_t count[STAT_COUNT];
} __attribute__((aligned(128)));

/* Initial-exec: one load even in the shared library. */
extern _Thread_local unsigned int annex_shard_index __attribute__((tls_model("initial-exec")));

/**
 * annex_shard_enrol() - Number the calling thread; returns its annex_shard_index, never 0.
 */
unsigned int annex_shard_enrol(void);

static inline void annex_stat_add(struct annex_shard *shards, enum annex_stat stat, uint64_t n)
{
	unsigned int index = annex_shard_index;
	uint64_t *count;

	if (__builtin_expect(!index, 0))
		index = annex_shard_enrol();
	count = &shards[index - 1].count[stat];
	if (index <= ANNEX_SHARDS_OWN) /* relaxed: a count, read at any moment */
		annex_atomic_store(count, annex_atomic_load(count, ANNEX_RELAXED) + n,
				   ANNEX_RELAXED);
	else
		annex_atomic_add(count, n, ANNEX_RELAXED);
}

#endif

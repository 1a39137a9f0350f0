/* SPDX-License-Identifier: MIT */
/*
 * Counters that the hit path can afford: each of the first threads of the process has a shard of
 * its own and adds to it without an atomic operation; the others share the rest.
 */
#ifndef ANNEX_CACHE_STATS_H
#define ANNEX_CACHE_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/atomic.h>

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

static inline void annex_count(uint64_t *count, uint64_t n, bool own)
{
	if (own) /* relaxed: a count, read at any moment */
		annex_atomic_store(count, annex_atomic_load(count, ANNEX_RELAXED) + n,
				   ANNEX_RELAXED);
	else
		annex_atomic_add(count, n, ANNEX_RELAXED);
}

static inline void annex_stat_add(struct annex_shard *shards, enum annex_stat stat, uint64_t n)
{
	unsigned int index = annex_shard_index;

	if (__builtin_expect(!index, 0))
		index = annex_shard_enrol();
	annex_count(&shards[index - 1].count[stat], n, index <= ANNEX_SHARDS_OWN);
}

/* A hit of an access that asked for @bytes, counted together. */
static inline void annex_stat_hit(struct annex_shard *shards, uint64_t bytes)
{
	unsigned int index = annex_shard_index;
	uint64_t *count;

	if (__builtin_expect(!index, 0))
		index = annex_shard_enrol();
	count = shards[index - 1].count;
	annex_count(&count[STAT_HITS], 1, index <= ANNEX_SHARDS_OWN);
	annex_count(&count[STAT_BYTES_ASKED], bytes, index <= ANNEX_SHARDS_OWN);
}

#endif

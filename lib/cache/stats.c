// SPDX-License-Identifier: MIT
#include "cache.h"

_Thread_local unsigned int annex_shard_index __attribute__((tls_model("initial-exec")));

unsigned int annex_shard_enrol(void)
{
	static uint64_t threads;
	/* Relaxed: only the number itself matters. */
	uint64_t n = annex_atomic_add(&threads, 1, ANNEX_RELAXED);

	if (n >= ANNEX_SHARDS_OWN)
		n = ANNEX_SHARDS_OWN + n % (ANNEX_SHARDS - ANNEX_SHARDS_OWN);
	annex_shard_index = (unsigned int)n + 1;
	return annex_shard_index;
}

static uint64_t sum(const struct annex_cache *c, enum annex_stat stat)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < ANNEX_SHARDS; i++)
		total += annex_atomic_load(&c->shards[i].count[stat], ANNEX_RELAXED);
	return total;
}

void annex_cache_get_stats(const struct annex_cache *c, struct annex_cache_stats *out)
{
	out->hits = sum(c, STAT_HITS);
	out->misses = sum(c, STAT_MISSES);
	out->prefetches = sum(c, STAT_PREFETCHES);
	out->evictions = sum(c, STAT_EVICTIONS);
	out->writebacks = sum(c, STAT_WRITEBACKS);
	out->errors = sum(c, STAT_ERRORS);
	out->bytes_read = sum(c, STAT_BYTES_READ);
	out->bytes_written = sum(c, STAT_BYTES_WRITTEN);
	out->bytes_asked = sum(c, STAT_BYTES_ASKED);
	out->depth_max = annex_atomic_load(&c->depth_max, ANNEX_RELAXED);
}

/* SPDX-License-Identifier: MIT */
/*
 * Tiers below the device tier: their pages, and whether writes to them come to an end that is good.
 * The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_TIER_H
#define ANNEX_MIGRATE_TIER_H

#include "space.h"

/* Take room in @tier, as annex_runs_take(), and give it back. */
uint32_t annex_tier_take(struct annex_space *s, unsigned int tier, uint32_t want, uint32_t *loc);
void annex_tier_give(struct annex_space *s, unsigned int tier, uint32_t loc, uint32_t n);

/* @job has written pages of tensor @name to its tier, or failed to. */
void annex_tier_result(struct annex_space *s, const struct job *job, const char *name);

/* Nothing is written to it for a while: too many writes in a row have failed. */
bool annex_tier_rests(const struct annex_space *s, unsigned int tier);

/*
 * The best tier that has room: host memory, CXL memory, one storage after the other. One that the
 * last write to has failed comes after the others. NO_TIER: none.
 */
unsigned int annex_tier_choose(struct annex_space *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Tiers below the device tier: their pages, and failures of writes to them. The space's lock is
 * held.
 */
#ifndef ANNEX_MIGRATE_TIER_H
#define ANNEX_MIGRATE_TIER_H

#include "space.h"

/* Allocate pages in @tier, as annex_runs_take(), and free them. */
uint32_t annex_tier_take(struct annex_space *s, unsigned int tier, uint32_t want, uint32_t *loc);
void annex_tier_give(struct annex_space *s, unsigned int tier, uint32_t loc, uint32_t n);

/* Record whether @job has written pages of tensor @name to its tier, or failed. */
void annex_tier_result(struct annex_space *s, const struct job *job, const char *name);

/* Whether writes to a tier are suspended, because too many in a row have failed. */
bool annex_tier_rests(const struct annex_space *s, unsigned int tier);

/*
 * The best tier with room: host memory, CXL memory, then storage in turns. A tier whose last write
 * failed is chosen last. NO_TIER: none.
 */
unsigned int annex_tier_choose(struct annex_space *s);

#endif

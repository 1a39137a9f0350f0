/* SPDX-License-Identifier: MIT */
/*
 * Room in the device tier: admission of jobs, and eviction for them. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_ROOM_H
#define ANNEX_MIGRATE_ROOM_H

#include "space.h"

/*
 * Admit waiting jobs while there is room, until one of them is in @ended of the space, and begin
 * evictions for the others. Called only by annex_jobs_settle().
 */
void annex_room_made(struct annex_space *s, struct job_list *start);

/* Cancel waiting jobs of tensor @t, or (NULL) all, and put them into @ended of the space. */
void annex_room_drop(struct annex_space *s, const struct tensor *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Room in the device tier: who gets it, and who leaves for it. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_ROOM_H
#define ANNEX_MIGRATE_ROOM_H

#include "space.h"

/*
 * There may be room: jobs that wait for it are admitted, until one of them is in @ended of the
 * space; pages that are to leave for them begin to. Called by annex_jobs_settle() alone.
 */
void annex_room_made(struct annex_space *s, struct job_list *start);

/* Jobs of tensor @t, or (NULL) all, wait for room no longer, and are in @ended of the space. */
void annex_room_drop(struct annex_space *s, const struct tensor *t);

#endif

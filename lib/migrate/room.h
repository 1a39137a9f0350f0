/* SPDX-License-Identifier: MIT */
/*
 * Room in the device tier: who gets it, and who leaves for it. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_ROOM_H
#define ANNEX_MIGRATE_ROOM_H

#include "space.h"

/* There may be room: jobs that wait for it go. What is to leave for them begins to. */
void annex_room_made(struct annex_space *s, struct job_list *start);

/* A job that is to bring pages counts from now on. */
void annex_room_charge(struct annex_space *s, const struct job *job);

/* A tensor was freed: what waits for room for it does not any more. */
void annex_room_drop(struct annex_space *s, const struct tensor *t, struct job_list *start);

#endif

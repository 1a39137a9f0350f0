/* SPDX-License-Identifier: MIT */
/*
 * Ends of jobs: updates of their pages, their moves, and jobs that wait for room.
 *
 * Calls go one way:
 *
 *	request, fault, space, copy, store, flight -> finish -> room -> move
 *	-> tensor, job -> page -> tier
 *
 * and to link.c from all above room. A job ends in one of two ways, without callbacks: a link
 * passes it to its worker (annex_jobs_work()) or to the thread that adds it (annex_jobs_start());
 * and the files below put a job that needs no link, or fails before, into the space's list @ended.
 *
 * Locks, in the order in which they are taken:
 * - A space's lock protects struct annex_space, and its jobs except those on a link. A function
 *   that puts a job into @ended calls annex_jobs_settle() before it releases the lock, so @ended
 *   is empty when the lock is free.
 * - A link's lock protects its queues, its workers' lists, and the jobs in them; a store's lock its
 *   free pages. While one of them is held, no space's lock is taken and no memory of programs is
 *   accessed.
 * - A GPU's frames have a lock for their states, which is taken after the space's, or alone.
 * - Kernels in streams (flight.c) have a lock, which is taken alone.
 *
 * Jobs that may start are handed to their links without the space's lock, since a link may carry
 * them out in this thread.
 */
#ifndef ANNEX_MIGRATE_FINISH_H
#define ANNEX_MIGRATE_FINISH_H

#include "space.h"

/*
 * After any change: end the jobs in @ended, continue moves of their tensors, and admit jobs that
 * wait for room, repeatedly until none is left. The space's lock is held.
 */
void annex_jobs_settle(struct annex_space *s, struct job_list *start);

/* Cancel evictions of these pages that have not begun, and put them into @ended of the space. */
void annex_jobs_recall(struct annex_space *s, uint32_t first, uint32_t n);

/* Pass jobs to their links. Jobs that a link carries out at once end here. No lock is held. */
void annex_jobs_start(struct job_list *start);

/* The thread of a link's worker. */
void *annex_jobs_work(void *worker);

/* room.c: admission of jobs to the device tier, and eviction for them. The space's lock is held. */

/*
 * Admit waiting jobs while there is room, until one of them is in @ended of the space, and begin
 * evictions for the others. Called only by annex_jobs_settle().
 */
void annex_room_made(struct annex_space *s, struct job_list *start);

/* Cancel waiting jobs of tensor @t, or (NULL) all, and put them into @ended of the space. */
void annex_room_drop(struct annex_space *s, const struct tensor *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Ends of jobs: for their pages, for the moves that they are of, and for jobs that wait for room.
 *
 * Calls go one way:
 *
 *	request, fault, space, copy, store, flight -> finish -> room -> move
 *	-> tensor, job -> page -> tier
 *
 * and to link.c from all that are above room. A job ends in one of two ways, and neither calls
 * back: a link hands it to its worker (annex_jobs_work()) or to the thread that adds it
 * (annex_jobs_start()); and a job that needs no link, or fails before, is put into the space's list
 * @ended by the files below.
 *
 * Locks, in the order in which they are taken:
 * - A space's orders all of struct annex_space, and all of its jobs but for those that a link has.
 *   Whoever has put a job into @ended calls annex_jobs_settle() before letting go of the lock, so
 *   @ended is empty when the lock is free.
 * - A link's orders its queues, its workers' lists, and the jobs in them; a store's its free pages.
 *   With neither held is a space's lock taken, or is memory touched that programs have passed.
 * - A GPU's frames have a lock for their states, which is taken after the space's, or alone.
 * - Kernels in streams (flight.c) have one, which is taken alone.
 *
 * Jobs that may start are handed to their links without the space's lock, since a link may carry
 * them out in this thread.
 */
#ifndef ANNEX_MIGRATE_FINISH_H
#define ANNEX_MIGRATE_FINISH_H

#include "space.h"

/*
 * After any change: jobs in @ended end, moves of their tensors go on, and jobs that wait for room
 * are admitted, in turns until nothing is left to do. The space's lock is held.
 */
void annex_jobs_settle(struct annex_space *s, struct job_list *start);

/* Hand jobs to their links. Jobs that a link carries out at once end here. No lock is held. */
void annex_jobs_start(struct job_list *start);

/* The thread of a link's worker. */
void *annex_jobs_work(void *worker);

#endif

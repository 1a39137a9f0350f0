/* SPDX-License-Identifier: MIT */
/*
 * Jobs while they are transfers: their memory, and their pages' mappings.
 */
#ifndef ANNEX_MIGRATE_JOB_H
#define ANNEX_MIGRATE_JOB_H

#include "space.h"

/* Where in this process one of a job's two sides is, which is memory. */
void *annex_job_memory(const struct job *job, struct place side);

static inline bool annex_job_is_stored(const struct job *job)
{
	return (job->from.tier >= ANNEX_TIER_SSD && job->from.tier != NO_TIER) ||
	       job->to.tier >= ANNEX_TIER_SSD;
}

/* Make a job's pages, which hold anything or zeroes, in the thread that calls; set its err. */
void annex_job_make(struct job *job);

/*
 * A transfer is about to begin: programs do not see any more what leaves the device tier. Jobs of
 * tensors that are held by now are recalled, and then the first job has @err. No lock is held.
 */
void annex_job_hide(struct job *first);

/*
 * A device is about to move pages of a transfer into or out of the device tier: they are mapped all
 * at once, which is cheaper than to fault, and those to be written come into being. Pages that go
 * through a buffer are not mapped. No lock is held.
 */
void annex_job_map(const struct job *first);

/*
 * The transfer has ended: its pages are not mapped any more; if all have left for good, their
 * memory is given back. No lock is held.
 */
void annex_job_unmap(struct job *first);

/*
 * A job that has not begun does not begin: its pages stay, which is no error. The space's lock is
 * held; annex_jobs_settle() comes next.
 */
void annex_job_recall(struct annex_space *s, struct job *job);

#endif

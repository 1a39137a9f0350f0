/* SPDX-License-Identifier: MIT */
/*
 * Jobs while they are transfers: their memory, and their pages' mappings.
 */
#ifndef ANNEX_MIGRATE_JOB_H
#define ANNEX_MIGRATE_JOB_H

#include "space.h"

/* Address in this process of one of a job's two sides, which must be memory. */
void *annex_job_memory(const struct job *job, struct place side);

static inline bool annex_job_is_stored(const struct job *job)
{
	return (job->from.tier >= ANNEX_TIER_SSD && job->from.tier != NO_TIER) ||
	       job->to.tier >= ANNEX_TIER_SSD;
}

/* Get memory of the pool for a job's pages, once. Return: 0; a negative errno. */
int annex_job_take(struct job *job, bool zeroes);

/* Make a job's pages, with undefined contents or zeroes, in the calling thread; set its err. */
void annex_job_make(struct job *job);

/*
 * Before a transfer: hide pages that leave the device tier from programs. Recall jobs of tensors
 * that are held by now, and then set err of the first job. No lock is held.
 */
void annex_job_hide(struct job *first);

/*
 * Before a device moves pages of a transfer into or out of the device tier: map them all at once,
 * which is cheaper than page faults, and allocate pages to be written. Bounced pages are not
 * mapped. No lock is held.
 */
void annex_job_map(struct job *first);

/*
 * After a transfer: unmap its pages. If all of them were evicted, free their memory. No lock is
 * held.
 */
void annex_job_unmap(struct job *first);

/*
 * Cancel a job that has not begun: its pages stay, which is no error. The space's lock is held; the
 * caller calls annex_jobs_settle() next.
 */
void annex_job_recall(struct annex_space *s, struct job *job);

#endif

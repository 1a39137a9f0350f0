// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <annex/detail/clock.h>
#include "frames.h"
#include "job.h"
#include "page.h"
#include "pool.h"

#define STAY (10 * ANNEX_NSEC_PER_MSEC) /* time until pinned pages are tried again */

void *annex_job_memory(const struct job *job, struct place side)
{
	struct annex_space *s = job->space;
	uint8_t *arena = side.tier != ANNEX_TIER_GPU ? s->tiers[side.tier].arena
			 : job->shown                ? s->base
						     : s->alias;

	return arena + pages_bytes(side.page);
}

/* The range of neighbouring jobs of a transfer from *@job on, which is advanced. */
static struct uffdio_range neighbours(const struct job **job)
{
	const struct job *j = *job;
	uint64_t at = (uintptr_t)j->space->alias + pages_bytes(j->page), n = j->n;

	for (; j->with && j->with->page == j->page + j->n; j = j->with)
		n += j->with->n;
	*job = j->with;
	return (struct uffdio_range){.start = at, .len = n * ANNEX_MEM_PAGE};
}

/* The page of an address in the second mapping. */
static uint32_t page_at(const struct annex_space *s, uint64_t at)
{
	return (uint32_t)((at - (uintptr_t)s->alias) / ANNEX_MEM_PAGE);
}

/* Bounced pages are mapped only for their checksums. */
static bool is_mapped(const struct job *job)
{
	return annex_job_is_stored(job) && job->space->alias && !job->drop &&
	       (!job->bounced || job->space->opts.checksum) &&
	       (job->to.tier == ANNEX_TIER_GPU || job->from.tier == ANNEX_TIER_GPU);
}

/* Write-protect pages that are saved and stay, which is cheaper than to hide and show them. Of a
 * tensor that a device may write, hiding finds pinned pages. Return: whether they stay shown. */
static bool stays_shown(struct annex_space *s, const struct job *job)
{
	return job->keep && s->pool && !tensor_of(s, job->page)->writers &&
	       (s->pages[job->page].flags & PAGE_SHOWN) &&
	       annex_pages_alike(s, job->page, job->n, PAGE_SHOWN) == job->n &&
	       annex_pool_protect(s, job->page, job->n);
}

/* Hide neighbouring jobs of a transfer from @first on. Return: the next job. */
static struct job *hide(struct annex_space *s, struct job *first)
{
	struct job *end = first, *job;
	uint32_t n = 0;

	for (; end && !end->recalled && !end->shown && end->page == first->page + n;
	     end = end->with)
		n += end->n;
	if (annex_pages_hide(s, first->page, n))
		return end;
	for (job = first; job != end; job = job->with) {
		job->recalled = true;
		tensor_of(s, job->page)->stays = annex_now() + STAY;
	}
	return end;
}

void annex_job_hide(struct job *first)
{
	struct annex_space *s = first->space;
	struct job *job;

	if (first->from.tier != ANNEX_TIER_GPU)
		return;
	pthread_mutex_lock(&s->lock);
	for (job = first; job; job = job->with)
		/* Pages that a GPU's kernel may write cannot be saved either. */
		job->recalled = tensor_of(s, job->page)->holds && (!job->keep || s->frames);
	for (job = first; job; job = job->with)
		job->shown = !job->recalled && stays_shown(s, job);
	for (job = first; job;)
		job = job->recalled || job->shown ? job->with : hide(s, job);
	for (job = first; job; job = job->with)
		if (job->recalled)
			first->err = -ECANCELED;
	pthread_mutex_unlock(&s->lock);
}

/* Map pages when page faults of transfers are not handled. */
static void populate(const struct job *job)
{
	while (job) {
		struct uffdio_range range = neighbours(&job);

		madvise((void *)(uintptr_t)range.start, range.len, MADV_POPULATE_WRITE);
	}
}

int annex_job_take(struct job *job, bool zeroes)
{
	if (job->taken)
		return 0;
	job->taken = true;
	return annex_pool_take(job->space, job->page, job->n, zeroes);
}

/* Pages that are not mapped here are faulted in. */
void annex_job_map(struct job *first)
{
	int uffd = first->space->transfers;

	if (!is_mapped(first))
		return;
	if (first->space->pool) {
		for (struct job *job = first; job && job->to.tier == ANNEX_TIER_GPU;
		     job = job->with)
			annex_job_take(job, false);
		return;
	}
	if (uffd < 0) {
		populate(first);
		return;
	}
	for (const struct job *job = first; job && first->to.tier == ANNEX_TIER_GPU;) {
		struct uffdio_zeropage zero = {.range = neighbours(&job)};

		ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	}
	for (const struct job *job = first; job && first->from.tier == ANNEX_TIER_GPU;) {
		struct uffdio_continue there = {.range = neighbours(&job)};

		ioctl(uffd, UFFDIO_CONTINUE, &there);
	}
}

/* Unmap, since pages count once for each mapping. */
static void unmap_alias(const struct job *job)
{
	while (job) {
		struct uffdio_range range = neighbours(&job);

		madvise((void *)(uintptr_t)range.start, range.len, MADV_DONTNEED);
	}
}

void annex_job_make(struct job *job)
{
	struct annex_space *s = job->space;
	off_t at = (off_t)pages_bytes(job->page);
	int rc;

	if (s->frames) {
		job->err = annex_frames_make(s, job->page, job->n, job->zeroes);
		return;
	}
	if (s->pool) {
		job->err = annex_job_take(job, job->zeroes);
		return;
	}
	do
		rc = fallocate(s->file, 0, at, (off_t)pages_bytes(job->n));
	while (rc && errno == EINTR);
	if (rc)
		job->err = -errno;
}

/* Whether all pages of a transfer were evicted: they are written, and no program waits for them. */
static bool leaves(struct annex_space *s, const struct job *first)
{
	bool all = true;

	/* Frames are not freed: they become idle. */
	if (first->from.tier != ANNEX_TIER_GPU || s->frames)
		return false;
	pthread_mutex_lock(&s->lock);
	for (const struct job *job = first; job && all; job = job->with)
		all = !job->err && !job->keep && !annex_pages_wanted(s, job->page, job->n);
	pthread_mutex_unlock(&s->lock);
	return all;
}

/* Free all pages at once, without the lock. Threads that access them wait for the job's end. */
static void give_back(struct annex_space *s, struct job *first)
{
	const struct job *job = first;

	while (job) {
		struct uffdio_range range = neighbours(&job);

		annex_pages_release(s, page_at(s, range.start),
				    (uint32_t)(range.len / ANNEX_MEM_PAGE));
	}
	for (; first; first = first->with)
		first->released = true;
}

void annex_job_unmap(struct job *first)
{
	if (leaves(first->space, first))
		give_back(first->space, first);
	else if (is_mapped(first) && !first->space->pool)
		unmap_alias(first);
}

void annex_job_recall(struct annex_space *s, struct job *job)
{
	job->err = -ECANCELED;
	job->recalled = true;
	annex_jobs_add(&s->ended, job);
}

// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "core/log.h"
#include "fault.h"
#include "job.h"
#include "page.h"
#include "room.h"
#include "store.h"

/* One part in so many of the budget is kept free for those who do not say beforehand. */
#define SPARE 64u

static uint32_t free_in(struct annex_space *s, unsigned int tier)
{
	struct tier *t = &s->tiers[tier];
	uint32_t n;

	if (!t->present || t->failed)
		return 0;
	if (!t->store)
		return t->runs->free;
	pthread_mutex_lock(&t->store->lock);
	n = t->runs->free;
	pthread_mutex_unlock(&t->store->lock);
	return n;
}

/* The best tier that has room: host memory, CXL memory, one storage after the other. */
static unsigned int choose_tier(struct annex_space *s)
{
	for (unsigned int tier = ANNEX_TIER_HOST; tier < ANNEX_TIER_SSD; tier++)
		if (free_in(s, tier))
			return tier;
	for (unsigned int i = 0; i < s->opts.n_stores; i++) {
		unsigned int tier = ANNEX_TIER_SSD + s->next_store++ % s->opts.n_stores;

		if (free_in(s, tier))
			return tier;
	}
	return NO_TIER;
}

/* Copies below of pages that are in the device tier as well give up their room. */
static bool give_copies_up(struct annex_space *s)
{
	uint32_t given = 0;

	for (uint32_t i = 0; i < s->n_pages && given < JOB_PAGES; i++) {
		uint8_t flags = s->pages[i].flags;

		if ((flags & (PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY)) != (PAGE_DEVICE | PAGE_BELOW))
			continue;
		annex_pages_dirty(s, i, 1);
		given++;
	}
	return given;
}

/* The one that was used longest ago, of those with pages that may leave. */
static struct tensor *oldest(struct annex_space *s)
{
	uint32_t i = s->oldest;

	while (i != NO_TENSOR &&
	       (s->tensors[i].holds || s->tensors[i].resident <= s->tensors[i].leaving))
		i = s->tensors[i].newer;
	return i == NO_TENSOR ? NULL : &s->tensors[i];
}

/* The next page of it that may leave, round and round. There is one. */
static uint32_t next_page(struct annex_space *s, struct tensor *t)
{
	uint32_t i = t->hand;

	for (uint32_t k = 0; k < t->n; k++, i++) {
		if (i >= t->first + t->n)
			i = t->first;
		if ((s->pages[i].flags & (PAGE_DEVICE | PAGE_BUSY)) == PAGE_DEVICE)
			break;
	}
	return i;
}

/* Some pages begin to leave, at most @want. Return: how many; 0: none can. */
static uint32_t reclaim(struct annex_space *s, uint32_t want, struct job_list *start)
{
	struct tensor *t = oldest(s);
	uint32_t first, n;
	unsigned int tier;
	int rc;

	if (!t)
		return 0;
	first = next_page(s, t);
	n = t->first + t->n - first;
	n = n < want ? n : want;
	tier = choose_tier(s);
	if (!(s->pages[first].flags & PAGE_BELOW) && tier == NO_TIER) {
		if (!give_copies_up(s))
			return 0;
		tier = choose_tier(s);
		if (tier == NO_TIER)
			return 0;
	}
	rc = annex_move_out(s, NULL, tier, first, n, start);
	if (rc <= 0)
		return 0;
	t->hand = first + (uint32_t)rc;
	s->stats.reclaimed += pages_bytes((uint32_t)rc);
	return (uint32_t)rc;
}

/* Have enough leave for @need more pages. Return: whether that many will have, or have, left. */
static bool make_room(struct annex_space *s, uint32_t need, struct job_list *start)
{
	while (s->device + need > s->budget + s->leaving)
		if (!reclaim(s, s->device + need - s->budget - s->leaving, start))
			return false;
	return true;
}

static void fill(struct annex_space *s, struct job *job)
{
	off_t at = (off_t)pages_bytes(job->page);
	int rc;

	do
		rc = fallocate(s->file, 0, at, (off_t)pages_bytes(job->n));
	while (rc && errno == EINTR);
	if (rc)
		job->err = -errno;
}

/* Charge a job to the device tier, and let it go. */
static void admit(struct annex_space *s, struct job *job, struct job_list *start)
{
	s->device += job->n;
	if (!job->err && job->from.tier == NO_TIER)
		fill(s, job);
	if (job->err || job->from.tier == NO_TIER)
		annex_job_finish(s, job, start);
	else
		annex_jobs_add(start, job);
}

void annex_room_drop(struct annex_space *s, const struct tensor *t, struct job_list *start)
{
	struct job_list left = {0}, dropped = {0};
	struct job *job;

	if (!t->jobs)
		return;
	while ((job = annex_jobs_take(&s->waiting)))
		annex_jobs_add(tensor_of(s, job->page) == t ? &dropped : &left, job);
	s->waiting = left;
	while ((job = annex_jobs_take(&dropped))) {
		job->err = -ECANCELED;
		admit(s, job, start);
	}
}

/*
 * What to do with a job that there is no room for, and nothing can leave. 0: it goes beyond the
 * budget: the rest is held, and a program would wait for ever. An errno: it fails.
 */
static int no_room(struct annex_space *s, const struct job *job)
{
	for (uint32_t i = s->oldest; i != NO_TENSOR; i = s->tensors[i].newer)
		if (!s->tensors[i].holds && s->tensors[i].resident)
			return -ENOSPC;
	return job->kind == JOB_FAULT ? 0 : -EAGAIN;
}

/* Whether something is on its way, after which there may be room. */
static bool moves(const struct annex_space *s)
{
	return s->jobs > s->waiting.n;
}

void annex_room_made(struct annex_space *s, struct job_list *start)
{
	uint32_t spare = s->budget / SPARE;
	struct job *job;

	if (s->admitting)
		return;
	s->admitting = true;
	while ((job = s->waiting.head)) {
		make_room(s, job->n, start);
		if (s->device + job->n > s->budget) {
			if (s->leaving || moves(s))
				break;
			job->err = no_room(s, job);
			if (job->err == -EAGAIN)
				break;
		}
		admit(s, annex_jobs_take(&s->waiting), start);
	}
	if (s->device + spare > s->budget + s->leaving)
		make_room(s, spare, start);
	s->admitting = false;
}

// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "core/log.h"
#include "frames.h"
#include "job.h"
#include "move.h"
#include "page.h"
#include "room.h"
#include "tier.h"

/* One part in so many of the budget is kept free for those who do not say beforehand. */
#define SPARE 64u

/*
 * Parts that faults bring, and that stay however much is held: an instruction may touch several
 * before it ends, and would touch the first again for ever if it left for the last.
 */
#define FAULT_PARTS 4u

/* It is in the device tier, and in one below. */
static bool is_clean(const struct page *p)
{
	return (p->flags & (PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY)) == (PAGE_DEVICE | PAGE_BELOW);
}

/* Round and round, so that a search does not look again at pages that the last one passed. */
static uint32_t next_place(struct annex_space *s)
{
	s->hand = s->hand + 1 < s->n_pages ? s->hand + 1 : 0;
	return s->hand;
}

/* Copies below of pages that are in the device tier as well give up their room, where it is of use.
 */
static bool give_copies_up(struct annex_space *s)
{
	uint32_t given = 0;

	for (uint32_t k = 0; k < s->n_pages && s->with_copy && given < JOB_PAGES; k++) {
		uint32_t i = next_place(s);

		if (!is_clean(&s->pages[i]) || annex_tier_rests(s, s->pages[i].tier))
			continue;
		annex_pages_dirty(s, i, 1);
		given++;
	}
	return given;
}

static bool may_leave(const struct tensor *t)
{
	return !t->holds && t->resident > t->leaving;
}

/* The one that was used longest ago, of those with pages that may leave. */
static struct tensor *oldest(struct annex_space *s)
{
	uint32_t i = s->used.oldest;

	while (i != NO_TENSOR && !may_leave(&s->tensors[i]))
		i = s->tensors[i].newer;
	return i == NO_TENSOR ? NULL : &s->tensors[i];
}

/* One with pages that may leave without being written; *@first is one of them. */
static struct tensor *clean_one(struct annex_space *s, uint32_t *first)
{
	for (uint32_t k = 0; k < s->n_pages && s->with_copy; k++) {
		*first = next_place(s);
		if (is_clean(&s->pages[*first]) && may_leave(tensor_of(s, *first)))
			return tensor_of(s, *first);
	}
	return NULL;
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
	tier = annex_tier_choose(s);
	if (!is_clean(&s->pages[first]) && tier == NO_TIER) {
		if (give_copies_up(s))
			tier = annex_tier_choose(s);
		if (tier == NO_TIER)
			t = clean_one(s, &first);
		if (!t)
			return 0;
	}
	n = t->first + t->n - first;
	n = n < want ? n : want;
	rc = annex_move_out(s, NULL, tier, first, n, start);
	if (rc <= 0)
		return 0;
	t->hand = first + (uint32_t)rc;
	s->stats.reclaimed += pages_bytes((uint32_t)rc);
	return (uint32_t)rc;
}

/* How many of @want pages may leave for a fault, or ahead of the next ones. */
static uint32_t spared_by_faults(const struct annex_space *s, uint32_t want)
{
	uint32_t floor = FAULT_PARTS * (s->opts.fault_bytes / ANNEX_MEM_PAGE), held = 0, loose = 0;

	for (uint32_t i = s->used.oldest; i != NO_TENSOR && loose < floor + want;
	     i = s->tensors[i].newer) {
		const struct tensor *t = &s->tensors[i];

		held += t->holds ? t->resident : 0;
		loose += t->holds ? 0 : t->resident - t->leaving;
	}
	if (loose >= floor + want || !held || held + floor <= s->budget)
		return want;
	return loose > floor ? loose - floor : 0;
}

/*
 * Have enough leave for @need more pages; @fault: for one that a program touches. Return: whether
 * that many will have, or have, left.
 */
static bool make_room(struct annex_space *s, uint32_t need, bool fault, struct job_list *start)
{
	while (s->device + need > s->budget + s->leaving + s->promised) {
		uint32_t want = s->device + need - s->budget - s->leaving - s->promised;

		if (annex_tensor_drop_kept(s, want))
			continue;
		if (fault)
			want = spared_by_faults(s, want);
		if (!want || !reclaim(s, want, start))
			return false;
	}
	return true;
}

/* Pages by which the device tier grows with it. */
static uint32_t cost(const struct annex_space *s, const struct job *job)
{
	return s->frames ? annex_frames_cost(s, job->page, job->n) : job->n;
}

/* Evict for the job. Leaving pages may take a frame along that it has pages in. Return: its cost in
 * the end. */
static uint32_t make_room_for(struct annex_space *s, const struct job *job, struct job_list *start)
{
	uint32_t need;

	do
		need = cost(s, job);
	while (make_room(s, need, job->kind == JOB_FAULT, start) && cost(s, job) > need);
	return cost(s, job);
}

/* A job that is to bring pages counts from now on. */
static void charge(struct annex_space *s, const struct job *job)
{
	if (s->frames)
		annex_frames_charge(s, job->page, job->n);
	else
		s->device += job->n;
}

/* Charge a job to the device tier. Zeroes are there then, if no link brings them. */
static void admit(struct annex_space *s, struct job *job, struct job_list *start)
{
	charge(s, job);
	if (!job->err && !job->lane)
		annex_job_make(job);
	annex_jobs_add(job->err || !job->lane ? &s->ended : start, job);
}

void annex_room_drop(struct annex_space *s, const struct tensor *t)
{
	struct job_list left = {0};
	struct job *job;

	if (t && !t->jobs)
		return;
	while ((job = annex_jobs_take(&s->waiting))) {
		if (t && tensor_of(s, job->page) != t) {
			annex_jobs_add(&left, job);
			continue;
		}
		charge(s, job);
		job->err = -ECANCELED;
		annex_jobs_add(&s->ended, job);
	}
	s->waiting = left;
}

/* Why nothing can leave, of tensor *@victim: writes have failed; or (NULL) all tiers are full. */
static int why_not(const struct annex_space *s, const char **victim)
{
	*victim = NULL;
	for (unsigned int tier = ANNEX_TIER_HOST; tier < ANNEX_TIERS; tier++)
		if (annex_tier_rests(s, tier)) {
			*victim = s->tiers[tier].victim;
			return s->tiers[tier].err;
		}
	return -ENOSPC;
}

/* The job fails. */
static void refuse(struct annex_space *s, struct job *job)
{
	const char *victim;

	job->err = why_not(s, &victim);
	job->refused = true;
	if (victim && job->move && !job->move->err)
		snprintf(job->move->victim, sizeof(job->move->victim), "%s", victim);
}

/* More is held than there is to be, and a program would wait for ever. */
static void exceed(struct annex_space *s, const struct job *job)
{
	uint64_t over = pages_bytes(s->device + cost(s, job) - s->budget);

	s->stats.over = over > s->stats.over ? over : s->stats.over;
	if (s->exceeded)
		return;
	s->exceeded = true;
	annex_log(ANNEX_LOG_WARNING,
		  "space: %s goes beyond the device tier's %llu bytes: all that is there is held",
		  annex_tensor_name(tensor_of(s, job->page)), (ull)pages_bytes(s->budget));
}

/* A job that there is no room for, and nothing can leave. Return: whether it goes on all the same.
 */
static bool without_room(struct annex_space *s, struct job *job)
{
	bool spared = job->kind == JOB_FAULT && !spared_by_faults(s, 1);

	if (s->launched)
		return false;
	for (uint32_t i = s->used.oldest; i != NO_TENSOR && !spared; i = s->tensors[i].newer)
		if (!s->tensors[i].holds && s->tensors[i].resident) {
			refuse(s, job);
			return true;
		}
	if (job->kind != JOB_FAULT)
		return false;
	exceed(s, job);
	return true;
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

	if (s->closing)
		return;
	while ((job = s->waiting.head)) {
		uint32_t need = make_room_for(s, job, start);

		if (need && s->device + need > s->budget &&
		    (s->leaving || moves(s) || !without_room(s, job)))
			break;
		admit(s, annex_jobs_take(&s->waiting), start);
		/* Its pages may have to leave for the next one: it ends first. */
		if (s->ended.head)
			return;
	}
	/* Where nobody faults, all say so beforehand. */
	if (!s->frames && s->device + spare > s->budget + s->leaving)
		make_room(s, spare, true, start);
}

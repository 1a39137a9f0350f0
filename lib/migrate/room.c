// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "frames.h"
#include "job.h"
#include "move.h"
#include "page.h"
#include "finish.h"
#include "pool.h"
#include "tier.h"

/* 1/SPARE of the device tier stays free for page faults. */
#define SPARE 64u

/*
 * Bytes of so many page faults stay resident however much is held: an instruction may access
 * several pages, and would never end if the first were evicted for the last.
 */
#define FAULT_PARTS 4u

/* Whether it is in the device tier, with a copy below. */
static bool is_clean(const struct page *p)
{
	return (p->flags & (PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY)) == (PAGE_DEVICE | PAGE_BELOW);
}

/* Search in a circle, so that a search skips pages that the last one has passed. */
static uint32_t next_place(struct annex_space *s)
{
	s->hand = s->hand + 1 < s->n_pages ? s->hand + 1 : 0;
	return s->hand;
}

/* Free copies below of pages that are in the device tier, if that makes room for a write. */
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

static bool stays(const struct annex_space *s, const struct tensor *t)
{
	return s->now < t->stays;
}

static bool may_leave(const struct annex_space *s, const struct tensor *t)
{
	return !t->holds && t->resident > t->leaving && !stays(s, t);
}

/* The least recently used tensor with pages that may be evicted. */
static struct tensor *oldest(struct annex_space *s)
{
	uint32_t i = s->used.oldest;

	while (i != NO_TENSOR && !may_leave(s, &s->tensors[i]))
		i = s->tensors[i].newer;
	return i == NO_TENSOR ? NULL : &s->tensors[i];
}

/* A tensor with pages that may be evicted without a write; *@first is one of them. */
static struct tensor *clean_one(struct annex_space *s, uint32_t *first)
{
	for (uint32_t k = 0; k < s->n_pages && s->with_copy; k++) {
		*first = next_place(s);
		if (is_clean(&s->pages[*first]) && may_leave(s, tensor_of(s, *first)))
			return tensor_of(s, *first);
	}
	return NULL;
}

/* The next page of a tensor that may be evicted, in a circle. There must be one. */
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

/* Begin to evict pages, at most @want. Return: their number; 0: none can be evicted. */
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

/* Number of pages, at most @want, that may be evicted for a page fault, or ahead of the next. */
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

/* Pages that will be free without more evictions. Promises of a kernel that is not launched yet do
 * not count: it may wait for this room. */
static uint32_t leaving(const struct annex_space *s)
{
	return s->leaving + (s->launched ? s->promised : 0);
}

/*
 * Evict enough for @need more pages; @fault: for a page fault. Return: whether that many pages are
 * free, or being evicted.
 */
static bool make_room(struct annex_space *s, uint32_t need, bool fault, struct job_list *start)
{
	while (s->device + need > s->budget + leaving(s)) {
		uint32_t want = s->device + need - s->budget - leaving(s);

		if (annex_tensor_drop_kept(s, want))
			continue;
		if (fault)
			want = spared_by_faults(s, want);
		if (!want || !reclaim(s, want, start))
			return false;
	}
	return true;
}

/* Number of pages by which the device tier grows with a job. */
static uint32_t cost(const struct annex_space *s, const struct job *job)
{
	return s->frames ? annex_frames_cost(s, job->page, job->n) : job->n;
}

/* Evict for the job. That may also free a frame in which it has pages. Return: its cost
 * afterwards. */
static uint32_t make_room_for(struct annex_space *s, const struct job *job, struct job_list *start)
{
	uint32_t need;

	do
		need = cost(s, job);
	while (make_room(s, need, job->kind == JOB_FAULT, start) && cost(s, job) > need);
	return cost(s, job);
}

/* Charge the pages of a job to the device tier. */
static void charge(struct annex_space *s, const struct job *job)
{
	if (s->frames)
		annex_frames_charge(s, job->page, job->n);
	else
		s->device += job->n;
	if (s->pool)
		annex_pool_expect(s, job->n);
}

/* Admit a job. Without a link its zeroes are in the device tier at once. */
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

/* Fail a job: no page can be evicted, as writes to a tier fail, or all tiers are full. */
static void refuse(struct annex_space *s, struct job *job)
{
	struct annex_move *m = job->move;
	unsigned int tier = ANNEX_TIER_HOST;
	const struct tier *t;

	while (tier < ANNEX_TIERS && !annex_tier_rests(s, tier))
		tier++;
	t = tier < ANNEX_TIERS ? &s->tiers[tier] : NULL;
	job->err = t ? t->err : -ENOSPC;
	job->refused = true;
	if (t && m && !m->err)
		snprintf(m->why, sizeof(m->why), "%s cannot leave it for %s, of %llu bytes: ",
			 strcmp(t->victim, m->name) ? t->victim : "others", annex_tier_name(tier),
			 (ull)pages_bytes(t->runs->n));
}

/* Exceed the budget: all other pages are held, or pinned, and a program would wait for ever. */
static void exceed(struct annex_space *s, const struct job *job)
{
	uint64_t over = pages_bytes(s->device + cost(s, job) - s->budget);

	s->stats.over = over > s->stats.over ? over : s->stats.over;
	if (s->exceeded)
		return;
	s->exceeded = true;
	annex_log(
		ANNEX_LOG_WARNING,
		"space: %s goes beyond the device tier's %llu bytes: all that is there is held, or "
		"pinned by a device",
		annex_tensor_name(tensor_of(s, job->page)), (ull)pages_bytes(s->budget));
}

/* Handle a job without room when no page can be evicted. Return: whether to admit it
 * nevertheless. */
static bool without_room(struct annex_space *s, struct job *job)
{
	bool spared = job->kind == JOB_FAULT && !spared_by_faults(s, 1), pinned = false;

	if (s->launched)
		return false;
	for (uint32_t i = s->used.oldest; i != NO_TENSOR && !spared; i = s->tensors[i].newer) {
		const struct tensor *t = &s->tensors[i];

		pinned |= !t->holds && t->resident && stays(s, t);
		if (!t->holds && t->resident && !stays(s, t)) {
			refuse(s, job);
			return true;
		}
	}
	if (job->kind != JOB_FAULT && !pinned)
		return false;
	exceed(s, job);
	return true;
}

/* Whether there may be room when jobs in flight have ended. */
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
	s->now = annex_now();
	while ((job = s->waiting.head)) {
		uint32_t need = make_room_for(s, job, start);

		if (need && s->device + need > s->budget &&
		    (s->leaving || moves(s) || !without_room(s, job)))
			break;
		admit(s, annex_jobs_take(&s->waiting), start);
		/* Finish this job before admitting the next, which may evict its pages. */
		if (s->ended.head)
			return;
	}
	/* In a GPU's memory there are no page faults. */
	if (!s->frames && s->device + spare > s->budget + s->leaving)
		make_room(s, spare, true, start);
}

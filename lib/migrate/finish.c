// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/crc32c.h"
#include "core/log.h"
#include "finish.h"
#include "frames.h"
#include "job.h"
#include "move.h"
#include "page.h"
#include "pool.h"
#include "tier.h"

static const char *advice(const struct job *job)
{
	if (job->refused || job->from.tier < ANNEX_TIER_SSD || job->from.tier == NO_TIER)
		return "";
	return ": use another storage";
}

/* Fence lost pages: programs that wait for any of them get a SIGSEGV. */
static void lose(struct annex_space *s, struct tensor *t, uint32_t first, uint32_t n,
		 const struct job *job)
{
	uint32_t end = first + n, part;

	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_WANTED);
		if (!(s->pages[first].flags & PAGE_WANTED))
			continue;
		annex_log(ANNEX_LOG_FATAL, "%s: a program that touches it gets a SIGSEGV: %s: %s%s",
			  annex_tensor_name(t),
			  job->refused ? "nothing leaves for it" : "it cannot be had",
			  annex_strerror(job->err), advice(job));
		annex_pages_fence(s, first, part);
	}
}

/* Retry each page of a failed job alone. Return: whether they are retried. */
static bool one_by_one(struct annex_space *s, const struct job *job, struct tensor *t)
{
	if (job->n == 1 || !t->live || job->from.tier == NO_TIER || job->err == -ENODEV ||
	    (s->frames && job->err == -ENOMEM) || job->refused || s->closing)
		return false;
	for (uint32_t i = job->page; i < job->page + job->n; i++)
		if (annex_move_in(s, job->move, job->kind, i, 1))
			lose(s, t, i, 1, job);
	return true;
}

static void end_in(struct annex_space *s, struct job *job, struct tensor *t)
{
	uint32_t first = job->page;

	t->resident += job->n;
	if (s->pool && !job->taken)
		annex_pool_expect(s, -(int64_t)job->n);
	for (uint32_t i = first; i < first + job->n; i++) {
		s->with_copy += (s->pages[i].flags & PAGE_BELOW) != 0;
		s->pages[i].flags |= PAGE_DEVICE;
	}
	if (!job->err) {
		s->stats.in += job->from.tier == NO_TIER ? 0 : pages_bytes(job->n);
		if (!job->keep)
			annex_pages_forget(s, first, job->n);
		if (t->live || t->ahead)
			annex_pages_show(s, first, job->n);
		return;
	}
	if (s->pool && !job->taken)
		annex_pages_gone(s, first, job->n);
	else
		annex_pages_drop(s, first, job->n);
	if (one_by_one(s, job, t))
		job->err = 0;
	else
		lose(s, t, first, job->n, job);
}

/* Record the copies that the job has written. */
static void now_below(struct annex_space *s, const struct job *job, const uint32_t *crc)
{
	for (uint32_t i = 0; i < job->n; i++) {
		struct page *p = &s->pages[job->page + i];

		s->with_copy += (p->flags & (PAGE_DEVICE | PAGE_BELOW)) == PAGE_DEVICE;
		p->flags |= PAGE_BELOW;
		p->tier = job->to.tier;
		p->loc = job->to.page + i;
		if (crc)
			p->crc = crc[i];
	}
}

/* Bring in absent pages that programs have accessed meanwhile. */
static void bring_wanted(struct annex_space *s, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		/* A page fault brings in neighbours too. */
		if (!s->closing && (s->pages[i].flags & (PAGE_WANTED | PAGE_BUSY)) == PAGE_WANTED)
			annex_move_wanted(s, i);
}

static void end_out(struct annex_space *s, const struct job *job, struct tensor *t,
		    const uint32_t *crc)
{
	uint32_t first = job->page, end = first + job->n, part;

	if (!job->keep)
		s->leaving -= job->n;
	t->leaving -= job->n;
	if (!job->recalled && !job->drop)
		annex_tier_result(s, job, annex_tensor_name(t));
	if (job->drop) {
		s->stats.clean += job->err ? 0 : pages_bytes(job->n);
	} else if (job->err) {
		annex_tier_give(s, job->to.tier, job->to.page, job->n);
		if (!job->move && !job->recalled)
			annex_log(ANNEX_LOG_WARNING, "%s: it cannot leave for %s: %s",
				  annex_tensor_name(t), annex_tier_name(job->to.tier),
				  annex_strerror(job->err));
	} else {
		s->stats.out += pages_bytes(job->n);
		now_below(s, job, crc);
	}
	if (job->released) {
		annex_pages_gone(s, first, job->n);
		bring_wanted(s, first, end);
		return;
	}
	/* The kernel's own writes to a tensor that is held by now would fail. */
	if (job->shown && s->user_only && t->writers)
		annex_pages_dirty(s, first, job->n);
	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_WANTED | PAGE_SHOWN);
		/* It was not hidden, and no program waits. */
		if ((s->pages[first].flags & (PAGE_WANTED | PAGE_SHOWN)) == PAGE_SHOWN)
			continue;
		/* If writes are not detected, a shown page would count as dirty. */
		if (s->pages[first].flags & PAGE_WANTED || (job->keep && s->track) || job->recalled)
			annex_pages_show(s, first, part);
		else if (!job->err && !job->keep)
			annex_pages_drop(s, first, part);
	}
}

static void end_below(struct annex_space *s, const struct job *job, const struct tensor *t,
		      const uint32_t *crc)
{
	/* Of a transfer from storage, the error is that of the read. */
	if (job->to.tier >= ANNEX_TIER_SSD && !job->recalled)
		annex_tier_result(s, job, annex_tensor_name(t));
	if (job->err) {
		annex_tier_give(s, job->to.tier, job->to.page, job->n);
	} else {
		s->stats.below += pages_bytes(job->n);
		annex_tier_give(s, job->from.tier, job->from.page, job->n);
		now_below(s, job, crc);
	}
	bring_wanted(s, job->page, job->page + job->n);
}

/* A storage device is gone for good: pages of the device tier with a copy on it are dirty. */
static void lose_copies(struct annex_space *s, unsigned int tier)
{
	const uint8_t mask = PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY, clean = PAGE_DEVICE | PAGE_BELOW;

	for (uint32_t i = 0; i < s->n_pages && s->with_copy; i++)
		if ((s->pages[i].flags & mask) == clean && s->pages[i].tier == tier)
			annex_pages_dirty(s, i, 1);
}

/* The side for checksums: if both are memory, the device tier is not mapped. */
static struct place summed(const struct job *job)
{
	if (annex_job_is_stored(job))
		return job->to.tier < ANNEX_TIER_SSD ? job->to : job->from;
	return job->to.tier == ANNEX_TIER_GPU ? job->from : job->to;
}

static void sum_pages(const struct job *job, const uint8_t *p, uint32_t *crc)
{
	for (uint32_t i = 0; i < job->n; i++)
		crc[i] = annex_crc32c((const void *)(p + pages_bytes(i)), ANNEX_MEM_PAGE / 8, 0);
}

/* Checksum pages of a GPU, by copies to the host. */
static int sum_frames(const struct job *job, uint32_t *crc)
{
	uint8_t *p = malloc(pages_bytes(job->n));
	int err = p ? annex_frames_copy(job->space, job->page, job->n, p, false) : -ENOMEM;

	if (!err)
		sum_pages(job, p, crc);
	free(p);
	return err;
}

static int sums(const struct job *job, uint32_t *crc)
{
	struct place side = summed(job);

	if (side.tier == ANNEX_TIER_GPU && job->space->frames)
		return sum_frames(job, crc);
	sum_pages(job, annex_job_memory(job, side), crc);
	return 0;
}

/* Compare the checksums of pages that were read with those at their eviction. */
static void compare(struct annex_space *s, struct job *job, const struct tensor *t,
		    const uint32_t *crc)
{
	for (uint32_t i = 0; i < job->n && !job->err; i++)
		if (s->pages[job->page + i].crc != crc[i]) {
			job->err = -EILSEQ;
			annex_log(ANNEX_LOG_WARNING, "%s: page %u of it came back wrong from %s",
				  annex_tensor_name(t), job->page + i - t->first,
				  annex_tier_name(job->from.tier));
		}
}

static void end(struct annex_space *s, struct job *job, const uint32_t *crc, struct job_list *start)
{
	struct tensor *t = tensor_of(s, job->page);

	for (uint32_t i = job->page; i < job->page + job->n; i++)
		s->pages[i].flags &= (uint8_t)~PAGE_BUSY;
	t->jobs--;
	s->jobs--;
	if (crc && !job->err && job->from.tier != ANNEX_TIER_GPU && job->from.tier != NO_TIER)
		compare(s, job, t, crc);
	if (job->to.tier == ANNEX_TIER_GPU)
		end_in(s, job, t);
	else if (job->from.tier == ANNEX_TIER_GPU)
		end_out(s, job, t, crc);
	else
		end_below(s, job, t, crc);
	if (job->err == -ENODEV && annex_job_is_stored(job))
		lose_copies(s, job->to.tier >= ANNEX_TIER_SSD ? job->to.tier : job->from.tier);
	if (job->bounced)
		s->stats.bounced += pages_bytes(job->n);
	if (job->move) {
		job->move->jobs--;
		if (job->err && !job->recalled && !job->move->err)
			job->move->err = job->err;
	}
	annex_moves_go_on(s, t, start);
	annex_tensor_rest(s, t);
	if (!s->jobs)
		pthread_cond_broadcast(&s->idle);
	free(job);
}

void annex_jobs_recall(struct annex_space *s, uint32_t first, uint32_t n)
{
	for (unsigned int tier = ANNEX_TIER_HOST; tier < ANNEX_TIERS; tier++) {
		struct job_list jobs = {0};
		struct job *job;

		if (s->tiers[tier].present)
			jobs = annex_link_recall(&s->tiers[tier].lane, first, n);
		while ((job = annex_jobs_take(&jobs)))
			annex_job_recall(s, job);
	}
}

void annex_jobs_settle(struct annex_space *s, struct job_list *start)
{
	struct job *job;

	do {
		while ((job = annex_jobs_take(&s->ended)))
			end(s, job, NULL, start);
		annex_room_made(s, start);
	} while (s->ended.head);
}

/* Free excess memory, without the lock. */
static void trim(struct annex_space *s)
{
	uint32_t excess = s->pool ? annex_pool_excess(s) : 0;

	if (!excess && (!s->frames || !annex_frames_exceed(s)))
		return;
	s->trims++;
	pthread_mutex_unlock(&s->lock);
	if (excess)
		annex_pool_trim(s, excess);
	else
		annex_frames_trim(s, false);
	pthread_mutex_lock(&s->lock);
	s->trims--;
	if (!s->jobs)
		pthread_cond_broadcast(&s->idle);
}

/* Finish the jobs of a transfer that has ended on a link. No lock is held. */
static void finish(struct job *first, struct job_list *start)
{
	struct annex_space *s = first->space;
	uint32_t sum[JOB_MOST], *crc = s->opts.checksum ? sum : NULL;
	struct job *job, *next;

	/* Pages of a job are not written, so this needs no lock. */
	for (job = first; job && crc; crc += job->n, job = job->with)
		if (!job->err && !job->drop && job->from.tier != NO_TIER)
			job->err = sums(job, crc);
	annex_job_unmap(first);
	crc = s->opts.checksum ? sum : NULL;
	pthread_mutex_lock(&s->lock);
	for (job = first; job; job = next) {
		uint32_t n = job->n;

		next = job->with;
		end(s, job, crc, start);
		crc = crc ? crc + n : NULL;
	}
	annex_jobs_settle(s, start);
	trim(s);
	pthread_mutex_unlock(&s->lock);
}

void annex_jobs_start(struct job_list *start)
{
	struct job *job;

	while ((job = annex_link_add(start)))
		finish(job, start);
}

void *annex_jobs_work(void *arg)
{
	struct link_worker *worker = arg;
	struct job_list start = {0};
	struct job *job;

	while (annex_link_wait(worker)) {
		while ((job = annex_link_ended(worker)))
			finish(job, &start);
		annex_jobs_start(&start);
	}
	return NULL;
}

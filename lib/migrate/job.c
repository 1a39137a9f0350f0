// SPDX-License-Identifier: MIT
/*
 * What the end of a job means for its pages, and for who waits for them.
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "core/crc32c.h"
#include "core/log.h"
#include "fault.h"
#include "frames.h"
#include "job.h"
#include "page.h"
#include "room.h"
#include "tier.h"

struct job *annex_job_new(struct annex_space *s, struct annex_move *move, enum job_kind kind,
			  uint32_t first, uint32_t n)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->space = s;
	job->move = move;
	job->kind = kind;
	job->page = first;
	job->n = n;
	job->deadline = move ? move->want.deadline : 0;
	for (uint32_t i = first; i < first + n; i++)
		s->pages[i].flags |= PAGE_BUSY;
	tensor_of(s, first)->jobs++;
	s->jobs++;
	if (move)
		move->jobs++;
	return job;
}

void *annex_job_memory(const struct job *job, struct place side)
{
	struct annex_space *s = job->space;
	uint8_t *arena = side.tier == ANNEX_TIER_GPU ? s->alias : s->tiers[side.tier].arena;

	return arena + pages_bytes(side.page);
}

static bool is_stored(const struct job *job)
{
	return job->from.tier >= ANNEX_TIER_SSD || job->to.tier >= ANNEX_TIER_SSD;
}

/* Those of a transfer that are neighbours in the device tier, from *@job on, which is moved on. */
static struct uffdio_range neighbours(const struct job **job)
{
	const struct job *j = *job;
	uint64_t at = (uintptr_t)j->space->alias + pages_bytes(j->page), n = j->n;

	for (; j->with && j->with->page == j->page + j->n; j = j->with)
		n += j->with->n;
	*job = j->with;
	return (struct uffdio_range){.start = at, .len = n * ANNEX_MEM_PAGE};
}

/* What a buffer stands for need not be, but to be summed. */
static bool is_mapped(const struct job *job)
{
	return is_stored(job) && job->space->alias &&
	       (!job->bounced || job->space->opts.checksum) &&
	       (job->to.tier == ANNEX_TIER_GPU || job->from.tier == ANNEX_TIER_GPU);
}

/* Those of a transfer from @first on that go side by side. Return: the next one. */
static struct job *hide(struct annex_space *s, struct job *first)
{
	struct job *end = first, *job;
	uint32_t n = 0;

	for (; end && !end->recalled && end->page == first->page + n; end = end->with)
		n += end->n;
	if (!annex_pages_hide(s, first->page, n))
		for (job = first; job != end; job = job->with)
			job->recalled = true;
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
		/* What a GPU's kernel may write cannot be saved meanwhile either. */
		job->recalled = tensor_of(s, job->page)->holds && (!job->keep || s->frames);
	for (job = first; job;)
		job = job->recalled ? job->with : hide(s, job);
	for (job = first; job; job = job->with)
		if (job->recalled)
			first->err = -ECANCELED;
	pthread_mutex_unlock(&s->lock);
}

/* What an ioctl leaves out is faulted in. */
void annex_job_map(const struct job *first)
{
	int uffd = first->space->transfers;

	if (!is_mapped(first))
		return;
	for (const struct job *job = first; job && first->to.tier == ANNEX_TIER_GPU;) {
		struct uffdio_zeropage zero = {.range = neighbours(&job)};

		ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	}
	for (const struct job *job = first; job && first->from.tier == ANNEX_TIER_GPU;) {
		struct uffdio_continue there = {.range = neighbours(&job)};

		ioctl(uffd, UFFDIO_CONTINUE, &there);
	}
}

static void lose(struct annex_space *s, struct tensor *t, uint32_t first, uint32_t n,
		 const struct job *job)
{
	uint32_t end = first + n, part;

	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_WANTED);
		if (!(s->pages[first].flags & PAGE_WANTED))
			continue;
		annex_log(ANNEX_LOG_WARNING, "%s: a program that touches it gets a SIGSEGV: %s: %s",
			  annex_tensor_name(t),
			  job->refused ? "nothing leaves for it" : "it cannot be had",
			  annex_strerror(job->err));
		annex_pages_fence(s, first, part);
	}
}

/* Some of it may be good: page by page, then. Return: whether it is tried again. */
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
	for (uint32_t i = first; i < first + job->n; i++)
		s->pages[i].flags |= PAGE_DEVICE;
	if (!job->err) {
		s->stats.in += job->from.tier == NO_TIER ? 0 : pages_bytes(job->n);
		if (!job->keep)
			annex_pages_forget(s, first, job->n);
		if (t->live)
			annex_pages_show(s, first, job->n);
		return;
	}
	annex_pages_drop(s, first, job->n);
	if (one_by_one(s, job, t))
		job->err = 0;
	else
		lose(s, t, first, job->n, job);
}

/* They are below now, at the place that the job has written to. */
static void settle(struct annex_space *s, const struct job *job, const uint32_t *crc)
{
	for (uint32_t i = 0; i < job->n; i++) {
		struct page *p = &s->pages[job->page + i];

		p->flags |= PAGE_BELOW;
		p->tier = job->to.tier;
		p->loc = job->to.page + i;
		if (crc)
			p->crc = crc[i];
	}
}

/* What programs have touched meanwhile, and is not there. */
static void bring_wanted(struct annex_space *s, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		/* One brings its neighbours along. */
		if (!s->closing && (s->pages[i].flags & (PAGE_WANTED | PAGE_BUSY)) == PAGE_WANTED)
			annex_fault_absent(s, i);
}

static void end_out(struct annex_space *s, const struct job *job, struct tensor *t,
		    const uint32_t *crc)
{
	uint32_t first = job->page, end = first + job->n, part;

	if (!job->keep)
		s->leaving -= job->n;
	t->leaving -= job->n;
	if (!job->recalled)
		annex_tier_result(s, job, annex_tensor_name(t));
	if (job->err) {
		annex_tier_give(s, job->to.tier, job->to.page, job->n);
		if (!job->move && !job->recalled)
			annex_log(ANNEX_LOG_WARNING, "%s: it cannot leave for %s: %s",
				  annex_tensor_name(t), annex_tier_name(job->to.tier),
				  annex_strerror(job->err));
	} else {
		s->stats.out += pages_bytes(job->n);
		settle(s, job, crc);
	}
	if (job->punched) {
		annex_pages_gone(s, first, job->n);
		bring_wanted(s, first, end);
		return;
	}
	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_WANTED | PAGE_SHOWN);
		/* It was not hidden, and nobody waits. */
		if ((s->pages[first].flags & (PAGE_WANTED | PAGE_SHOWN)) == PAGE_SHOWN)
			continue;
		/* Shown where writes are not seen, it would count as written. */
		if (s->pages[first].flags & PAGE_WANTED || (job->keep && s->track) || job->recalled)
			annex_pages_show(s, first, part);
		else if (!job->err && !job->keep)
			annex_pages_drop(s, first, part);
	}
}

static void end_below(struct annex_space *s, const struct job *job, const uint32_t *crc)
{
	if (job->err) {
		annex_tier_give(s, job->to.tier, job->to.page, job->n);
	} else {
		s->stats.below += pages_bytes(job->n);
		annex_tier_give(s, job->from.tier, job->from.page, job->n);
		settle(s, job, crc);
	}
	bring_wanted(s, job->page, job->page + job->n);
}

/* Where the device tier need not be looked at, it is not mapped. */
static struct place summed(const struct job *job)
{
	if (is_stored(job))
		return job->to.tier < ANNEX_TIER_SSD ? job->to : job->from;
	return job->to.tier == ANNEX_TIER_GPU ? job->from : job->to;
}

static void sum_pages(const struct job *job, const uint8_t *p, uint32_t *crc)
{
	for (uint32_t i = 0; i < job->n; i++)
		crc[i] = crc32c((const void *)(p + pages_bytes(i)), ANNEX_MEM_PAGE / 8, 0);
}

/* What a GPU holds is fetched for it. */
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

/* Whether what came back is what had left. */
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
	if (crc && !job->err && job->from.tier != ANNEX_TIER_GPU)
		compare(s, job, t, crc);
	if (job->to.tier == ANNEX_TIER_GPU)
		end_in(s, job, t);
	else if (job->from.tier == ANNEX_TIER_GPU)
		end_out(s, job, t, crc);
	else
		end_below(s, job, crc);
	if (job->bounced)
		s->stats.bounced += pages_bytes(job->n);
	if (job->move) {
		job->move->jobs--;
		if (job->err && !job->recalled && !job->move->err)
			job->move->err = job->err;
	}
	annex_moves_go_on(s, t, start);
	annex_tensor_rest(s, t);
	annex_room_made(s, start);
	if (!s->jobs)
		pthread_cond_broadcast(&s->idle);
	free(job);
}

void annex_job_finish(struct annex_space *s, struct job *job, struct job_list *start)
{
	end(s, job, NULL, start);
}

void annex_job_recall(struct annex_space *s, struct job *job, struct job_list *start)
{
	job->err = -ECANCELED;
	job->recalled = true;
	end(s, job, NULL, start);
}

/* That they were mapped a second time would count twice. */
static void unmap_alias(const struct job *job)
{
	while (job) {
		struct uffdio_range range = neighbours(&job);

		madvise((void *)(uintptr_t)range.start, range.len, MADV_DONTNEED);
	}
}

/* Whether all of a transfer leaves for good: it has been written, and nobody waits for it. */
static bool leaves(struct annex_space *s, const struct job *first)
{
	bool all = true;

	/* Frames are taken away with the lock. */
	if (first->from.tier != ANNEX_TIER_GPU || s->frames)
		return false;
	pthread_mutex_lock(&s->lock);
	for (const struct job *job = first; job && all; job = job->with)
		all = !job->err && !job->keep && !annex_pages_wanted(s, job->page, job->n);
	pthread_mutex_unlock(&s->lock);
	return all;
}

/* All at once, and while others use the space; who touches them from now on waits for the end. */
static void punch(struct annex_space *s, struct job *first)
{
	const struct job *job = first;

	while (job) {
		struct uffdio_range range = neighbours(&job);

		annex_pages_punch(s,
				  (uint32_t)((range.start - (uintptr_t)s->alias) / ANNEX_MEM_PAGE),
				  (uint32_t)(range.len / ANNEX_MEM_PAGE));
	}
	for (; first; first = first->with)
		first->punched = true;
}

void annex_job_done(struct job *first, struct job_list *start)
{
	struct annex_space *s = first->space;
	uint32_t sum[JOB_PAGES], *crc = s->opts.checksum ? sum : NULL;
	struct job *job, *next;

	/* Nobody writes the pages of a job, so this needs no lock. */
	for (job = first; job && crc; crc += job->n, job = job->with)
		if (!job->err)
			job->err = sums(job, crc);
	if (leaves(s, first))
		punch(s, first);
	else if (is_mapped(first))
		unmap_alias(first);
	crc = s->opts.checksum ? sum : NULL;
	pthread_mutex_lock(&s->lock);
	for (job = first; job; job = next) {
		uint32_t n = job->n;

		next = job->with;
		end(s, job, crc, start);
		crc = crc ? crc + n : NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

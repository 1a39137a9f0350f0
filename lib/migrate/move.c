// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "core/least.h"
#include "core/log.h"
#include "core/thread.h"
#include "move.h"
#include "page.h"
#include "tier.h"

#define TEXT 400u /* bytes of an error's text */

/* Number of neighbours from @first on whose copies below are neighbours as well. */
static uint32_t together(const struct annex_space *s, uint32_t first, uint32_t n)
{
	const struct page *p = &s->pages[first];
	uint32_t i = 1;

	n = (uint32_t)least(n, s->tiers[p->tier].job_pages);
	while (i < n && (p[i].flags & (PAGE_BUSY | PAGE_DEVICE | PAGE_BELOW)) == PAGE_BELOW &&
	       p[i].tier == p->tier && p[i].loc == p->loc + i)
		i++;
	return i;
}

/* Make a job, and mark its pages as busy; NULL: no memory. */
static struct job *new_job(struct annex_space *s, struct annex_move *move, enum job_kind kind,
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
	/* Evictions without a write are first. */
	job->deadline = kind == JOB_OUT ? 1 : move ? move->want.deadline : 0;
	for (uint32_t i = first; i < first + n; i++)
		s->pages[i].flags |= PAGE_BUSY;
	tensor_of(s, first)->jobs++;
	s->jobs++;
	if (move)
		move->jobs++;
	return job;
}

int annex_move_in(struct annex_space *s, struct annex_move *move, enum job_kind kind,
		  uint32_t first, uint32_t n)
{
	const struct page *p = &s->pages[first];
	struct job *job = new_job(s, move, kind, first, n);

	if (!job)
		return annex_fail(-ENOMEM, "space: no memory for a transfer");
	job->from = (struct place){p->tier, p->loc};
	job->to = (struct place){ANNEX_TIER_GPU, first};
	job->lane = &s->tiers[p->tier].lane;
	job->keep = !move || move->want.keep;
	annex_jobs_sort_in(&s->waiting, job);
	return 0;
}

/* Make neighbouring pages without contents. A thread of a link makes them if that takes long, or no
 * program waits. */
static int move_zeroes(struct annex_space *s, struct annex_move *move, enum job_kind kind,
		       uint32_t first, uint32_t n)
{
	bool apart = s->frames || kind == JOB_IN;
	struct job *job = new_job(s, move, kind, first, n);

	if (!job)
		return annex_fail(-ENOMEM, "space: no memory for a transfer");
	job->from.tier = NO_TIER;
	job->to = (struct place){ANNEX_TIER_GPU, first};
	job->lane = apart ? &s->tiers[ANNEX_TIER_GPU].lane : NULL;
	job->zeroes = !tensor_of(s, first)->any && !(move && move->want.fresh);
	annex_jobs_sort_in(&s->waiting, job);
	return 0;
}

void annex_move_make(struct annex_space *s, const struct tensor *t)
{
	for (uint32_t at = t->first, end = at + t->n, n; at < end; at += n) {
		n = (uint32_t)least(end - at, s->job_pages);
		if (move_zeroes(s, NULL, JOB_IN, at, n))
			return;
	}
}

static int bring_zeroes(struct annex_space *s, uint32_t page)
{
	uint32_t n, first = annex_pages_around(s, page, PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY, &n);

	return move_zeroes(s, NULL, JOB_FAULT, first, n);
}

static int bring_copy(struct annex_space *s, uint32_t page)
{
	uint32_t n, first = annex_pages_around(s, page, PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY, &n);
	uint32_t part = together(s, first, n);

	/* The copies below are not neighbours: begin with this page. */
	if (page - first >= part) {
		n -= page - first;
		first = page;
		part = together(s, first, n);
	}
	return annex_move_in(s, NULL, JOB_FAULT, first, part);
}

void annex_move_wanted(struct annex_space *s, uint32_t page)
{
	int err;

	s->pages[page].flags |= PAGE_WANTED;
	if (s->pages[page].flags & PAGE_BELOW)
		err = bring_copy(s, page);
	else
		err = bring_zeroes(s, page);
	if (err) {
		annex_log(ANNEX_LOG_FATAL,
			  "%s: a program that touches it gets a SIGSEGV: no memory",
			  annex_tensor_name(tensor_of(s, page)));
		annex_pages_fence(s, page, 1);
	}
}

/* Write pages without a copy. They are mapped for programs until annex_job_hide(). */
static int write_out(struct annex_space *s, struct annex_move *move, unsigned int tier,
		     uint32_t first, uint32_t n, struct job_list *start)
{
	struct job *job;
	uint32_t loc;

	n = annex_tier_take(s, tier, (uint32_t)least(n, s->tiers[tier].job_pages), &loc);
	if (!n)
		return -ENOSPC;
	job = new_job(s, move, JOB_OUT, first, n);
	if (!job) {
		annex_tier_give(s, tier, loc, n);
		return annex_fail(-ENOMEM, "space: no memory for a transfer");
	}
	job->from = (struct place){ANNEX_TIER_GPU, first};
	job->to = (struct place){(uint8_t)tier, loc};
	job->round = s->tiers[tier].round;
	job->lane = &s->tiers[tier].lane;
	job->keep = move && move->want.keep;
	if (!job->keep)
		s->leaving += n;
	tensor_of(s, first)->leaving += n;
	annex_jobs_add(start, job);
	return (int)n;
}

/* Evict pages with a copy for a caller's move, by a job: freeing memory is slow, and must not delay
 * the caller. */
static int drop_later(struct annex_space *s, struct annex_move *move, uint32_t first, uint32_t n,
		      struct job_list *start)
{
	const struct page *p = &s->pages[first];
	struct job *job = new_job(s, move, JOB_OUT, first, (uint32_t)least(n, s->job_pages));

	if (!job)
		return annex_fail(-ENOMEM, "space: no memory for a transfer");
	job->from = (struct place){ANNEX_TIER_GPU, first};
	job->to = (struct place){p->tier, p->loc};
	job->lane = &s->tiers[p->tier].lane;
	job->deadline = 0;
	job->drop = true;
	s->leaving += job->n;
	tensor_of(s, first)->leaving += job->n;
	annex_jobs_add(start, job);
	return (int)job->n;
}

static bool is_stored(unsigned int tier)
{
	return tier >= ANNEX_TIER_SSD;
}

/* Move pages from one lower tier to another, but not from storage to storage. */
static int shift(struct annex_space *s, struct annex_move *move, unsigned int tier, uint32_t first,
		 uint32_t n, struct job_list *start)
{
	unsigned int from = s->pages[first].tier;
	struct job *job;
	uint32_t loc;

	n = together(s, first, n);
	if (from == tier || (is_stored(from) && is_stored(tier)))
		return (int)n;
	n = annex_tier_take(s, tier, (uint32_t)least(n, s->tiers[tier].job_pages), &loc);
	if (!n)
		return -ENOSPC;
	job = new_job(s, move, is_stored(tier) ? JOB_OUT : JOB_IN, first, n);
	if (!job) {
		annex_tier_give(s, tier, loc, n);
		return annex_fail(-ENOMEM, "space: no memory for a transfer");
	}
	job->from = (struct place){(uint8_t)from, s->pages[first].loc};
	job->to = (struct place){(uint8_t)tier, loc};
	job->round = s->tiers[tier].round;
	job->lane = &s->tiers[is_stored(from) ? from : tier].lane;
	annex_jobs_add(start, job);
	return (int)n;
}

int annex_move_out(struct annex_space *s, struct annex_move *move, unsigned int tier,
		   uint32_t first, uint32_t n, struct job_list *start)
{
	uint8_t flags = s->pages[first].flags;

	n = annex_pages_alike(s, first, n, PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY);
	if (!(flags & PAGE_DEVICE))
		return flags & PAGE_BELOW ? shift(s, move, tier, first, n, start) : (int)n;
	if (!(flags & PAGE_BELOW))
		return write_out(s, move, tier, first, n, start);
	if (move && move->want.keep)
		return (int)n;
	if (move && !s->frames)
		return drop_later(s, move, first, n, start);
	s->stats.clean += pages_bytes(n);
	annex_pages_drop(s, first, n);
	return (int)n;
}

/* Return: as step(). */
static int step_in(struct annex_space *s, struct annex_move *m, uint32_t n)
{
	enum job_kind kind = m->want.urgent ? JOB_FAULT : JOB_IN;
	int err = 0;

	if (m->want.fresh)
		annex_pages_forget(s, m->at, n);
	if (s->pages[m->at].flags & PAGE_BELOW) {
		n = (uint32_t)least(together(s, m->at, n), m->want.most);
		err = annex_move_in(s, m, kind, m->at, n);
		m->want.most -= n;
	} else if (m->want.urgent || s->user_only || tensor_of(s, m->at)->holds) {
		n = (uint32_t)least(n, s->job_pages);
		err = move_zeroes(s, m, kind, m->at, n);
	}
	return err ? err : (int)n;
}

/* Postpone an eviction until kernels in streams have ended, and count its pages as leaving. */
static int promise(struct annex_space *s, struct annex_move *m)
{
	uint32_t n = 0;

	for (uint32_t i = m->at; i < m->end && !m->want.keep && n < m->want.most; i++)
		n += (s->pages[i].flags & (PAGE_DEVICE | PAGE_BUSY)) == PAGE_DEVICE;
	m->promised = n;
	s->promised += n;
	return 0;
}

/* Return: as step(). */
static int step_out(struct annex_space *s, struct annex_move *m, uint32_t n, struct job_list *start)
{
	const struct tensor *t = tensor_of(s, m->at);
	bool device = s->pages[m->at].flags & PAGE_DEVICE;
	int rc;

	/* A tensor with undetected writes cannot be saved either. */
	if (t->holds && (!m->want.keep || s->frames || (s->user_only && t->writers)))
		return m->want.patient && t->holds == t->flights ? promise(s, m) : -EBUSY;
	rc = annex_move_out(s, m, m->want.to, m->at, (uint32_t)least(n, m->want.most), start);
	if (rc > 0 && device)
		m->want.most -= (uint32_t)rc;
	return rc;
}

bool annex_move_expedite(struct annex_space *s, uint32_t page)
{
	struct job *job = s->waiting.head;

	while (job && (page < job->page || page - job->page >= job->n))
		job = job->next;
	if (job && job->kind != JOB_FAULT) {
		annex_jobs_remove(&s->waiting, job);
		job->kind = JOB_FAULT;
		annex_jobs_sort_in(&s->waiting, job);
	}
	return job;
}

/* Return: number of handled pages; 0: the next one is busy; a negative errno. */
static int step(struct annex_space *s, struct annex_move *m, struct job_list *start)
{
	uint8_t flags = s->pages[m->at].flags;
	uint32_t n = m->end - m->at;

	n = annex_pages_alike(s, m->at, n, PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY | PAGE_SHOWN);
	if (m->want.urgent && !m->want.most && flags & (PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY))
		return (int)n;
	if (flags & PAGE_BUSY) {
		/* It may wait behind prefetches for which held pages leave no room. */
		if (m->want.urgent)
			annex_move_expedite(s, m->at);
		return 0;
	}
	if (!m->want.most && !m->want.urgent)
		return (int)n;
	if (m->want.to != ANNEX_TIER_GPU)
		return step_out(s, m, n, start);
	if (!(flags & PAGE_DEVICE))
		return step_in(s, m, n);
	if (!(flags & PAGE_SHOWN))
		annex_pages_show(s, m->at, n);
	return (int)n;
}

static void dispose(struct annex_move *m)
{
	pthread_cond_destroy(&m->ended);
	free(m->name);
	free(m);
}

/* Text of a move's error. */
static void explain(const struct annex_move *m, char *text, size_t size)
{
	snprintf(text, size, "%s: it cannot be moved to %s: %s%s", m->name,
		 annex_tier_name(m->want.to), m->why, annex_strerror(m->err));
}

static void finish(struct tensor *t, struct annex_move *m)
{
	struct annex_move **at = &t->moves;
	char text[TEXT];

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	m->done = true;
	if (!m->detached) {
		pthread_cond_broadcast(&m->ended);
		return;
	}
	if (m->err && m->err != -ECANCELED) {
		explain(m, text, sizeof(text));
		/*
		 * The pages are held, or the tier is full: the eviction was too early. They stay,
		 * and are evicted when room is needed.
		 */
		annex_log(m->err == -EBUSY || m->err == -ENOSPC ? ANNEX_LOG_INFO
								: ANNEX_LOG_WARNING,
			  "%s", text);
	}
	dispose(m);
}

static void go_on(struct annex_space *s, struct tensor *t, struct annex_move *m,
		  struct job_list *start)
{
	s->promised -= m->promised;
	m->promised = 0;
	if (m->err)
		m->at = m->end;
	while (m->at < m->end) {
		int n = step(s, m, start);

		if (!n)
			return;
		if (n < 0) {
			m->err = m->err ? m->err : n;
			m->at = m->end;
		} else {
			m->at += (uint32_t)n;
		}
	}
	if (!m->jobs)
		finish(t, m);
}

void annex_moves_go_on(struct annex_space *s, struct tensor *t, struct job_list *start)
{
	struct annex_move *next;

	for (struct annex_move *m = t->moves; m; m = next) {
		next = m->next;
		go_on(s, t, m, start);
	}
}

void annex_moves_stay(struct annex_space *s, struct tensor *t, struct job_list *start)
{
	bool some = false;

	for (struct annex_move *m = t->moves; m; m = m->next)
		if (m->promised) { /* the plan had another order of kernels */
			m->err = m->err ? m->err : -EBUSY;
			some = true;
		}
	if (some)
		annex_moves_go_on(s, t, start);
}

void annex_moves_cancel(struct annex_space *s, struct tensor *t)
{
	struct job_list none = {0};

	for (struct annex_move *m = t->moves; m; m = m->next) {
		m->err = m->err ? m->err : -ECANCELED;
		m->at = m->end;
	}
	annex_moves_go_on(s, t, &none);
}

struct annex_move *annex_move_new(struct annex_space *s, const struct tensor *t,
				  const struct want *want)
{
	struct annex_move *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;

	if (!m)
		return NULL;
	m->name = strdup(annex_tensor_name(t));
	if (!m->name) {
		free(m);
		return NULL;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&m->ended, &attr);
	pthread_condattr_destroy(&attr);
	m->space = s;
	m->want = *want;
	return m;
}

void annex_move_add(struct annex_space *s, struct tensor *t, struct annex_move *m,
		    struct job_list *start)
{
	m->next = t->moves;
	t->moves = m;
	go_on(s, t, m, start);
}

int annex_move_await(struct annex_move *m, struct annex_patience *patience, uint32_t timeout_ms)
{
	struct annex_space *s = m->space;
	char text[TEXT];
	int err = 0;
	bool done;

	if (s->fork.child)
		return fork_refuse("space");
	pthread_mutex_lock(&s->lock);
	while (!m->done && !err)
		err = thread_wait(&m->ended, &s->lock, patience);
	done = m->done;
	pthread_mutex_unlock(&s->lock);
	if (!done)
		return annex_fail(-ETIMEDOUT, "%s: it is not at %s after %u ms", m->name,
				  annex_tier_name(m->want.to), timeout_ms);
	/* The device was late: -ETIMEDOUT would mean that the move goes on. */
	err = m->err == -ETIMEDOUT ? -EIO : m->err;
	if (err) {
		explain(m, text, sizeof(text));
		annex_fail(err, "%s", text);
	}
	dispose(m);
	return err;
}

int annex_move_wait(struct annex_move *m, uint32_t timeout_ms)
{
	struct annex_patience patience = {annex_deadline_ms(timeout_ms), 0};

	return annex_move_await(m, &patience, timeout_ms);
}

void annex_move_forget(struct annex_move *m)
{
	struct annex_space *s;
	bool done;

	if (!m || m->space->fork.child)
		return;
	s = m->space;
	pthread_mutex_lock(&s->lock);
	done = m->done;
	m->detached = true;
	pthread_mutex_unlock(&s->lock);
	if (done)
		dispose(m);
}

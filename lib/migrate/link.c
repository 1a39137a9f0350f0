// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <annex/detail/clock.h>
#include "core/thread.h"
#include "link.h"

#define PREPARED 4u /* transfers that are prepared together */

void annex_jobs_add(struct job_list *list, struct job *job)
{
	job->next = NULL;
	if (list->head)
		list->last->next = job;
	else
		list->head = job;
	list->last = job;
	list->n++;
}

static bool earlier(const struct job *a, const struct job *b)
{
	return a->kind != b->kind ? a->kind < b->kind : a->deadline < b->deadline;
}

void annex_jobs_sort_in(struct job_list *list, struct job *job)
{
	struct job **at = &list->head;

	if (!list->head || !earlier(job, list->last)) {
		annex_jobs_add(list, job);
		return;
	}
	while (!earlier(job, *at))
		at = &(*at)->next;
	job->next = *at;
	*at = job;
	list->n++;
}

struct job *annex_jobs_take(struct job_list *list)
{
	struct job *job = list->head;

	if (job) {
		list->head = job->next;
		list->n--;
	}
	return job;
}

void annex_jobs_remove(struct job_list *list, struct job *job)
{
	struct job **at = &list->head, *before = NULL;

	while (*at != job) {
		before = *at;
		at = &before->next;
	}
	*at = job->next;
	if (list->last == job)
		list->last = before;
	list->n--;
}

/* The first worker waits for jobs that programs wait for, the others for the rest in turns. */
static struct link_worker *worker_of(struct link *link, const struct job *job)
{
	if (link->ops->ways && job->kind == JOB_OUT)
		return &link->workers[link->n_workers - 1];
	if (link->ops->ways)
		return &link->workers[link->turn++ % (link->n_workers - 1)];
	if (job->kind == JOB_FAULT || link->n_workers == 1)
		return &link->workers[0];
	return &link->workers[1 + link->turn++ % (link->n_workers - 1)];
}

static struct lane *least_served(struct link *link, enum job_kind kind)
{
	struct lane *best = NULL;

	for (struct lane *lane = link->lanes; lane; lane = lane->next)
		if (lane->queued[kind].head && (!best || lane->served[kind] < best->served[kind]))
			best = lane;
	return best;
}

/*
 * Before a job is queued in an idle lane: raise the bytes served to the link's virtual time, so
 * that the lane has no credit for its idle time. The lock is held.
 */
static void catch_up(struct lane *lane, enum job_kind kind)
{
	uint64_t vtime = lane->link->vtime[kind];

	if (!lane->queued[kind].head && lane->served[kind] < vtime)
		lane->served[kind] = vtime;
}

/*
 * Join queued jobs that continue where @job ends to its transfer: the busier a link is, the larger
 * are its transfers.
 */
static void join(struct link *link, struct job_list *queued, struct job *job)
{
	struct job *last = job, *next;

	job->total = job->n;
	for (unsigned int n = 1; n < JOINED && link->ops->joins; n++) {
		next = queued->head;
		if (!next || job->drop || next->drop || job->total + next->n > link->most ||
		    !link->ops->joins(last, next))
			return;
		last->with = annex_jobs_take(queued);
		last = next;
		job->total += next->n;
	}
}

/* The next transfer that may begin, or NULL. @all: not only jobs that programs wait for. */
static struct job *choose(struct link *link, bool all)
{
	bool full = link->urgent && link->flying[JOB_FAULT] >= link->urgent;
	struct lane *lane = full ? NULL : least_served(link, JOB_FAULT);
	enum job_kind kind = JOB_FAULT;
	struct job *job;

	if (!lane && all && link->flying[JOB_IN] + link->flying[JOB_OUT] < link->depth) {
		kind = link->flying[JOB_IN] <= link->flying[JOB_OUT] ? JOB_IN : JOB_OUT;
		lane = least_served(link, kind);
		if (!lane) {
			kind = kind == JOB_IN ? JOB_OUT : JOB_IN;
			lane = least_served(link, kind);
		}
	}
	job = lane ? lane->queued[kind].head : NULL;
	if (!job || (link->ops->ready && !job->drop && !link->ops->ready(link, job)))
		return NULL;
	annex_jobs_take(&lane->queued[kind]);
	join(link, &lane->queued[kind], job);
	link->vtime[kind] = lane->served[kind];
	lane->served[kind] += (uint64_t)job->total * ANNEX_MEM_PAGE;
	return job;
}

/* Time at which a job that begins now will have passed a rate-limited link. */
static uint64_t due(struct link *link, const struct job *job)
{
	bool out = job->kind == JOB_OUT;
	uint64_t now = annex_now();

	if (link->rate[out] <= 0 || job->drop)
		return 0;
	if (link->free_at[out] < now)
		link->free_at[out] = now;
	link->free_at[out] +=
		(uint64_t)(job->total * (double)ANNEX_MEM_PAGE * 1e9 / link->rate[out]);
	return link->free_at[out];
}

double annex_link_rate(struct link *link, bool out)
{
	double rate = link->rate[out];

	pthread_mutex_lock(&link->lock);
	if (rate <= 0)
		rate = annex_pace_rate(&link->pace, out);
	pthread_mutex_unlock(&link->lock);
	return rate;
}

double annex_link_duplex(struct link *link)
{
	double parts = 2;

	pthread_mutex_lock(&link->lock);
	if (link->rate[0] <= 0 && link->rate[1] <= 0)
		parts = annex_pace_duplex(&link->pace);
	pthread_mutex_unlock(&link->lock);
	return parts;
}

static void prepare(struct link *link, struct job **jobs, unsigned int n)
{
	pthread_mutex_unlock(&link->lock);
	for (unsigned int i = 0; i < n; i++)
		link->ops->prepare(link, jobs[i]);
	pthread_mutex_lock(&link->lock);
}

/*
 * Begin transfers that may begin. The lock is held, but released meanwhile, and other threads may
 * call this. @all: as for choose().
 */
static void pump(struct link *link, bool all)
{
	unsigned int n, most = link->ops->prepare ? PREPARED : LINK_BATCH;
	struct job *jobs[LINK_BATCH];

	link->called &= !all;
	do {
		for (n = 0; n < most && (jobs[n] = choose(link, all)); n++) {
			link->flying[jobs[n]->kind]++;
			if (!jobs[n]->drop)
				annex_pace_begin(&link->pace, jobs[n]->kind == JOB_OUT,
						 &jobs[n]->passing, annex_now());
			jobs[n]->due = due(link, jobs[n]);
		}
		if (n && link->ops->prepare)
			prepare(link, jobs, n);
		if (n && link->ops->begin)
			link->ops->begin(link, jobs, n);
		for (unsigned int i = 0; i < n; i++) {
			struct link_worker *worker = worker_of(link, jobs[i]);

			annex_jobs_add(&worker->flying, jobs[i]);
			pthread_cond_signal(&worker->more);
		}
	} while (n == most);
}

/* Whether a worker begins transfers when it is called: not the worker that page faults wait for. */
static bool may_begin(const struct link *link, const struct link_worker *worker)
{
	return link->called && (link->n_workers == 1 || link->ops->ways || worker != link->workers);
}

/*
 * Begin queued jobs. Preparing pages takes processor time: workers begin prefetches, whose callers
 * have other work; jobs that programs wait for begin in this thread.
 */
static void set_going(struct link *link)
{
	pump(link, !link->ops->prepare);
	if (!link->ops->prepare || link->called)
		return;
	/* A busy worker checks this after its transfers. */
	link->called = true;
	for (unsigned int i = 0; i < link->n_workers; i++)
		if (link->workers[i].idle && may_begin(link, &link->workers[i])) {
			pthread_cond_signal(&link->workers[i].more);
			return;
		}
}

/* Short jobs that programs wait for run in this thread, which saves a wake-up. */
static bool at_once(const struct job *job)
{
	const struct link *link = job->lane->link;

	return link->ops->at_once && job->kind == JOB_FAULT && !job->move && link->rate[0] <= 0;
}

struct job *annex_link_add(struct job_list *jobs)
{
	struct job *job;

	while ((job = jobs->head)) {
		struct link *link = job->lane->link;

		if (at_once(job)) {
			link->ops->wait(link, annex_jobs_take(jobs));
			return job;
		}
		pthread_mutex_lock(&link->lock);
		for (; job && job->lane->link == link && !at_once(job); job = jobs->head) {
			annex_jobs_take(jobs);
			catch_up(job->lane, job->kind);
			annex_jobs_sort_in(&job->lane->queued[job->kind], job);
		}
		set_going(link);
		pthread_mutex_unlock(&link->lock);
	}
	return NULL;
}

/* Take the queued job of a kind that moves a page off the queue; or NULL. */
static struct job *take_with(struct lane *lane, enum job_kind kind, uint32_t page)
{
	struct job *job = lane->queued[kind].head;

	while (job && (page < job->page || page - job->page >= job->n))
		job = job->next;
	if (job)
		annex_jobs_remove(&lane->queued[kind], job);
	return job;
}

bool annex_link_expedite(struct lane *lane, uint32_t page, struct job **recalled)
{
	struct link *link = lane->link;
	struct job *job;

	pthread_mutex_lock(&link->lock);
	job = take_with(lane, JOB_IN, page);
	if (job) {
		job->kind = JOB_FAULT;
		catch_up(lane, JOB_FAULT);
		annex_jobs_add(&lane->queued[JOB_FAULT], job);
	} else {
		*recalled = take_with(lane, JOB_OUT, page);
	}
	pthread_mutex_unlock(&link->lock);
	return job;
}

struct job_list annex_link_recall(struct lane *lane, uint32_t first, uint32_t n)
{
	struct job_list *queued = &lane->queued[JOB_OUT], left = {0}, recalled = {0};
	struct job *job;

	pthread_mutex_lock(&lane->link->lock);
	while ((job = annex_jobs_take(queued))) {
		bool is_one = job->page < first + n && first < job->page + job->n;

		annex_jobs_add(is_one ? &recalled : &left, job);
	}
	*queued = left;
	pthread_mutex_unlock(&lane->link->lock);
	return recalled;
}

void annex_link_kick(struct lane *lane)
{
	pthread_mutex_lock(&lane->link->lock);
	set_going(lane->link);
	pthread_mutex_unlock(&lane->link->lock);
}

static void sleep_until(uint64_t when)
{
	struct timespec ts = {.tv_sec = (time_t)(when / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(when % ANNEX_NSEC_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Whether the jobs of a failed transfer must be retried alone: one of them may be the cause. */
static bool needs_again(const struct link *link, const struct job *job)
{
	if (!link->ops->again || !job->err)
		return false;
	return job->err == -ECANCELED ||
	       (job->with && job->err != -ENODEV && job->err != -ETIMEDOUT);
}

/* Give all jobs of a transfer its error. */
static void spread(struct job *first)
{
	for (struct job *job = first->with; job; job = job->with)
		job->err = first->err;
}

/* Empty a job's buffer, which other jobs need. The copy is made without the lock, since page faults
 * may wait for it. */
static void empty(struct link *link, struct job *job)
{
	link->ops->unload(link, job);
	pthread_mutex_lock(&link->lock);
	link->ops->give_back(link, job);
	pthread_mutex_unlock(&link->lock);
}

struct job *annex_link_ended(struct link_worker *worker)
{
	struct job *job = annex_jobs_take(&worker->ended);
	struct link *link = worker->link;

	if (!job)
		return NULL;
	if (needs_again(link, job))
		link->ops->again(link, job);
	else
		spread(job);
	if (job->bounced) {
		empty(link, job);
		worker->emptied = true;
	}
	return job;
}

static void count_end(struct link *link, const struct job *job, uint64_t now)
{
	double bytes = job->err ? 0 : job->total * (double)ANNEX_MEM_PAGE;

	if (!job->drop)
		annex_pace_end(&link->pace, job->kind == JOB_OUT, &job->passing, bytes, now);
}

/* Take ended transfers off the worker's list, whose first one has ended. The lock is held. */
static struct job_list reap(struct link *link, struct link_worker *worker)
{
	struct job_list done = {0}, left = {0};
	uint64_t now = annex_now();
	struct job *job, *next;

	for (job = worker->flying.head; job; job = next) {
		next = job->next;
		if (!job->ended && link->ops->poll)
			job->ended = link->ops->poll(link, job);
		if (job->ended && job->due <= now) {
			link->flying[job->kind]--;
			count_end(link, job, now);
			annex_jobs_add(&done, job);
		} else {
			annex_jobs_add(&left, job);
		}
	}
	worker->flying = left;
	return done;
}

/* Wait for the worker's first transfer, and take it and other ended ones. */
static void wait_first(struct link *link, struct link_worker *worker)
{
	struct job *job = worker->flying.head;

	pthread_mutex_unlock(&link->lock);
	if (!job->ended)
		link->ops->wait(link, job);
	if (job->due)
		sleep_until(job->due);
	pthread_mutex_lock(&link->lock);
	job->ended = true;
	worker->ended = reap(link, worker);
	pump(link, true);
}

bool annex_link_wait(struct link_worker *worker)
{
	struct link *link = worker->link;
	bool works;

	pthread_mutex_lock(&link->lock);
	if (worker->emptied)
		pump(link, true);
	worker->emptied = false;
	for (;;) {
		worker->idle = true;
		while (!worker->flying.head && !link->stop && !may_begin(link, worker))
			pthread_cond_wait(&worker->more, &link->lock);
		worker->idle = false;
		works = worker->flying.head;
		if (works || link->stop)
			break;
		pump(link, true);
	}
	if (works)
		wait_first(link, worker);
	pthread_mutex_unlock(&link->lock);
	return works;
}

void annex_mutex_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int annex_link_start(struct link *link, const struct link_ops *ops, unsigned int workers,
		     void *(*work)(void *))
{
	annex_mutex_init(&link->lock);
	link->ops = ops;
	link->n_workers = workers;
	for (unsigned int i = 0; i < workers; i++) {
		struct link_worker *worker = &link->workers[i];

		worker->link = link;
		pthread_cond_init(&worker->more, NULL);
		if (annex_thread_start(&worker->thread, work, worker)) {
			annex_link_stop(link);
			return -EAGAIN;
		}
		worker->works = true;
	}
	return 0;
}

uint64_t annex_link_cpu(const struct link *link)
{
	uint64_t ns = 0;
	clockid_t clock;

	for (unsigned int i = 0; i < link->n_workers; i++)
		if (!pthread_getcpuclockid(link->workers[i].thread, &clock))
			ns += thread_cpu(clock);
	return ns;
}

void annex_link_stop(struct link *link)
{
	pthread_mutex_lock(&link->lock);
	link->stop = true;
	for (unsigned int i = 0; i < link->n_workers; i++)
		if (link->workers[i].works)
			pthread_cond_signal(&link->workers[i].more);
	pthread_mutex_unlock(&link->lock);
	for (unsigned int i = 0; i < link->n_workers; i++) {
		if (!link->workers[i].works)
			continue;
		pthread_join(link->workers[i].thread, NULL);
		pthread_cond_destroy(&link->workers[i].more);
	}
	pthread_mutex_destroy(&link->lock);
}

void annex_link_join(struct link *link, struct lane *lane)
{
	pthread_mutex_lock(&link->lock);
	lane->link = link;
	lane->next = link->lanes;
	link->lanes = lane;
	pthread_mutex_unlock(&link->lock);
}

void annex_link_leave(struct link *link, struct lane *lane)
{
	struct lane **at = &link->lanes;

	pthread_mutex_lock(&link->lock);
	while (*at != lane)
		at = &(*at)->next;
	*at = lane->next;
	pthread_mutex_unlock(&link->lock);
}

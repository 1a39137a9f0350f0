// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <annex/clock.h>
#include "link.h"

#define MEASURED (1u << 20) /* bytes, before a rate means something */

void annex_jobs_add(struct job_list *list, struct job *job)
{
	job->next = NULL;
	if (list->head)
		list->last->next = job;
	else
		list->head = job;
	list->last = job;
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
}

struct job *annex_jobs_take(struct job_list *list)
{
	struct job *job = list->head;

	if (job)
		list->head = job->next;
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
}

static struct crew *crew_of(struct link *link, const struct job *job)
{
	return &link->crews[job->kind == JOB_FAULT ? 0 : link->n_crews - 1];
}

static struct lane *poorest(struct link *link, enum job_kind kind)
{
	struct lane *best = NULL;

	for (struct lane *lane = link->lanes; lane; lane = lane->next)
		if (lane->queued[kind].head && (!best || lane->served < best->served))
			best = lane;
	return best;
}

/* The next job that may begin, or NULL. */
static struct job *choose(struct link *link)
{
	struct lane *lane = poorest(link, JOB_FAULT);
	enum job_kind kind = JOB_FAULT;
	struct job *job;

	if (!lane && link->flying[JOB_IN] + link->flying[JOB_OUT] < link->depth) {
		kind = link->flying[JOB_IN] <= link->flying[JOB_OUT] ? JOB_IN : JOB_OUT;
		lane = poorest(link, kind);
		if (!lane) {
			kind = kind == JOB_IN ? JOB_OUT : JOB_IN;
			lane = poorest(link, kind);
		}
	}
	if (!lane || (link->ops->ready && !link->ops->ready(link, lane->queued[kind].head)))
		return NULL;
	job = annex_jobs_take(&lane->queued[kind]);
	lane->served += (uint64_t)job->n * ANNEX_MEM_PAGE;
	return job;
}

/* When a job that begins now will have passed a link that is held back. */
static uint64_t due(struct link *link, const struct job *job)
{
	bool out = job->kind == JOB_OUT;
	uint64_t now = annex_now();

	if (link->rate[out] <= 0)
		return 0;
	if (link->free_at[out] < now)
		link->free_at[out] = now;
	link->free_at[out] += (uint64_t)(job->n * (double)ANNEX_MEM_PAGE * 1e9 / link->rate[out]);
	return link->free_at[out];
}

static void count_begin(struct link *link, bool out)
{
	if (!link->active[out]++)
		link->since[out] = annex_now();
}

static void count_end(struct link *link, const struct job *job)
{
	bool out = job->kind == JOB_OUT;

	link->moved[out] += (uint64_t)job->n * ANNEX_MEM_PAGE;
	if (!--link->active[out])
		link->busy[out] += annex_now() - link->since[out];
}

double annex_link_rate(struct link *link, bool out)
{
	double rate;

	pthread_mutex_lock(&link->lock);
	rate = link->rate[out];
	if (rate <= 0 && link->moved[out] >= MEASURED && link->busy[out])
		rate = (double)link->moved[out] * 1e9 / (double)link->busy[out];
	pthread_mutex_unlock(&link->lock);
	return rate;
}

/* Begin what may begin. The lock is held. */
static void pump(struct link *link)
{
	struct job *jobs[LINK_BATCH];
	unsigned int n;

	do {
		for (n = 0; n < LINK_BATCH && (jobs[n] = choose(link)); n++) {
			link->flying[jobs[n]->kind]++;
			count_begin(link, jobs[n]->kind == JOB_OUT);
			jobs[n]->due = due(link, jobs[n]);
		}
		if (n && link->ops->begin)
			link->ops->begin(link, jobs, n);
		for (unsigned int i = 0; i < n; i++) {
			struct crew *crew = crew_of(link, jobs[i]);

			annex_jobs_add(&crew->flying, jobs[i]);
			pthread_cond_signal(&crew->more);
		}
	} while (n == LINK_BATCH);
}

void annex_link_add(struct job_list *jobs)
{
	struct job *job = jobs->head, *next;

	while (job) {
		struct link *link = job->lane->link;

		pthread_mutex_lock(&link->lock);
		for (; job && job->lane->link == link; job = next) {
			next = job->next;
			annex_jobs_sort_in(&job->lane->queued[job->kind], job);
		}
		pump(link);
		pthread_mutex_unlock(&link->lock);
	}
	jobs->head = NULL;
}

bool annex_link_hurry(struct lane *lane, uint32_t page)
{
	struct link *link = lane->link;
	struct job *job;

	pthread_mutex_lock(&link->lock);
	for (job = lane->queued[JOB_IN].head; job; job = job->next)
		if (page >= job->page && page - job->page < job->n)
			break;
	if (job) {
		annex_jobs_remove(&lane->queued[JOB_IN], job);
		job->kind = JOB_FAULT;
		annex_jobs_add(&lane->queued[JOB_FAULT], job);
	}
	pthread_mutex_unlock(&link->lock);
	return job;
}

void annex_link_kick(struct lane *lane)
{
	pthread_mutex_lock(&lane->link->lock);
	pump(lane->link);
	pthread_mutex_unlock(&lane->link->lock);
}

static void sleep_until(uint64_t when)
{
	struct timespec ts = {.tv_sec = (time_t)(when / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(when % ANNEX_NSEC_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Take what has ended off the crew's list, the first of which has for sure. The lock is held. */
static struct job_list reap(struct link *link, struct crew *crew)
{
	struct job_list done = {0}, left = {0};
	uint64_t now = annex_now();
	struct job *job, *next;

	for (job = crew->flying.head; job; job = next) {
		next = job->next;
		if (!job->ended && link->ops->poll)
			job->ended = link->ops->poll(link, job);
		if (job->ended && job->due <= now) {
			link->flying[job->kind]--;
			count_end(link, job);
			if (link->ops->finish && job->err != -ECANCELED)
				link->ops->finish(link, job);
			annex_jobs_add(&done, job);
		} else {
			annex_jobs_add(&left, job);
		}
	}
	crew->flying = left;
	return done;
}

static void *work(void *arg)
{
	struct crew *crew = arg;
	struct link *link = crew->link;
	struct job_list done;
	struct job *job;

	pthread_mutex_lock(&link->lock);
	for (;;) {
		while (!crew->flying.head && !link->stop)
			pthread_cond_wait(&crew->more, &link->lock);
		job = crew->flying.head;
		if (!job)
			break;
		pthread_mutex_unlock(&link->lock);
		if (!job->ended)
			link->ops->wait(link, job);
		if (job->due)
			sleep_until(job->due);
		pthread_mutex_lock(&link->lock);
		job->ended = true;
		done = reap(link, crew);
		pump(link);
		pthread_mutex_unlock(&link->lock);
		while ((job = annex_jobs_take(&done))) {
			bool again = job->err == -ECANCELED && link->ops->again;

			if (again) {
				link->ops->again(link, job);
				annex_link_kick(job->lane); /* it has given back what it had */
			}
			annex_job_done(job);
		}
		pthread_mutex_lock(&link->lock);
	}
	pthread_mutex_unlock(&link->lock);
	return NULL;
}

int annex_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	/* A handler that runs in a thread of ours could touch what only that thread can bring. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? -EAGAIN : 0;
}

int annex_link_start(struct link *link, const struct link_ops *ops, unsigned int crews)
{
	pthread_mutex_init(&link->lock, NULL);
	link->ops = ops;
	link->n_crews = crews;
	for (unsigned int i = 0; i < crews; i++) {
		struct crew *crew = &link->crews[i];

		crew->link = link;
		pthread_cond_init(&crew->more, NULL);
		if (annex_thread_start(&crew->thread, work, crew)) {
			annex_link_stop(link);
			return -EAGAIN;
		}
		crew->works = true;
	}
	return 0;
}

void annex_link_stop(struct link *link)
{
	pthread_mutex_lock(&link->lock);
	link->stop = true;
	for (unsigned int i = 0; i < link->n_crews; i++)
		if (link->crews[i].works)
			pthread_cond_signal(&link->crews[i].more);
	pthread_mutex_unlock(&link->lock);
	for (unsigned int i = 0; i < link->n_crews; i++) {
		if (!link->crews[i].works)
			continue;
		pthread_join(link->crews[i].thread, NULL);
		pthread_cond_destroy(&link->crews[i].more);
	}
	pthread_mutex_destroy(&link->lock);
}

void annex_link_join(struct link *link, struct lane *lane)
{
	pthread_mutex_lock(&link->lock);
	lane->link = link;
	/* It is not owed what others had before it came. */
	for (struct lane *other = link->lanes; other; other = other->next)
		if (other->served > lane->served)
			lane->served = other->served;
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

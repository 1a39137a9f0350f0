// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "cleanup.h"
#include "progress.h"

static const char *activity;
static uint64_t started, next;
static bool shown;

/* The thread of progress_time(). */
static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool runs, ends;
} ticker = {.lock = PTHREAD_MUTEX_INITIALIZER};

void progress_begin(const char *what)
{
	progress_end();
	activity = what;
	started = annex_now();
	annex_atomic_store(&next, isatty(STDERR_FILENO) ? started + ANNEX_NSEC_PER_SEC : UINT64_MAX,
			   ANNEX_RELEASE);
}

static void *tick(void *unused)
{
	uint64_t at = started + ANNEX_NSEC_PER_SEC;

	pthread_mutex_lock(&ticker.lock);
	while (!ticker.ends) {
		struct timespec due = {.tv_sec = (time_t)(at / ANNEX_NSEC_PER_SEC),
				       .tv_nsec = (long)(at % ANNEX_NSEC_PER_SEC)};

		if (pthread_cond_timedwait(&ticker.ended, &ticker.lock, &due) != ETIMEDOUT)
			continue;
		progress_now("%s: %.0f s", activity, (double)(annex_now() - started) / 1e9);
		at += ANNEX_NSEC_PER_SEC;
	}
	pthread_mutex_unlock(&ticker.lock);
	return unused;
}

void progress_time(const char *what)
{
	pthread_condattr_t attr;

	progress_begin(what);
	if (!isatty(STDERR_FILENO))
		return;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ticker.ended, &attr);
	pthread_condattr_destroy(&attr);
	ticker.ends = false;
	cleanup_hold();
	ticker.runs = !pthread_create(&ticker.thread, NULL, tick, NULL);
	cleanup_release();
	if (!ticker.runs)
		pthread_cond_destroy(&ticker.ended);
}

static void stop_ticker(void)
{
	if (!ticker.runs)
		return;
	pthread_mutex_lock(&ticker.lock);
	ticker.ends = true;
	pthread_cond_signal(&ticker.ended);
	pthread_mutex_unlock(&ticker.lock);
	pthread_join(ticker.thread, NULL);
	pthread_cond_destroy(&ticker.ended);
	ticker.runs = false;
}

void progress_update(uint64_t done, uint64_t total, const char *unit)
{
	uint64_t due = annex_atomic_load(&next, ANNEX_ACQUIRE), now;

	if (due == UINT64_MAX)
		return;
	now = annex_now();
	/* The thread that moves the moment on is the one that prints. */
	if (now < due ||
	    !annex_atomic_cas(&next, &due, now + ANNEX_NSEC_PER_SEC / 5, ANNEX_ACQ_REL))
		return;
	if (total)
		fprintf(stderr, "\r\033[K  %s: %.0f %% of %llu %s, %.0f s", activity,
			100.0 * (double)done / (double)total, (unsigned long long)total, unit,
			(double)(now - started) / 1e9);
	else
		fprintf(stderr, "\r\033[K  %s: %llu %s, %.0f s", activity, (unsigned long long)done,
			unit, (double)(now - started) / 1e9);
	fflush(stderr);
	annex_atomic_store(&shown, true, ANNEX_RELAXED);
}

const char *progress_clear(void)
{
	return annex_atomic_load(&shown, ANNEX_RELAXED) ? "\r\033[K" : "";
}

void progress_now(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	fputs("\r\033[K  ", stderr);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
	annex_atomic_store(&shown, true, ANNEX_RELAXED);
}

void progress_end(void)
{
	stop_ticker();
	annex_atomic_store(&next, UINT64_MAX, ANNEX_RELEASE);
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}

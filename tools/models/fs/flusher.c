// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <annex/log.h>
#include "tools/common/error.h"
#include "flusher.h"
#include "journal.h"

/* struct flusher - @lock: over @stop. */
struct flusher {
	struct annex_fs *fs;
	unsigned int seconds;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool stop;
};

/* Whether it goes on after @seconds. */
static bool wait(struct flusher *f)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += f->seconds;
	pthread_mutex_lock(&f->lock);
	while (!f->stop && pthread_cond_timedwait(&f->stopped, &f->lock, &until) != ETIMEDOUT)
		;
	stop = f->stop;
	pthread_mutex_unlock(&f->lock);
	return !stop;
}

static void *run(void *ctx)
{
	struct flusher *f = ctx;
	bool told = false;

	while (wait(f)) {
		int err = annex_fs_fsync(f->fs, 0);

		if (err && !told)
			journal_line(ANNEX_LOG_ERROR, annex_last_error());
		told = err;
	}
	return NULL;
}

int flusher_start(struct annex_fs *fs, unsigned int seconds, struct flusher **out)
{
	struct flusher *f = calloc(1, sizeof(*f));
	pthread_condattr_t attr;

	if (!f)
		return err_set(-ENOMEM, "out of memory");
	f->fs = fs;
	f->seconds = seconds;
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->stopped, &attr);
	pthread_condattr_destroy(&attr);
	if (!pthread_create(&f->thread, NULL, run, f)) {
		*out = f;
		return 0;
	}
	pthread_cond_destroy(&f->stopped);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return err_set(-EAGAIN, "a thread cannot be had");
}

void flusher_stop(struct flusher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->stopped);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	pthread_cond_destroy(&f->stopped);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

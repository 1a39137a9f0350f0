// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "core/thread.h"
#include "finish.h"
#include "uses.h"
#include "move.h"
#include "request.h"

/**
 * struct flight - A kernel in a stream.
 * @next: next in a list.
 * @stream: its stream.
 * @begin: event before it.
 * @end: event after it.
 * @held: its tensors.
 * @n_held: number of @held.
 * @kernel: its number in the iteration.
 * @iteration: number of the iteration.
 * @ns: its time in nanoseconds.
 * @err: 0, or the error because of which its end is unknown.
 */
struct flight {
	struct flight *next;
	void *stream, *begin, *end;
	struct held_use *held;
	uint32_t n_held, kernel;
	uint64_t iteration, ns;
	int err;
};

/**
 * struct flights - Kernels in flight.
 * @lock: protects all members except @next.
 * @more: signalled when a kernel was launched, and at @stop.
 * @fewer: signalled when a kernel has ended.
 * @next: the kernel that is about to be launched.
 * @head: the first kernel in flight, in the order of launches.
 * @last: the last kernel in flight.
 * @landed: ended kernels.
 * @err: the first error.
 */
struct flights {
	struct annex_space *space;
	pthread_mutex_t lock;
	pthread_cond_t more, fewer;
	pthread_t thread;
	struct flight *next, *head, *last, *landed;
	int err;
	bool stop;
};

static void discard(struct annex_space *s, struct flight *f)
{
	const struct annex_frames *frames = s->opts.frames;

	if (f->begin)
		frames->unmark(frames->ctx, f->begin);
	if (f->end)
		frames->unmark(frames->ctx, f->end);
	free(f->held);
	free(f);
}

/* Release all tensors under one lock, so that waiting jobs see all of the room. */
static void land(struct annex_space *s, const struct flight *f)
{
	struct job_list start = {0};

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < f->n_held; i++)
		annex_tensor_land(s, f->held[i].use.ptr, f->held[i].use.how & ANNEX_USE_WRITE,
				  &start);
	s->launched--;
	annex_jobs_settle(s, &start);
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
}

static void *follow(void *arg)
{
	struct flights *fs = arg;
	const struct annex_frames *frames = fs->space->opts.frames;
	struct flight *f;

	pthread_mutex_lock(&fs->lock);
	for (;;) {
		while (!fs->head && !fs->stop)
			pthread_cond_wait(&fs->more, &fs->lock);
		f = fs->head;
		if (!f)
			break;
		pthread_mutex_unlock(&fs->lock);
		if (!f->err)
			f->err = frames->await(frames->ctx, f->end);
		if (!f->err)
			f->ns = frames->between(frames->ctx, f->begin, f->end);
		land(fs->space, f);
		pthread_mutex_lock(&fs->lock);
		fs->err = fs->err ? fs->err : f->err;
		fs->head = f->next;
		f->next = fs->landed;
		fs->landed = f;
		pthread_cond_signal(&fs->fewer);
	}
	pthread_mutex_unlock(&fs->lock);
	return NULL;
}

static int start(struct annex_exec *e)
{
	struct flights *fs = calloc(1, sizeof(*fs));
	pthread_condattr_t attr;

	if (!fs)
		return annex_fail(-ENOMEM, "exec: no memory");
	fs->space = e->space;
	pthread_mutex_init(&fs->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fs->fewer, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&fs->more, NULL);
	if (!annex_thread_start(&fs->thread, follow, fs)) {
		e->flights = fs;
		return 0;
	}
	pthread_cond_destroy(&fs->more);
	pthread_cond_destroy(&fs->fewer);
	pthread_mutex_destroy(&fs->lock);
	free(fs);
	return annex_fail(-EAGAIN, "exec: no more threads");
}

int annex_flight_prepare(struct annex_exec *e, void *stream)
{
	const struct annex_frames *frames = e->space->opts.frames;
	struct flight *f;
	int err;

	if (!e->space->frames || !frames->mark)
		return annex_fail(-EOPNOTSUPP,
				  "exec: a stream, and the space is in no GPU's memory");
	err = e->flights ? 0 : start(e);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return annex_fail(-ENOMEM, "exec: no memory");
	f->stream = stream;
	/* Make both events before the launch: otherwise the kernel's end could stay unknown. */
	err = frames->mark(frames->ctx, stream, &f->begin);
	if (!err)
		err = frames->mark(frames->ctx, stream, &f->end);
	if (err) {
		discard(e->space, f);
		return err;
	}
	e->flights->next = f;
	e->flies = true;
	return 0;
}

int annex_flight_begin(struct annex_exec *e)
{
	const struct annex_frames *frames = e->space->opts.frames;
	struct flight *f = e->flights->next;

	return frames->mark(frames->ctx, f->stream, &f->begin);
}

void annex_flight_drop(struct annex_exec *e)
{
	discard(e->space, e->flights->next);
	e->flights->next = NULL;
	e->flies = false;
}

void annex_flight_launch(struct annex_exec *e)
{
	const struct annex_frames *frames = e->space->opts.frames;
	struct flights *fs = e->flights;
	struct flight *f = fs->next;

	f->err = frames->mark(frames->ctx, f->stream, &f->end);
	f->held = e->held;
	f->n_held = e->n_held;
	f->kernel = e->now.n_kernels - 1;
	f->iteration = e->stats.iterations;
	e->held = NULL;
	e->n_held = e->held_room = 0;
	e->flies = false;
	fs->next = NULL;
	pthread_mutex_lock(&e->space->lock);
	e->space->launched++;
	pthread_mutex_unlock(&e->space->lock);
	pthread_mutex_lock(&fs->lock);
	if (fs->head)
		fs->last->next = f;
	else
		fs->head = f;
	fs->last = f;
	pthread_cond_signal(&fs->more);
	pthread_mutex_unlock(&fs->lock);
}

static void collect(struct annex_exec *e, struct flight *f)
{
	struct flight *next;

	for (; f; f = next) {
		next = f->next;
		if (f->iteration == e->stats.iterations && !f->err)
			e->now.kernels[f->kernel].ns = f->ns;
		discard(e->space, f);
	}
}

int annex_flights_wait(struct annex_exec *e)
{
	struct annex_patience patience = {annex_deadline_ms(e->opts.timeout_ms), 0};
	struct flights *fs = e->flights;
	struct flight *landed;
	int err, late = 0;

	if (!fs)
		return 0;
	pthread_mutex_lock(&fs->lock);
	while (fs->head && !late)
		late = thread_wait(&fs->fewer, &fs->lock, &patience);
	landed = fs->landed;
	fs->landed = NULL;
	err = fs->err;
	fs->err = 0;
	pthread_mutex_unlock(&fs->lock);
	collect(e, landed);
	if (err)
		return annex_fail(err, "exec: a kernel, or the wait for its end, has failed");
	return late ? annex_fail(-ETIMEDOUT, "exec: kernels have not ended after %u ms",
				 e->opts.timeout_ms)
		    : 0;
}

void annex_flights_end(struct annex_exec *e)
{
	struct flights *fs = e->flights;

	if (!fs)
		return;
	pthread_mutex_lock(&fs->lock);
	fs->stop = true;
	pthread_cond_signal(&fs->more);
	pthread_mutex_unlock(&fs->lock);
	pthread_join(fs->thread, NULL);
	collect(e, fs->landed);
	pthread_cond_destroy(&fs->more);
	pthread_cond_destroy(&fs->fewer);
	pthread_mutex_destroy(&fs->lock);
	free(fs);
	e->flights = NULL;
}

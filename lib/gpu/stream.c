// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "core/thread.h"
#include "stream.h"

/**
 * struct mark - A place in a stream.
 * @stream: NULL: none, and it has passed.
 * @number: of the work that it is.
 * @ns: when it was passed last.
 * @queued: times that it is in the stream.
 * @gone: only the stream has it.
 */
struct mark {
	struct gpu_stream *stream;
	uint64_t number, ns;
	uint32_t queued;
	bool gone;
};

/* struct work - In a stream: a function, or a @mark. */
struct work {
	struct work *next;
	void (*run)(void *arg);
	void *arg;
	struct mark *mark;
};

/**
 * struct gpu_stream - A stream.
 * @lock: protects all members, and its marks.
 * @change: signalled when work was added, has ended, or may run.
 * @thread: the thread that runs it.
 * @head: the first work that has not ended.
 * @last: the last work.
 * @put: number of works added.
 * @done: number of works that have ended.
 * @held: work must not run.
 * @stop: the thread must end.
 */
struct gpu_stream {
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread;
	struct work *head, *last;
	uint64_t put, done;
	bool held, stop;
};

/* The stream's lock is held. */
static void pass(struct mark *m)
{
	m->ns = annex_now();
	if (!--m->queued && m->gone)
		free(m);
}

static void *work(void *arg)
{
	struct gpu_stream *s = arg;
	struct work *w;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (s->stop ? false : !s->head || s->held)
			THREAD_KEPT(pthread_cond_wait(&s->change, &s->lock));
		w = s->head;
		if (!w)
			break;
		if (w->run) {
			pthread_mutex_unlock(&s->lock);
			w->run(w->arg);
			pthread_mutex_lock(&s->lock);
		} else {
			pass(w->mark);
		}
		s->head = w->next;
		s->done++;
		pthread_cond_broadcast(&s->change);
		free(w);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int gpu_stream_open(struct gpu_stream **out)
{
	struct gpu_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return annex_fail(-ENOMEM, "host: no memory for a stream");
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->change, NULL);
	if (annex_thread_start(&s->thread, work, s)) {
		pthread_cond_destroy(&s->change);
		pthread_mutex_destroy(&s->lock);
		free(s);
		return annex_fail(-EAGAIN, "host: no more threads");
	}
	*out = s;
	return 0;
}

void gpu_stream_close(struct gpu_stream *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->change);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int add(struct gpu_stream *s, struct work with)
{
	struct work *w = malloc(sizeof(*w));

	if (!w)
		return annex_fail(-ENOMEM, "host: no memory for work of a stream");
	*w = with;
	pthread_mutex_lock(&s->lock);
	if (s->head)
		s->last->next = w;
	else
		s->head = w;
	s->last = w;
	s->put++;
	if (w->mark) {
		w->mark->number = s->put;
		w->mark->queued++;
	}
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

int gpu_stream_put(struct gpu_stream *s, void (*run)(void *arg), void *arg)
{
	return add(s, (struct work){.run = run, .arg = arg});
}

void gpu_stream_hold(struct gpu_stream *s, bool on)
{
	pthread_mutex_lock(&s->lock);
	s->held = on;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
}

int gpu_stream_mark(void *ctx, void *stream, void **mark)
{
	struct mark *m = *mark ? *mark : calloc(1, sizeof(*m));
	int err = 0;

	(void)ctx;
	if (!m)
		return annex_fail(-ENOMEM, "host: no memory for a mark");
	m->stream = stream;
	if (stream)
		err = add(stream, (struct work){.mark = m});
	else
		m->ns = annex_now();
	if (!err)
		*mark = m;
	else if (!*mark)
		free(m);
	return err;
}

int gpu_stream_await(void *ctx, void *mark)
{
	struct mark *m = mark;
	struct gpu_stream *s = m->stream;

	(void)ctx;
	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	while (s->done < m->number)
		THREAD_KEPT(pthread_cond_wait(&s->change, &s->lock));
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Both have passed. */
uint64_t gpu_stream_between(void *ctx, void *from, void *to)
{
	const struct mark *a = from, *b = to;

	(void)ctx;
	return b->ns > a->ns ? b->ns - a->ns : 0;
}

void gpu_stream_unmark(void *ctx, void *mark)
{
	struct mark *m = mark;
	struct gpu_stream *s = m->stream;
	bool queued = false;

	(void)ctx;
	if (s) {
		pthread_mutex_lock(&s->lock);
		m->gone = true;
		queued = m->queued;
		pthread_mutex_unlock(&s->lock);
	}
	if (!queued)
		free(m);
}

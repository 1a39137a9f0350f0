// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <annex/detail/atomic.h>
#include "cleanup.h"
#include "error.h"
#include "pool.h"
#include "progress.h"

struct worker {
	struct pool *pool;
	pthread_t thread;
	unsigned int id;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t start, done;
	unsigned int n;       /* workers, the caller included */
	unsigned int running; /* threads that have not finished the present run */
	unsigned long run;    /* number of the present run */
	bool stop;
	pool_fn fn;
	void *ctx;
	int err;
	struct worker workers[];
};

static void finish(struct pool *p, int err)
{
	pthread_mutex_lock(&p->lock);
	if (err && !p->err)
		p->err = err;
	if (!--p->running)
		pthread_cond_signal(&p->done);
	pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	unsigned long seen = 0;

	for (;;) {
		bool stop;

		pthread_mutex_lock(&p->lock);
		while (!p->stop && p->run == seen)
			pthread_cond_wait(&p->start, &p->lock);
		seen = p->run;
		stop = p->stop;
		pthread_mutex_unlock(&p->lock);
		if (stop)
			return NULL;
		finish(p, p->fn(p->ctx, w->id, p->n));
	}
}

int pool_create(unsigned int threads, struct pool **out)
{
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->workers[0]));

	if (!p)
		return err_set(-ENOMEM, "out of memory");
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->start, NULL);
	pthread_cond_init(&p->done, NULL);
	p->n = 1;
	while (p->n < threads) {
		struct worker *w = &p->workers[p->n];
		int err;

		w->pool = p;
		w->id = p->n;
		/* Signals are the main thread's, which knows when to put them off (cleanup.h). */
		cleanup_hold();
		err = pthread_create(&w->thread, NULL, work, w);
		cleanup_release();
		if (err) {
			pool_destroy(p);
			return err_set(-err,
				       "cannot start %u threads: the limit of processes (ulimit "
				       "-u) or memory allows fewer",
				       threads);
		}
		p->n++;
	}
	*out = p;
	return 0;
}

void pool_destroy(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->start);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 1; i < p->n; i++)
		pthread_join(p->workers[i].thread, NULL);
	pthread_cond_destroy(&p->start);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

unsigned int pool_threads(const struct pool *p)
{
	return p->n;
}

int pool_run(struct pool *p, pool_fn fn, void *ctx)
{
	int err;

	pthread_mutex_lock(&p->lock);
	p->fn = fn;
	p->ctx = ctx;
	p->err = 0;
	p->running = p->n;
	p->run++;
	pthread_cond_broadcast(&p->start);
	pthread_mutex_unlock(&p->lock);
	finish(p, fn(ctx, 0, p->n));
	pthread_mutex_lock(&p->lock);
	while (p->running)
		pthread_cond_wait(&p->done, &p->lock);
	err = p->err;
	pthread_mutex_unlock(&p->lock);
	return err;
}

unsigned int pool_default_threads(void)
{
	cpu_set_t set;
	int n = 0;

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = CPU_COUNT(&set);
	return n > 0 ? (unsigned int)n : 1;
}

struct blocks_run {
	const struct blocks *b;
	uint64_t next;
	int err;
};

#define RING (BLOCKS_AHEAD + 1)

static int run_thread(void *ctx, unsigned int thread, unsigned int threads)
{
	struct blocks_run *r = ctx;
	const struct blocks *b = r->b;
	uint64_t ring[RING];
	unsigned int head = 0, tail = 0;
	int err = 0;

	(void)threads;
	while (!err && !annex_atomic_load(&r->err, ANNEX_RELAXED)) {
		while (tail - head <= b->ahead) {
			uint64_t block = annex_atomic_add(&r->next, 1, ANNEX_RELAXED);

			if (block >= b->count)
				break;
			b->prefetch(b->ctx, block);
			ring[tail++ % RING] = block;
		}
		if (head == tail)
			break;
		progress_update(ring[head % RING], b->count, "blocks");
		err = b->work(b->ctx, thread, ring[head++ % RING]);
	}
	if (!err && b->finish)
		err = b->finish(b->ctx, thread);
	if (err)
		annex_atomic_store(&r->err, err, ANNEX_RELAXED);
	return err;
}

int blocks_run(struct pool *pool, const struct blocks *b)
{
	struct blocks_run r = {.b = b};

	return pool_run(pool, run_thread, &r);
}

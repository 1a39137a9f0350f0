// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>
#include "core/log.h"
#include "core/thread.h"
#include "pool.h"

#define THREADS 8u

/*
 * struct emu_pool - @entries: a ring of @mask + 1; they were prepared up to @prepared, may begin up
 * to @submitted, and have begun up to @begun. @done: a ring of twice as many, from @taken to
 * @ended. @users: threads, and the one that closes; the last to leave frees the pool.
 */
struct emu_pool {
	struct emu_engine engine;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct io_uring_sqe *entries;
	struct emu_done *done;
	unsigned int mask;
	unsigned int prepared, submitted, begun;
	unsigned int ended, taken;
	bool stop;
	unsigned int users;
	pthread_t threads[THREADS];
	unsigned int n_threads;
};

static struct emu_pool *pool_of(struct emu_engine *e)
{
	return (struct emu_pool *)e; /* its first member */
}

static ssize_t transfer(const struct io_uring_sqe *e)
{
	const struct iovec one = {(void *)(uintptr_t)e->addr, e->len};
	const bool many = e->opcode == IORING_OP_READV || e->opcode == IORING_OP_WRITEV;
	const struct iovec *v = many ? (const struct iovec *)(uintptr_t)e->addr : &one;
	const int n = many ? (int)e->len : 1;
	const int flags = (int)e->fsync_flags; /* where rw_flags are, too */

	return e->opcode == IORING_OP_READ || e->opcode == IORING_OP_READV
		       ? preadv2(e->fd, v, n, (off_t)e->off, flags)
		       : pwritev2(e->fd, v, n, (off_t)e->off, flags);
}

/* Return: as an io_uring tells it. */
static int carry_out(const struct io_uring_sqe *e)
{
	ssize_t n;

	switch (e->opcode) {
	case IORING_OP_READ:
	case IORING_OP_READV:
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
		n = transfer(e);
		break;
	case IORING_OP_FSYNC:
		n = e->fsync_flags & IORING_FSYNC_DATASYNC ? fdatasync(e->fd) : fsync(e->fd);
		break;
	case IORING_OP_FALLOCATE:
		n = fallocate(e->fd, (int)e->len, (off_t)e->off, (off_t)e->addr);
		break;
	default:
		return -EINVAL;
	}
	return n < 0 ? -errno : (int)n;
}

/* With the lock held. */
static void end(struct emu_pool *p, uint64_t data, int res)
{
	p->done[p->ended++ & (2 * p->mask + 1)] = (struct emu_done){(void *)(uintptr_t)data, res};
	eventfd_write(p->engine.fd, 1);
}

static void give_back(struct emu_pool *p)
{
	if (p->engine.fd >= 0)
		close(p->engine.fd);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p->entries);
	free(p->done);
	free(p);
}

/* With the lock held: a thread, or the one that closes, leaves. */
static void leave(struct emu_pool *p)
{
	const bool last = !--p->users;

	pthread_mutex_unlock(&p->lock);
	if (last)
		give_back(p);
}

static void *run(void *arg)
{
	struct emu_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct io_uring_sqe e;
		int res;

		while (p->begun == p->submitted && !p->stop)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->stop)
			break;
		e = p->entries[p->begun++ & p->mask];
		pthread_mutex_unlock(&p->lock);
		res = e.opcode == IORING_OP_NOP ? -ECANCELED : carry_out(&e);
		pthread_mutex_lock(&p->lock);
		end(p, e.user_data, res);
	}
	leave(p);
	return NULL;
}

static unsigned int power_of_two(unsigned int n)
{
	unsigned int size = 1;

	while (size < n)
		size *= 2;
	return size;
}

/* Threads that are in the kernel, for a file that does not answer, are not waited for. */
static void pool_close(struct emu_engine *e)
{
	struct emu_pool *p = pool_of(e);
	bool busy;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	busy = p->begun != p->ended;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->n_threads; i++) {
		if (busy)
			pthread_detach(p->threads[i]);
		else
			pthread_join(p->threads[i], NULL);
	}
	pthread_mutex_lock(&p->lock);
	leave(p);
}

static struct io_uring_sqe *pool_entry(struct emu_engine *engine)
{
	struct emu_pool *p = pool_of(engine);
	struct io_uring_sqe *e = &p->entries[p->prepared++ & p->mask];

	memset(e, 0, sizeof(*e));
	return e;
}

static void pool_submit(struct emu_engine *e)
{
	struct emu_pool *p = pool_of(e);

	pthread_mutex_lock(&p->lock);
	if (p->prepared - p->submitted > 1)
		pthread_cond_broadcast(&p->work);
	else if (p->prepared != p->submitted)
		pthread_cond_signal(&p->work);
	p->submitted = p->prepared;
	pthread_mutex_unlock(&p->lock);
}

static void pool_cancel(struct emu_engine *e, const void *data)
{
	struct emu_pool *p = pool_of(e);

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = p->begun; i != p->prepared; i++)
		if (p->entries[i & p->mask].user_data == (uintptr_t)data)
			p->entries[i & p->mask].opcode = IORING_OP_NOP;
	pthread_mutex_unlock(&p->lock);
}

static unsigned int pool_reap(struct emu_engine *e, struct emu_done *out, unsigned int n)
{
	struct emu_pool *p = pool_of(e);
	unsigned int got = 0;
	eventfd_t any;

	pthread_mutex_lock(&p->lock);
	THREAD_KEPT(eventfd_read(p->engine.fd, &any));
	while (got < n && p->taken != p->ended)
		out[got++] = p->done[p->taken++ & (2 * p->mask + 1)];
	if (p->taken != p->ended)
		THREAD_KEPT(eventfd_write(p->engine.fd, 1));
	pthread_mutex_unlock(&p->lock);
	return got;
}

/* Its threads are the parent's. */
static void pool_forked(struct emu_engine *e)
{
	close(e->fd);
}

static const struct emu_engine_ops pool_ops = {
	.entry = pool_entry,
	.submit = pool_submit,
	.cancel = pool_cancel,
	.reap = pool_reap,
	.forked = pool_forked,
	.close = pool_close,
};

int annex_emu_pool_open(unsigned int entries, struct emu_engine **out)
{
	const unsigned int size = power_of_two(entries);
	struct emu_pool *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return annex_fail(-ENOMEM, "file: no memory for threads");
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	p->engine.ops = &pool_ops;
	p->users = 1;
	p->mask = size - 1;
	p->engine.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->entries = calloc(size, sizeof(*p->entries));
	p->done = calloc(2 * (size_t)size, sizeof(*p->done));
	if (p->engine.fd < 0)
		err = annex_fail(-errno, "file: no event for its threads: %m");
	else if (!p->entries || !p->done)
		err = annex_fail(-ENOMEM, "file: no memory for threads");
	while (!err && p->n_threads < THREADS) {
		pthread_mutex_lock(&p->lock);
		err = annex_thread_start(&p->threads[p->n_threads], run, p);
		if (err)
			annex_fail(err, "file: no more threads (ulimit -u)");
		p->n_threads += !err;
		p->users += !err;
		pthread_mutex_unlock(&p->lock);
	}
	if (err)
		pool_close(&p->engine);
	else
		*out = &p->engine;
	return err;
}

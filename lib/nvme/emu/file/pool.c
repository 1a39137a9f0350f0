// SPDX-License-Identifier: MIT
/*
 * Threads for the I/O of a file: controller where the kernel refuses an io_uring.
 */
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
#include "file.h"

#define THREADS 8u
#define BATCH 64u

/* struct emu_done - Ended I/O of a request: bytes or a negative errno. */
struct emu_done {
	struct emu_req *req;
	int res;
};

/* struct entry - An I/O of a request, req->io, on a file. */
struct entry {
	struct emu_req *req;
	int fd;
	bool cancelled;
};

/**
 * struct emu_pool - The threads and their I/O.
 * @fd: eventfd, readable when I/O has ended.
 * @lock: of all other members.
 * @work: signalled for entries, and for @stop.
 * @entries: a ring of @mask + 1 I/Os.
 * @done: a ring of twice as many.
 * @prepared: index behind the last entry.
 * @submitted: entries before it may begin.
 * @begun: entries before it have begun.
 * @ended: index behind the last of @done.
 * @taken: first of @done that was not reaped.
 * @users: the threads and the controller; the last of them to leave frees the pool.
 */
struct emu_pool {
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct entry *entries;
	struct emu_done *done;
	unsigned int mask;
	unsigned int prepared, submitted, begun;
	unsigned int ended, taken;
	bool stop;
	unsigned int users;
	pthread_t threads[THREADS];
	unsigned int n_threads;
};

/* Return: as the res of an io_uring. */
static int carry_out(const struct entry *e)
{
	const struct emu_io *io = &e->req->io;
	const off_t pos = (off_t)io->pos;
	ssize_t n;

	switch (io->opcode) {
	case ANNEX_NVM_READ:
		n = preadv2(e->fd, io->v, (int)io->n, pos, 0);
		break;
	case ANNEX_NVM_WRITE:
		n = pwritev2(e->fd, io->v, (int)io->n, pos, annex_emu_file_rwf(io));
		break;
	case ANNEX_NVM_FLUSH:
		n = fdatasync(e->fd);
		break;
	default:
		n = fallocate(e->fd, annex_emu_file_mode(io), pos, (off_t)io->len);
		break;
	}
	return n < 0 ? -errno : (int)n;
}

/* With the lock held. */
static void add_done(struct emu_pool *p, struct emu_req *req, int res)
{
	p->done[p->ended++ & (2 * p->mask + 1)] = (struct emu_done){req, res};
	eventfd_write(p->fd, 1);
}

static void give_back(struct emu_pool *p)
{
	if (p->fd >= 0)
		close(p->fd);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p->entries);
	free(p->done);
	free(p);
}

/* With the lock held: a thread or the controller leaves. */
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
		struct entry e;
		int res;

		while (p->begun == p->submitted && !p->stop)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->stop)
			break;
		e = p->entries[p->begun++ & p->mask];
		pthread_mutex_unlock(&p->lock);
		res = e.cancelled ? -ECANCELED : carry_out(&e);
		pthread_mutex_lock(&p->lock);
		add_done(p, e.req, res);
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

/* Do not wait for threads that are blocked in the kernel by a file that does not answer. */
static void pool_end(struct emu_pool *p)
{
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

static struct emu_pool *pool_of(const struct annex_emu *emu)
{
	return ((const struct emu_file *)emu->own)->pool;
}

static int pool_issue(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns)
{
	struct emu_pool *p = pool_of(emu);

	p->entries[p->prepared++ & p->mask] = (struct entry){req, ns->fd, false};
	return EMU_PENDING;
}

static void pool_submit(struct annex_emu *emu)
{
	struct emu_pool *p = pool_of(emu);

	pthread_mutex_lock(&p->lock);
	if (p->prepared - p->submitted > 1)
		pthread_cond_broadcast(&p->work);
	else if (p->prepared != p->submitted)
		pthread_cond_signal(&p->work);
	p->submitted = p->prepared;
	pthread_mutex_unlock(&p->lock);
}

static void pool_cancel(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_pool *p = pool_of(emu);

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = p->begun; i != p->prepared; i++)
		if (p->entries[i & p->mask].req == req)
			p->entries[i & p->mask].cancelled = true;
	pthread_mutex_unlock(&p->lock);
}

static unsigned int take(struct emu_pool *p, struct emu_done out[BATCH])
{
	unsigned int got = 0;
	eventfd_t any;

	pthread_mutex_lock(&p->lock);
	THREAD_KEPT(eventfd_read(p->fd, &any));
	while (got < BATCH && p->taken != p->ended)
		out[got++] = p->done[p->taken++ & (2 * p->mask + 1)];
	pthread_mutex_unlock(&p->lock);
	return got;
}

static bool pool_reap(struct annex_emu *emu)
{
	struct emu_pool *p = pool_of(emu);
	struct emu_done done[BATCH];
	unsigned int n;

	do {
		n = take(p, done);
		for (unsigned int i = 0; i < n; i++)
			annex_emu_step_ended(emu, done[i].req, done[i].res);
	} while (n == BATCH);
	return true;
}

/* The threads are the parent's. */
static void pool_forked(struct annex_emu *emu)
{
	close(emu->fd);
	annex_emu_disk_close(emu);
}

static void pool_close(struct annex_emu *emu, bool ended)
{
	(void)ended;
	if (pool_of(emu))
		pool_end(pool_of(emu));
	annex_emu_disk_unlock(emu);
	annex_emu_disk_close(emu);
}

const struct emu_backend annex_emu_pool = {
	.scheme = "file",
	.cached = true,
	.prepare = annex_emu_prepare,
	.issue = pool_issue,
	.submit = pool_submit,
	.reap = pool_reap,
	.cancel = pool_cancel,
	.claim = annex_emu_disk_claim,
	.forked = pool_forked,
	.undo = annex_emu_file_undo,
	.close = pool_close,
};

int annex_emu_pool_open(struct annex_emu *emu)
{
	const unsigned int size = power_of_two(2 * emu->nreqs);
	struct emu_file *f = emu->own;
	struct emu_pool *p = f->pool = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return annex_fail(-ENOMEM, "file: no memory for threads");
	emu->backend = &annex_emu_pool; /* whose close() undoes all of this */
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	p->users = 1;
	p->mask = size - 1;
	p->fd = emu->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->entries = calloc(size, sizeof(*p->entries));
	p->done = calloc(2 * (size_t)size, sizeof(*p->done));
	if (p->fd < 0)
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
	return err;
}

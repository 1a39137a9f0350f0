// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "core/holder.h"
#include "core/log.h"
#include "core/thread.h"
#include "hdm.h"
#include "lock.h"

#define LOCK_AT ((off_t)1 << 62)
#define NAP_LEAST 5000l /* ns */
#define NAP_MOST 1000000l

static int call(int fd, int op, short type, uint32_t byte, uint32_t n, struct flock *lock)
{
	*lock = (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = LOCK_AT + byte, .l_len = n};
	return fcntl(fd, op, lock) ? -errno : 0;
}

int lock_try(int fd, uint32_t byte)
{
	struct flock lock;
	int err = call(fd, F_OFD_SETLK, F_WRLCK, byte, 1, &lock);

	return err == -EACCES ? -EAGAIN : err;
}

/* The kernel's own waiting has no deadline. */
int lock_take(int fd, uint32_t byte, uint64_t deadline)
{
	struct timespec nap = {0, NAP_LEAST};
	int err;

	while ((err = lock_try(fd, byte)) == -EAGAIN) {
		if (annex_now() >= deadline)
			return -ETIMEDOUT;
		THREAD_KEPT(nanosleep(&nap, NULL));
		nap.tv_nsec = nap.tv_nsec * 2 < NAP_MOST ? nap.tv_nsec * 2 : NAP_MOST;
	}
	return err;
}

void lock_drop(int fd, uint32_t byte)
{
	struct flock lock;

	call(fd, F_OFD_SETLK, F_UNLCK, byte, 1, &lock);
}

int lock_late(int fd, const char *uri, uint32_t ms)
{
	char name[HOLDER_NAME];

	annex_holder_name(fd, LOCK_AT + LOCK_TABLE, name);
	return annex_fail(-ETIMEDOUT, "%s: %s has held its table for %u ms", uri, name, ms);
}

bool lock_taken(int fd, uint32_t byte, uint32_t n)
{
	struct flock lock;

	return call(fd, F_OFD_GETLK, F_WRLCK, byte, n, &lock) || lock.l_type != F_UNLCK;
}

/* A mapping keeps its file description alive, locks and all, in every child that has it. */
int annex_hdm_unshare(struct annex_medium *m)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return annex_fail(-errno, "range: %s: %m", path);
	close(m->fd);
	m->fd = fd;
	return 0;
}

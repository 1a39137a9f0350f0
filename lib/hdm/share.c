// SPDX-License-Identifier: MIT
/*
 * A range among threads and processes: the lock of its table, numbers of its owners, and fork().
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "hdm.h"
#include "lock.h"

static int lock_threads(struct annex_hdm *h)
{
	struct timespec until;

	if (!pthread_mutex_trylock(&h->lock))
		return 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += h->timeout_ms / 1000;
	until.tv_nsec += h->timeout_ms % 1000 * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000l;
	until.tv_nsec %= 1000000000l;
	return -pthread_mutex_timedlock(&h->lock, &until);
}

int annex_hdm_check(struct annex_hdm *h)
{
	return annex_mapping_check(h->mapping);
}

int hdm_unlock(struct annex_hdm *h, int err)
{
	int lost = annex_hdm_check(h);

	lock_drop(h->m->fd, LOCK_TABLE);
	pthread_mutex_unlock(&h->lock);
	return lost ? lost : err;
}

int hdm_lock(struct annex_hdm *h)
{
	uint64_t deadline = annex_deadline_ms(h->timeout_ms);
	int err;

	if (h->fork.child)
		return fork_refuse(h->uri);
	err = annex_hdm_check(h);
	if (err)
		return err;
	err = lock_threads(h);
	if (err)
		return annex_fail(err, "%s: another thread has held its table for %u ms", h->uri,
				  h->timeout_ms);
	err = lock_take(h->m->fd, LOCK_TABLE, deadline);
	if (err)
		pthread_mutex_unlock(&h->lock);
	if (err == -ETIMEDOUT)
		return lock_late(h->m->fd, h->uri, h->timeout_ms);
	if (err)
		return annex_fail(err, "%s: its table cannot be locked: %s", h->uri,
				  strerror(-err));
	err = h->t.known ? hdm_redo(&h->t) : 0;
	return err ? hdm_unlock(h, err) : 0;
}

int hdm_join(struct annex_hdm *h)
{
	for (h->owner = 0; h->owner < HDM_OWNERS; h->owner++) {
		int err = lock_try(h->m->fd, LOCK_OWNER(h->owner));

		if (!err)
			return 0;
		if (err != -EAGAIN)
			return annex_fail(err, "%s: it cannot be locked: %s", h->uri,
					  strerror(-err));
	}
	return annex_fail(-EMFILE, "%s: %u handles are open on it already", h->uri, HDM_OWNERS);
}

bool hdm_owner_lives(const struct annex_hdm *h, uint32_t owner)
{
	return owner == h->owner || lock_taken(h->m->fd, LOCK_OWNER(owner), 1);
}

bool hdm_alone(const struct annex_hdm *h)
{
	return !lock_taken(h->m->fd, LOCK_OWNER(0), HDM_OWNERS);
}

/*
 * The child has a copy of what only one may use. Without the file it holds no lock either, so that
 * what its parent had is free when the parent is dead.
 */
static void in_child(struct fork_watch *w)
{
	struct annex_hdm *h =
		(struct annex_hdm *)(void *)((char *)w - offsetof(struct annex_hdm, fork));

	close(h->m->fd);
	h->m->fd = -1;
}

void hdm_watch(struct annex_hdm *h)
{
	h->fork.in_child = in_child;
	fork_watch(&h->fork);
}

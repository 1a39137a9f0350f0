// SPDX-License-Identifier: MIT
/*
 * A range among threads and processes: the lock of its table, numbers of its owners, and fork().
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "hdm.h"
#include "lock.h"

static pthread_mutex_t list_lock;
static struct annex_hdm *list;

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
	int err = h->m->ops->check ? h->m->ops->check(h->m) : 0;

	return err ? err : annex_mapping_check(h->mapping);
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

	if (h->forked)
		return annex_fail(-ECHILD, "%s: opened before fork(): open it in the child",
				  h->uri);
	err = annex_hdm_check(h);
	if (err)
		return err;
	err = lock_threads(h);
	if (!err) {
		err = lock_take(h->m->fd, LOCK_TABLE, deadline);
		if (err)
			pthread_mutex_unlock(&h->lock);
	}
	if (err == -ETIMEDOUT)
		return annex_fail(err, "%s: another process has held its table for %u ms", h->uri,
				  h->timeout_ms);
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

static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&list_lock);
}

/*
 * The child has a copy of what only one may use. Without the file it holds no lock either, so that
 * what its parent had is free when the parent is dead.
 */
static void in_child(void)
{
	for (struct annex_hdm *h = list; h; h = h->next) {
		close(h->m->fd);
		h->m->fd = -1;
		h->forked = true;
	}
	pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void)
{
	pthread_mutex_init(&list_lock, NULL);
	pthread_atfork(before_fork, after_fork, in_child);
}

void hdm_enlist(struct annex_hdm *h)
{
	static pthread_once_t watching = PTHREAD_ONCE_INIT;

	pthread_once(&watching, watch_forks);
	pthread_mutex_lock(&list_lock);
	h->next = list;
	list = h;
	pthread_mutex_unlock(&list_lock);
}

void hdm_delist(struct annex_hdm *h)
{
	struct annex_hdm **at = &list;

	pthread_mutex_lock(&list_lock);
	while (*at && *at != h)
		at = &(*at)->next;
	if (*at)
		*at = h->next;
	pthread_mutex_unlock(&list_lock);
}

// SPDX-License-Identifier: MIT
/*
 * A device in this process: the client and its front end are ours, with a thread that watches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp.h>
#include "core/log.h"
#include "models/ndp/device/front.h"
#include "ndp/client/m2.h"

/*
 * struct local - A handle of a device in this process.
 * @watch: notifies of the destruction of the device.
 * @m2: the handle.
 * @ndp: the device.
 * @front: its front end.
 * @thread: the thread of the front end.
 * @lock: excludes maps during the destruction.
 * @open: the device exists.
 */
struct local {
	struct ndp_watch watch;
	struct annex_m2 *m2;
	struct annex_ndp *ndp;
	struct ndp_front *front;
	pthread_t thread;
	pthread_mutex_t lock;
	bool open;
};

static struct local *local_of(struct annex_m2 *m2)
{
	return m2->behind;
}

static void *watch_front(void *arg)
{
	ndp_front_watch(arg);
	return NULL;
}

/* End the thread, then the client, which answers calls in flight. */
static void end(struct local *l)
{
	if (!l->open)
		return;
	l->open = false;
	ndp_front_stop(l->front);
	annex_bell_ring(&l->m2->bell);
	pthread_join(l->thread, NULL);
	ndp_front_end(l->front);
}

static void gone(struct ndp_watch *w)
{
	struct local *l = (struct local *)w; /* its first member */

	pthread_mutex_lock(&l->lock);
	end(l);
	pthread_mutex_unlock(&l->lock);
}

static int map(struct annex_m2 *m2, struct annex_hdm *hdm, char *addr, uint64_t bytes,
	       unsigned int prot)
{
	struct local *l = local_of(m2);
	int err = -ENODEV;

	(void)hdm;
	pthread_mutex_lock(&l->lock);
	if (l->open)
		err = ndp_client_map(l->front->client, (uintptr_t)addr, addr, bytes, prot);
	pthread_mutex_unlock(&l->lock);
	return err == -ENODEV ? annex_fail(err, "M2func: the device is gone") : err;
}

static int unmap(struct annex_m2 *m2, uint64_t addr, uint64_t bytes)
{
	struct local *l = local_of(m2);
	int err = -ENODEV;

	pthread_mutex_lock(&l->lock);
	if (l->open)
		err = ndp_client_unmap(l->front->client, addr, bytes);
	pthread_mutex_unlock(&l->lock);
	return err == -ENODEV ? annex_fail(err, "M2func: the device is gone") : err;
}

static bool down(struct annex_m2 *m2)
{
	(void)m2; /* the head's word says it */
	return false;
}

static void close_local(struct annex_m2 *m2)
{
	struct local *l = local_of(m2);

	if (*m2->mine && l->open) {
		ndp_unwatch(l->ndp, &l->watch);
		end(l);
	}
	/* In a child there is no thread, and the client is its parent's. */
	ndp_front_close(l->front);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static const struct m2_link local_link = {
	.map = map, .unmap = unmap, .down = down, .close = close_local};

static int start(struct annex_m2 *m2, struct local *l)
{
	int err;

	m2->behind = l;
	m2->link = &local_link;
	err = annex_m2_attach_region(m2, l->front->region);
	if (!err)
		err = -pthread_create(&l->thread, NULL, watch_front, l->front);
	if (err)
		return annex_fail(err, "M2func: cannot start its thread: %s", strerror(-err));
	l->open = true;
	ndp_watch(l->ndp, &l->watch);
	return 0;
}

static int open_front(struct annex_ndp *ndp, struct annex_m2 *m2, struct ndp_front **out)
{
	const struct ndp_front_opts opts = {.stride = m2->opts.stride, .slots = m2->opts.slots};
	struct ndp_client *c;
	struct bell theirs;
	int err = annex_bell_pair(&m2->bell, &theirs, false);

	if (err)
		return annex_fail(err, "M2func: no eventfd: %s", strerror(-err));
	err = ndp_client_open(ndp, true, &c);
	if (err) {
		annex_bell_close(&theirs);
		return err;
	}
	err = ndp_front_open(ndp, c, &opts, &theirs, out);
	if (err)
		ndp_client_close(c);
	return err;
}

int annex_m2_open_local(struct annex_ndp *ndp, const struct annex_m2_opts *opts,
			struct annex_m2 **out)
{
	struct local *l;
	struct annex_m2 *m2;
	int err = annex_m2_create(opts, &m2);

	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	err = l ? open_front(ndp, m2, &l->front) : annex_fail(-ENOMEM, "M2func: out of memory");
	if (err) {
		free(l);
		annex_m2_free(m2);
		return err;
	}
	l->watch.gone = gone;
	l->m2 = m2;
	l->ndp = ndp;
	pthread_mutex_init(&l->lock, NULL);
	err = start(m2, l);
	if (err) {
		ndp_front_end(l->front);
		close_local(m2);
		annex_m2_free(m2);
		return err;
	}
	*out = m2;
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Poisoned granules of a range, a bit for each. Poison may come while the range is open, and stays
 * until it is cleared by this handle. Reading a bit needs no lock: one that is set a moment too
 * late is like poison that came a moment later.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "hdm.h"

#define RECALL (10 * ANNEX_NSEC_PER_MSEC) /* how old what small pieces go by may be */

bool hdm_run_poisoned(const struct hdm_table *t, uint32_t at)
{
	/* Relaxed: nothing else goes with a bit. */
	return annex_atomic_load(&t->bad[at / 64], ANNEX_RELAXED) >> at % 64 & 1;
}

bool hdm_poisoned(const struct annex_hdm *h, uint64_t offset, uint64_t bytes)
{
	uint32_t at = (uint32_t)(offset / h->t.g.granule);
	uint32_t last = (uint32_t)((offset + bytes - 1) / h->t.g.granule);

	while (at < last && !hdm_run_poisoned(&h->t, at))
		at++;
	return hdm_run_poisoned(&h->t, at);
}

/* The medium's word may have any length, and reach out of the granules. */
static void mark(struct hdm_table *t, const struct range *r)
{
	uint64_t end = r->addr + r->len;

	for (uint64_t at = r->addr / t->g.granule; at < t->g.granules && at * t->g.granule < end;
	     at++)
		/* Relaxed: as hdm_run_poisoned(). */
		annex_atomic_or(&t->bad[at / 64], 1ull << at % 64, ANNEX_RELAXED);
}

static void mark_all(struct annex_hdm *h)
{
	for (unsigned int i = 0; i < h->m->npoison; i++)
		mark(&h->t, &h->m->poison[i]);
}

static int check_table(const struct annex_hdm *h)
{
	for (uint32_t at = 0; at < h->t.g.first; at++)
		if (hdm_run_poisoned(&h->t, at))
			return annex_fail(-EIO, "%s: the memory of its table is poisoned%s", h->uri,
					  h->m->ops->clear ? "; format=1 clears it and all pieces"
							   : "");
	return 0;
}

int hdm_poison_init(struct annex_hdm *h)
{
	h->t.bad = calloc(h->t.g.granules / 64 + 1, sizeof(*h->t.bad));
	if (!h->t.bad)
		return annex_fail(-ENOMEM, "%s: out of memory", h->uri);
	mark_all(h);
	return 0;
}

void hdm_poison_free(struct annex_hdm *h)
{
	free(h->t.bad);
}

static int refresh(struct annex_hdm *h)
{
	int err;

	if (!h->m->ops->poison)
		return 0;
	pthread_mutex_lock(&h->looking); /* for a call of the kernel, no longer */
	err = h->m->ops->poison(h->m);
	if (!err)
		mark_all(h);
	pthread_mutex_unlock(&h->looking);
	return err;
}

int hdm_poison_look(struct annex_hdm *h)
{
	int err = refresh(h);

	if (!err)
		err = check_table(h);
	/* Relaxed: nothing else goes with it. */
	annex_atomic_store(&h->looked, err, ANNEX_RELAXED);
	return err;
}

/* The result of the last look, for callers that do not look themselves. */
static int last_look(const struct annex_hdm *h)
{
	/* Relaxed: as hdm_poison_look(). */
	int err = annex_atomic_load(&h->looked, ANNEX_RELAXED);

	if (!err)
		return 0;
	return annex_fail(err, "%s: its poison is not known, or lies in its table: %s", h->uri,
			  strerror(-err));
}

int hdm_poison_recall(struct annex_hdm *h)
{
	uint64_t now, next;

	if (!h->m->ops->poison)
		return 0;
	now = annex_now();
	/* Relaxed, both: they only choose the one thread that asks. */
	next = annex_atomic_load(&h->recall, ANNEX_RELAXED);
	if (now < next || !annex_atomic_cas(&h->recall, &next, now + RECALL, ANNEX_RELAXED))
		return last_look(h);
	return hdm_poison_look(h);
}

int hdm_poison_clear(struct annex_hdm *h, uint32_t at, uint32_t len)
{
	uint64_t granule = h->t.g.granule;
	int err;

	if (!hdm_poisoned(h, at * granule, len * granule))
		return 0;
	if (!h->m->ops->clear)
		return annex_fail(-EOPNOTSUPP, "%s: its poison cannot be cleared", h->uri);
	pthread_mutex_lock(&h->looking);
	err = h->m->ops->clear(h->m, at * granule, len * granule);
	if (!err) {
		for (uint32_t i = at; i < at + len; i++)
			/* Relaxed: as hdm_run_poisoned(). */
			annex_atomic_and(&h->t.bad[i / 64], ~(1ull << i % 64), ANNEX_RELAXED);
		mark_all(h);
	}
	pthread_mutex_unlock(&h->looking);
	return err;
}

int hdm_poison_mend(struct annex_hdm *h)
{
	int err = refresh(h);

	if (!err && h->m->ops->clear)
		err = hdm_poison_clear(h, 0, h->t.g.first);
	return err ? err : hdm_poison_look(h);
}

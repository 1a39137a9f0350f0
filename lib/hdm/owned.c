// SPDX-License-Identifier: MIT
/*
 * Runs of granules that a handle owns: taken, given back, freed when their owner has died.
 */
#include <errno.h>
#include "core/log.h"
#include "hdm.h"

#define OWNERS_WORDS (HDM_OWNERS / 64)

int hdm_sweep(struct annex_hdm *h, bool own, uint32_t *freed)
{
	uint64_t asked[OWNERS_WORDS] = {0}, lives[OWNERS_WORDS] = {0};
	struct hdm_run r;
	int err = 0;

	*freed = 0;
	for (uint32_t at = h->t.g.first; !err && at < h->t.g.granules; at += r.len) {
		uint64_t bit;

		err = hdm_run_at(&h->t, at, &r);
		if (err || r.kind != HDM_OWNED)
			continue;
		bit = 1ull << r.index % 64;
		if (!(asked[r.index / 64] & bit)) {
			asked[r.index / 64] |= bit;
			lives[r.index / 64] |= hdm_owner_lives(h, r.index) ? bit : 0;
		}
		if (lives[r.index / 64] & bit && !(own && r.index == h->owner))
			continue;
		err = hdm_run_clear(&h->t, at);
		++*freed;
	}
	return err;
}

int hdm_find_run(struct annex_hdm *h, uint64_t bytes, uint32_t align, uint32_t *len, uint32_t *at)
{
	uint64_t n = bytes / h->t.g.granule + !!(bytes % h->t.g.granule);
	uint32_t freed;
	int err;

	if (n > h->t.g.granules)
		return -ENOSPC;
	*len = (uint32_t)n;
	err = hdm_poison_look(h);
	if (err)
		return err;
	err = hdm_run_find(&h->t, *len, align, at);
	if (err != -ENOSPC)
		return err;
	/* Look for runs of dead processes only when there is no other room. */
	err = hdm_sweep(h, false, &freed);
	if (!err)
		err = freed ? hdm_run_find(&h->t, *len, align, at) : -ENOSPC;
	return err;
}

int hdm_take_run(struct annex_hdm *h, uint64_t bytes, uint32_t align, uint32_t *at)
{
	struct hdm_run r = {.kind = HDM_OWNED, .index = h->owner};
	int err = hdm_lock(h);

	if (err)
		return err;
	err = hdm_find_run(h, bytes, align, &r.len, &r.at);
	if (!err)
		err = hdm_run_commit(&h->t, &r);
	*at = r.at;
	return hdm_unlock(h, err);
}

int hdm_own_run(struct annex_hdm *h, uint32_t at, struct hdm_run *r)
{
	unsigned long long offset = at * h->t.g.granule;
	int err = hdm_run_at(&h->t, at, r);

	if (!err && (r->kind == HDM_FREE || r->kind == HDM_TABLE))
		err = annex_fail(-EINVAL, "%s: there is no piece at offset %llu", h->uri, offset);
	else if (!err && r->kind == HDM_OWNED && r->index != h->owner)
		err = annex_fail(-EPERM, "%s: offset %llu belongs to another handle", h->uri,
				 offset);
	return err;
}

int hdm_give_run(struct annex_hdm *h, uint32_t at)
{
	struct hdm_run r;
	int err = hdm_lock(h);

	if (err)
		return err;
	err = hdm_own_run(h, at, &r);
	if (!err)
		err = hdm_run_clear(&h->t, at);
	return hdm_unlock(h, err);
}

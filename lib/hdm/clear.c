// SPDX-License-Identifier: MIT
/*
 * Clearing the poison of pieces and of free memory, by the range's table.
 */
#include <errno.h>
#include "core/log.h"
#include "hdm.h"
#include "slab.h"

static int clear_free(struct annex_hdm *h)
{
	struct hdm_run r;
	int err = 0;

	for (uint32_t at = h->t.g.first; !err && at < h->t.g.granules; at += r.len) {
		err = hdm_run_at(&h->t, at, &r);
		if (!err && r.kind == HDM_FREE)
			err = hdm_poison_clear(h, at, 1);
	}
	return err;
}

static int clear_piece(struct annex_hdm *h, const char *ptr)
{
	uint64_t offset = (uint64_t)(ptr - h->m->base), at = offset / h->t.g.granule;
	struct hdm_run r;
	int err;

	if (at >= h->t.g.granules || offset % h->t.g.granule || slab_of(h, offset))
		return annex_fail(-EINVAL, "%s: %p is no piece of whole pages", h->uri, ptr);
	err = hdm_own_run(h, (uint32_t)at, &r);
	return err ? err : hdm_poison_clear(h, r.at, r.len);
}

int annex_hdm_clear(struct annex_hdm *h, void *ptr)
{
	int err = hdm_lock(h);

	if (err)
		return err;
	err = hdm_poison_look(h);
	if (!err)
		err = ptr ? clear_piece(h, ptr) : clear_free(h);
	return hdm_unlock(h, err);
}

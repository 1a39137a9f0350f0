// SPDX-License-Identifier: MIT
/*
 * Names for several pieces in one step.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "hdm.h"

/* The run of a piece that has no name yet. */
static int run_of_piece(struct annex_hdm *h, const struct annex_hdm_piece *p, struct hdm_run *r)
{
	uint64_t offset = (uint64_t)((char *)p->ptr - h->m->base);
	uint64_t at = offset / h->t.g.granule;
	int err = at < h->t.g.granules ? hdm_run_at(&h->t, (uint32_t)at, r) : -EINVAL;

	if (err && err != -EINVAL)
		return err;
	if (err || offset % h->t.g.granule || slab_of(h, offset) || r->kind != HDM_OWNED ||
	    r->index != h->owner || !p->bytes || p->bytes > r->len * h->t.g.granule)
		return annex_fail(-EINVAL, "%s: %zu bytes at %p are no piece that can be called %s",
				  h->uri, p->bytes, p->ptr, p->name);
	return 0;
}

/* Write the name slot of a piece, from e->index on, and fill the journal's entry. */
static int prepare(struct annex_hdm *h, const struct annex_hdm_piece *p, bool replace,
		   struct hdm_entry *e)
{
	struct hdm_run r, old;
	struct hdm_slot slot;
	int err = run_of_piece(h, p, &r);

	if (err)
		return err;
	err = hdm_name_find(&h->t, p->name, &old, &slot);
	if (!err && !replace)
		return annex_fail(-EEXIST, "%s: there is a %s already", h->uri, p->name);
	e->at = r.at;
	e->before = err ? 0 : old.at;
	return err && err != -ENOENT ? err
				     : hdm_name_put(&h->t, p->name, p->bytes, r.at, &e->index);
}

static int publish(struct annex_hdm *h, const struct annex_hdm_piece *pieces, unsigned int n,
		   bool replace)
{
	struct hdm_entry e = {.index = 0};
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		err = prepare(h, &pieces[i], replace, &e);
		if (!err)
			hdm_journal_write(&h->t, i, &e);
		e.index++;
	}
	return err ? err : hdm_journal_commit(&h->t, n);
}

static int check_names(const struct annex_hdm *h, const struct annex_hdm_piece *pieces,
		       unsigned int n)
{
	if (!n || n > ANNEX_HDM_PUBLISHED)
		return annex_fail(-EINVAL, "%s: %u pieces at once; 1 to %u", h->uri, n,
				  ANNEX_HDM_PUBLISHED);
	for (unsigned int i = 0; i < n; i++) {
		if (hdm_name_test(pieces[i].name))
			return annex_fail(-EINVAL, "%s: a name has 1 to %u printable characters",
					  h->uri, ANNEX_HDM_NAME - 1);
		for (unsigned int k = 0; k < i; k++)
			if (pieces[k].ptr == pieces[i].ptr ||
			    !strcmp(pieces[k].name, pieces[i].name))
				return annex_fail(-EINVAL, "%s: %s, or its piece, is there twice",
						  h->uri, pieces[i].name);
	}
	return 0;
}

int annex_hdm_publish(struct annex_hdm *h, const struct annex_hdm_piece *pieces, unsigned int n,
		      bool replace)
{
	int err = check_names(h, pieces, n);

	if (!err)
		err = hdm_lock(h);
	return err ? err : hdm_unlock(h, publish(h, pieces, n, replace));
}

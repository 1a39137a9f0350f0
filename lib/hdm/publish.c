// SPDX-License-Identifier: MIT
/*
 * Names for several pieces in one step, by a journal in the head of the table:
 *
 *	word 0		JOURNAL_FULL and the number of entries, or 0
 *	then		entries: the granule of the piece, that of the piece before it of that name
 *			(0: none), and its name slot
 *
 * Slots and entries are made to last before word 0 is stored, and it is cleared when their changes
 * are made. A handle that takes the lock finds it full only if the process that filled it died, or
 * the power failed; then it does the rest (hdm_redo()).
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "hdm.h"

#define JOURNAL_AT 128u
#define JOURNAL_FULL 0x4c4e524a4d4448ull /* "HDMJRNL" */
#define COUNT_SHIFT 56
#define BEFORE_SHIFT 24
#define SLOT_SHIFT 48
#define GRANULE_MASK 0xffffffu

_Static_assert(HDM_GRANULES <= GRANULE_MASK && HDM_NAMES <= 1u << 16, "an entry is one word");
_Static_assert(JOURNAL_AT + (ANNEX_HDM_PUBLISHED + 1) * 8 <= HDM_PAGE, "it is in the first page");

static uint64_t *journal(const struct hdm_table *t)
{
	return (uint64_t *)(void *)(t->m->base + JOURNAL_AT);
}

static int broken(const struct hdm_table *t)
{
	return annex_fail(-EILSEQ, "%s: the journal of the table is damaged", t->uri);
}

static int store_count(struct hdm_table *t, uint64_t n)
{
	/* Release: behind the entries, for a reader after a crash. */
	annex_atomic_store(journal(t), n ? JOURNAL_FULL | n << COUNT_SHIFT : 0, ANNEX_RELEASE);
	return hdm_persist(t->m, journal(t), sizeof(uint64_t));
}

/* The piece at granule @at that has, or had, the same name; *@gone: it has been freed already. */
static int find_before(const struct hdm_table *t, uint32_t at, const struct hdm_slot *slot,
		       bool *gone)
{
	struct hdm_slot old;
	struct hdm_run r;
	int err = at < t->g.granules ? hdm_run_at(t, at, &r) : broken(t);

	*gone = !err && r.kind == HDM_FREE;
	if (err || *gone)
		return err;
	err = r.kind == HDM_NAMED ? hdm_name_read(t, &r, &old) : broken(t);
	return err || !strcmp(old.name, slot->name) ? err : broken(t);
}

/* Nothing in an entry is believed: any process may have written it. */
static int redo(struct hdm_table *t, uint64_t entry)
{
	uint32_t at = entry & GRANULE_MASK, before = entry >> BEFORE_SHIFT & GRANULE_MASK;
	uint32_t index = (uint32_t)(entry >> SLOT_SHIFT);
	bool done, gone = true;
	struct hdm_slot slot;
	struct hdm_run r;
	int err = at >= t->g.first && at < t->g.granules ? hdm_run_at(t, at, &r) : broken(t);

	if (err)
		return err;
	done = r.kind == HDM_NAMED && r.index == index;
	if ((!done && r.kind != HDM_OWNED) || index >= t->g.names || before == at)
		return broken(t);
	r.kind = HDM_NAMED;
	r.index = index;
	err = hdm_name_read(t, &r, &slot);
	if (!err && before)
		err = find_before(t, before, &slot, &gone);
	if (!err && !done)
		err = hdm_run_commit(t, &r);
	return err || gone ? err : hdm_run_clear(t, before);
}

int hdm_redo(struct hdm_table *t)
{
	/* Acquire: with store_count(). */
	uint64_t word = annex_atomic_load(journal(t), ANNEX_ACQUIRE), n = word >> COUNT_SHIFT;
	int err = 0;

	if (!word)
		return 0;
	if (word != (JOURNAL_FULL | n << COUNT_SHIFT) || !n || n > ANNEX_HDM_PUBLISHED)
		return broken(t);
	for (uint64_t i = 1; i <= n && !err; i++)
		err = redo(t, annex_atomic_load(journal(t) + i, ANNEX_RELAXED));
	return err ? err : store_count(t, 0);
}

/* The run of a piece that has no name yet. */
static int find_run(struct annex_hdm *h, const struct annex_hdm_piece *p, struct hdm_run *r)
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

/* Write the name slot of a piece, behind the slots of earlier pieces, and the journal's entry. */
static int prepare(struct annex_hdm *h, const struct annex_hdm_piece *p, bool replace,
		   uint32_t *index, uint64_t *entry)
{
	struct hdm_run r, old = {.at = 0};
	struct hdm_slot slot;
	int err = find_run(h, p, &r);

	if (err)
		return err;
	err = hdm_name_find(&h->t, p->name, &old, &slot);
	if (!err && !replace)
		return annex_fail(-EEXIST, "%s: there is a %s already", h->uri, p->name);
	if (err == -ENOENT) {
		old.at = 0;
		err = 0;
	}
	if (!err)
		err = hdm_name_put(&h->t, p->name, p->bytes, r.at, index);
	if (!err)
		annex_atomic_store(entry,
				   r.at | (uint64_t)old.at << BEFORE_SHIFT |
					   (uint64_t)*index << SLOT_SHIFT,
				   ANNEX_RELAXED); /* store_count() tells of it */
	++*index;
	return err;
}

static int publish(struct annex_hdm *h, const struct annex_hdm_piece *pieces, unsigned int n,
		   bool replace)
{
	uint64_t *entries = journal(&h->t) + 1;
	uint32_t index = 0;
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++)
		err = prepare(h, &pieces[i], replace, &index, &entries[i]);
	if (!err)
		err = hdm_persist(h->m, entries, n * sizeof(*entries));
	if (!err)
		err = store_count(&h->t, n);
	return err ? err : hdm_redo(&h->t);
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

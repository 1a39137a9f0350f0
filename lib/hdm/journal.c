// SPDX-License-Identifier: MIT
/*
 * The journal in the head of the table, by which several pieces get their names in one step:
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
#include "table.h"

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

void hdm_journal_write(struct hdm_table *t, unsigned int i, const struct hdm_entry *e)
{
	/* Relaxed: store_count() publishes it. */
	annex_atomic_store(journal(t) + 1 + i,
			   e->at | (uint64_t)e->before << BEFORE_SHIFT |
				   (uint64_t)e->index << SLOT_SHIFT,
			   ANNEX_RELAXED);
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

int hdm_journal_commit(struct hdm_table *t, unsigned int n)
{
	int err = hdm_persist(t->m, journal(t) + 1, n * sizeof(uint64_t));

	if (!err)
		err = store_count(t, n);
	return err ? err : hdm_redo(t);
}

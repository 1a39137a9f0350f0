/* SPDX-License-Identifier: MIT */
/*
 * The table of a range: taken granules, their owners and their names.
 *
 *	byte 0		struct hdm_head: magic, version, bytes of the range, check
 *	byte 64		the number of changes so far
 *	byte 4096	one 64-bit word a granule
 *	then		name slots of 128 bytes
 *
 * Everything about the layout follows from the bytes of the range (hdm_geo_init()), so there are no
 * offsets in the table that could lie. A granule is a page, or more where there would be too many.
 *
 * A run of granules is taken by one word, that of its first granule: kind, length, an index, and a
 * check of the three and the place. All other words are zero: words inside of runs, which are
 * skipped, and words of free granules. So taking a run is one store of 8 bytes, freeing it is
 * another, and after any crash each run is there or is not. Nothing has to be repaired.
 *
 * A name slot is in use if it names a run whose word names the slot. It is written first, and made
 * to last; the word that makes it valid is written after. When the word goes, so does the name.
 *
 * The index of a run without a name is its owner, a number that a handle holds by a lock on a byte
 * of the file (lock.h). The kernel drops the lock when the process dies, and the run is free.
 *
 * Several names at once are put by a journal (publish.c), which is in the first page too.
 *
 * Formatting begins and ends with a store to the magic, so that a table half made is made again.
 *
 * Changes are made by one handle at a time. Other processes may write anything to the table:
 * each word is loaded once, and believed in nothing that would lead outside of the range.
 */
#ifndef ANNEX_HDM_TABLE_H
#define ANNEX_HDM_TABLE_H

#include <annex/hdm.h>
#include "core/medium.h"

#define HDM_MAGIC 0x314d44485845414eull /* "NAEXHDM1" */
#define HDM_UNFINISHED 0x304d44485845414eull
#define HDM_VERSION 1u
#define HDM_PAGE 4096u
#define HDM_GRANULES (1u << 22) /* at most */
#define HDM_NAMES 4096u         /* at most */
#define HDM_NAMES_LEAST 16u
#define HDM_OWNERS 1024u
#define HDM_GEN_AT 64u

enum hdm_kind { HDM_FREE, HDM_TABLE, HDM_NAMED, HDM_OWNED };

struct hdm_head {
	uint64_t magic;
	uint64_t version;
	uint64_t bytes;
	uint64_t check;
};

/*
 * struct hdm_slot - The name of a run.
 * @run: the first granule of the run.
 */
struct hdm_slot {
	uint64_t bytes;
	uint64_t run;
	uint64_t check;
	char name[ANNEX_HDM_NAME];
};

/* struct hdm_run - A word of the table, looked through: @len granules from @at. */
struct hdm_run {
	enum hdm_kind kind;
	uint32_t at, len, index;
};

/*
 * struct hdm_geo - Sizes of a range and places in its table.
 * @first: granules of the table itself.
 */
struct hdm_geo {
	uint64_t bytes, granule, names_at;
	uint32_t granules, names, first;
};

/*
 * struct hdm_table - The table of runs of a range.
 * @bad: a bit for each granule that must not be touched.
 * @hint: where to look for room, as long as nothing has changed since @seen.
 * @known: it was read.
 */
struct hdm_table {
	struct annex_medium *m;
	const char *uri;
	struct hdm_geo g;
	uint64_t *bad;
	uint64_t seen;
	uint32_t hint;
	bool known;
};

/* All of the following with the lock of the range, and with -EILSEQ for a table that is broken. */

void hdm_geo_init(struct hdm_geo *g, uint64_t bytes);

/* table.c: hdm_table_read() - Find the table, and check all of it: -ENODATA when there is none, and
 * nothing else either; -EILSEQ when there is something else. hdm_table_format() - Make one. */
int hdm_table_read(struct hdm_table *t);
int hdm_table_format(struct hdm_table *t);

/* run.c: hdm_run_at() - The run that begins at granule @at; free granules come one at a time. */
int hdm_run_at(const struct hdm_table *t, uint32_t at, struct hdm_run *r);
/* hdm_run_find() - Room for @len granules on a multiple of @align of them; -ENOSPC, without a line.
 * hdm_run_commit(), hdm_run_clear() - Take the found run; give it back. */
int hdm_run_find(struct hdm_table *t, uint32_t len, uint32_t align, uint32_t *at);
int hdm_run_commit(struct hdm_table *t, const struct hdm_run *r);
int hdm_run_clear(struct hdm_table *t, uint32_t at);
/* hdm_run_broken() - The line, and -EILSEQ. */
int hdm_run_broken(const struct hdm_table *t, uint32_t at);

/* poison.c: hdm_run_poisoned() - Whether a granule must not be touched, for all that was known when
 * hdm_poison_look() (hdm.h) looked last. */
bool hdm_run_poisoned(const struct hdm_table *t, uint32_t at);

/* name.c: hdm_name_test() - Whether it can be one: -EINVAL, -ENAMETOOLONG, without a line. */
int hdm_name_test(const char *name);
/* hdm_name_find() - The slot of a name: -ENOENT. hdm_name_read() - The slot that run @r
 * has, as a copy. hdm_name_put() - Write a slot, of number *@index or more, for a run
 * that will be taken: -EMFILE. */
int hdm_name_find(const struct hdm_table *t, const char *name, struct hdm_run *r,
		  struct hdm_slot *slot);
int hdm_name_read(const struct hdm_table *t, const struct hdm_run *r, struct hdm_slot *slot);
int hdm_name_put(struct hdm_table *t, const char *name, uint64_t bytes, uint32_t run,
		 uint32_t *index);
/* hdm_name_check() - Whether the run @r has a name that no other run has: 0, or -EILSEQ. */
int hdm_name_check(const struct hdm_table *t, const struct hdm_run *r);

/*
 * struct hdm_entry - One entry of the journal.
 * @at: granule of the piece that gets the name.
 * @before: granule of the piece that had it; 0: none.
 * @index: the name slot.
 */
struct hdm_entry {
	uint32_t at, before, index;
};

/*
 * journal.c: hdm_journal_write() - Store entry @i; nothing happens yet.
 * hdm_journal_commit() - Make the first @n entries last, and carry them out.
 * hdm_redo() - Carry out the entries of a process that died, if there are any.
 */
void hdm_journal_write(struct hdm_table *t, unsigned int i, const struct hdm_entry *e);
int hdm_journal_commit(struct hdm_table *t, unsigned int n);
int hdm_redo(struct hdm_table *t);

/* persist.c */
int hdm_persist(struct annex_medium *m, void *ptr, size_t len);
const char *hdm_persist_name(const struct annex_medium *m);

#endif

// SPDX-License-Identifier: MIT
/*
 * Runs of granules, each of which is one word.
 */
#include <errno.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "table.h"

#define LEN_SHIFT 8
#define INDEX_SHIFT 32
#define CHECK_SHIFT 48
#define LEN_MASK 0xffffffu
#define INDEX_MASK 0xffffu

static uint64_t *word_of(const struct hdm_table *t, uint32_t at)
{
	return (uint64_t *)(void *)(t->m->base + HDM_PAGE) + at;
}

static uint64_t *gen_of(const struct hdm_table *t)
{
	return (uint64_t *)(void *)(t->m->base + HDM_GEN_AT);
}

/* The place goes in, so that a word is right nowhere else. */
static uint64_t with_check(uint64_t low, uint32_t at)
{
	uint64_t z = low ^ ((uint64_t)at + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9ull;
	z ^= z >> 32;
	return low | z << CHECK_SHIFT;
}

int hdm_run_broken(const struct hdm_table *t, uint32_t at)
{
	return annex_fail(-EILSEQ, "%s: the table is damaged at granule %u", t->uri, at);
}

int hdm_run_at(const struct hdm_table *t, uint32_t at, struct hdm_run *r)
{
	/* Relaxed: the lock of the range orders it with its writer. */
	uint64_t word = annex_atomic_load(word_of(t, at), ANNEX_RELAXED);
	uint64_t low = word & ((1ull << CHECK_SHIFT) - 1);

	*r = (struct hdm_run){HDM_FREE, at, 1, 0};
	if (!word)
		return 0;
	r->kind = (enum hdm_kind)(word & 0xff);
	r->len = word >> LEN_SHIFT & LEN_MASK;
	r->index = word >> INDEX_SHIFT & INDEX_MASK;
	if (word != with_check(low, at) || !r->len || r->len > t->g.granules - at ||
	    r->kind < HDM_TABLE || r->kind > HDM_OWNED || (r->kind == HDM_TABLE) != !at ||
	    (r->kind == HDM_NAMED && r->index >= t->g.names) ||
	    (r->kind == HDM_OWNED && r->index >= HDM_OWNERS))
		return hdm_run_broken(t, at);
	return 0;
}

/* The first room of @len granules from @at on that begins before @end. */
static int search(const struct hdm_table *t, uint32_t at, uint32_t end, uint32_t len,
		  uint32_t align, uint32_t *out)
{
	uint32_t begin = at;
	struct hdm_run r;

	for (; at < t->g.granules && begin < end; at += r.len) {
		int err = hdm_run_at(t, at, &r);

		if (err)
			return err;
		if (r.kind != HDM_FREE || hdm_run_poisoned(t, at)) {
			begin = at + r.len;
			continue;
		}
		if (begin % align)
			begin += align - begin % align;
		if (at >= begin && at - begin + 1 >= len) {
			*out = begin;
			return 0;
		}
	}
	return -ENOSPC;
}

int hdm_run_find(struct hdm_table *t, uint32_t len, uint32_t align, uint32_t *at)
{
	int err = -ENOSPC;

	/* Where others have changed something, the hint may lie inside of a run. */
	if (annex_atomic_load(gen_of(t), ANNEX_RELAXED) != t->seen || t->hint >= t->g.granules)
		t->hint = t->g.first;
	if (t->hint > t->g.first)
		err = search(t, t->hint, UINT32_MAX, len, align, at);
	if (err == -ENOSPC)
		err = search(t, t->g.first, t->hint > t->g.first ? t->hint : UINT32_MAX, len, align,
			     at);
	return err;
}

/* Change a word, after others have been told that their hints are stale. */
static int store(struct hdm_table *t, uint32_t at, uint64_t word)
{
	uint64_t gen = annex_atomic_load(gen_of(t), ANNEX_RELAXED);

	if (gen != t->seen)
		t->hint = t->g.first;
	t->seen = gen + 1;
	annex_atomic_store(gen_of(t), t->seen, ANNEX_RELAXED);
	/* Release: after the number and the name's slot, for a reader after a crash. */
	annex_atomic_store(word_of(t, at), word, ANNEX_RELEASE);
	return hdm_persist(t->m, word_of(t, at), sizeof(word));
}

int hdm_run_commit(struct hdm_table *t, const struct hdm_run *r)
{
	uint64_t low = (uint64_t)r->kind | (uint64_t)r->len << LEN_SHIFT |
		       (uint64_t)r->index << INDEX_SHIFT;
	int err = store(t, r->at, with_check(low, r->at));

	t->hint = r->at + r->len;
	return err;
}

int hdm_run_clear(struct hdm_table *t, uint32_t at)
{
	return store(t, at, 0);
}

// SPDX-License-Identifier: MIT
/*
 * The head of a table: found, checked, made.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "table.h"

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

void hdm_geo_init(struct hdm_geo *g, uint64_t bytes)
{
	uint64_t end;

	g->bytes = bytes;
	g->granule = HDM_PAGE;
	while (bytes / g->granule > HDM_GRANULES)
		g->granule *= 2;
	g->granules = (uint32_t)(bytes / g->granule);
	g->names = g->granules / 8 < HDM_NAMES ? g->granules / 8 : HDM_NAMES;
	g->names = g->names > HDM_NAMES_LEAST ? g->names : HDM_NAMES_LEAST;
	g->names_at = round_up(HDM_PAGE + g->granules * sizeof(uint64_t), 64);
	end = g->names_at + g->names * sizeof(struct hdm_slot);
	g->first = (uint32_t)(round_up(end, g->granule) / g->granule);
}

static uint64_t head_check(const struct hdm_head *h)
{
	uint64_t z = HDM_MAGIC ^ h->version * 0x9e3779b97f4a7c15ull ^ h->bytes;

	z = (z ^ z >> 31) * 0xbf58476d1ce4e5b9ull;
	return z ^ z >> 29;
}

static void read_head(const struct hdm_table *t, struct hdm_head *h)
{
	const uint64_t *from = (const void *)t->m->base;

	/* Relaxed, once each: the lock of the range orders them with their writer. */
	h->magic = annex_atomic_load(&from[0], ANNEX_RELAXED);
	h->version = annex_atomic_load(&from[1], ANNEX_RELAXED);
	h->bytes = annex_atomic_load(&from[2], ANNEX_RELAXED);
	h->check = annex_atomic_load(&from[3], ANNEX_RELAXED);
}

/* Whether there is nothing where the table of so large a range would go. */
static bool is_blank(const struct hdm_table *t)
{
	const uint64_t *word = (const void *)t->m->base;
	uint64_t n = t->g.first * t->g.granule / sizeof(*word);

	for (uint64_t i = 0; i < n; i++)
		if (word[i])
			return false;
	return true;
}

static int check_head(struct hdm_table *t)
{
	struct hdm_head h;

	read_head(t, &h);
	if (h.magic == HDM_UNFINISHED)
		return -ENODATA;
	if (h.magic != HDM_MAGIC)
		return is_blank(t) ? -ENODATA
				   : annex_fail(-EILSEQ,
						"%s: its contents are no range of Annex; format=1 "
						"discards them",
						t->uri);
	if (h.check != head_check(&h))
		return annex_fail(-EILSEQ, "%s: the head of the table is damaged", t->uri);
	if (h.version != HDM_VERSION)
		return annex_fail(-EPROTONOSUPPORT, "%s: a table of version %llu, not %u", t->uri,
				  (ull)h.version, HDM_VERSION);
	if (h.bytes != t->g.bytes)
		return annex_fail(-EILSEQ, "%s: it has %llu bytes, its table was made for %llu",
				  t->uri, (ull)t->g.bytes, (ull)h.bytes);
	return 0;
}

/* Each run in its place, with nothing inside, and with the name that it should have. */
static int check_runs(const struct hdm_table *t)
{
	const uint64_t *word = (const void *)(t->m->base + HDM_PAGE);
	struct hdm_run r;

	for (uint32_t at = 0; at < t->g.granules; at += r.len) {
		int err = hdm_run_at(t, at, &r);

		if (err)
			return err;
		if ((r.kind == HDM_TABLE) != !at || (!at && r.len != t->g.first))
			return hdm_run_broken(t, at);
		for (uint32_t i = 1; i < r.len; i++)
			if (annex_atomic_load(&word[at + i], ANNEX_RELAXED))
				return hdm_run_broken(t, at + i);
		err = r.kind == HDM_NAMED ? hdm_name_check(t, &r) : 0;
		if (err)
			return err;
	}
	return 0;
}

int hdm_table_read(struct hdm_table *t)
{
	int err = check_head(t);

	if (!err)
		err = hdm_redo(t);
	if (!err)
		err = check_runs(t);
	t->known = !err;
	return err;
}

static int store_magic(struct hdm_table *t, uint64_t magic)
{
	uint64_t *to = (void *)t->m->base;

	/* Release: a process that maps the range finds the earlier stores. */
	annex_atomic_store(to, magic, ANNEX_RELEASE);
	return hdm_persist(t->m, to, sizeof(*to));
}

/* By words: memset() may store byte after byte, which is slow where each store goes to a device. */
static void clear(struct hdm_table *t, uint64_t from, uint64_t to)
{
	uint64_t *word = (void *)t->m->base;

	/* Relaxed: the magic that is stored behind them tells of them. */
	for (uint64_t i = from / sizeof(*word); i < to / sizeof(*word); i++)
		annex_atomic_store(&word[i], 0, ANNEX_RELAXED);
}

int hdm_table_format(struct hdm_table *t)
{
	struct hdm_head h = {.version = HDM_VERSION, .bytes = t->g.bytes};
	struct hdm_run table = {HDM_TABLE, 0, t->g.first, 0};
	int err = store_magic(t, HDM_UNFINISHED);

	if (err)
		return err;
	h.magic = HDM_UNFINISHED;
	h.check = head_check(&h);
	memcpy(t->m->base + sizeof(h.magic), &h.version, sizeof(h) - sizeof(h.magic));
	clear(t, sizeof(h), t->g.first * t->g.granule);
	t->seen = t->hint = 0;
	err = hdm_persist(t->m, t->m->base, t->g.first * t->g.granule);
	if (!err)
		err = hdm_run_commit(t, &table);
	if (!err)
		err = store_magic(t, HDM_MAGIC);
	t->known = !err;
	return err;
}

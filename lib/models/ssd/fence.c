// SPDX-License-Identifier: MIT
/*
 * Durability: the journal gets the contents that only DRAM has.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "ssd.h"

int ssd_add_line(struct annex_cxlssd *s, uint64_t line, const char *data)
{
	struct ssd_entry *e = ssd_journal_add(s->journal, line);

	if (!e)
		return -ENOMEM;
	memcpy(e->data, data, SSD_LINE);
	return 0;
}

/* Add marks of the pages in a bitmap of whole words. */
static int add_marks(struct annex_cxlssd *s, const uint64_t *bits)
{
	const uint32_t words = (ssd_pages(s) + 63) / 64;

	for (uint32_t i = 0; i < words; i += SSD_VOIDS / 64) {
		const uint32_t n = words - i < SSD_VOIDS / 64 ? words - i : SSD_VOIDS / 64;
		struct ssd_entry *e;
		uint64_t any = 0;

		for (uint32_t k = 0; k < n; k++)
			any |= bits[i + k];
		if (!any)
			continue;
		e = ssd_journal_add(s->journal, SSD_VOID_MARK | (uint64_t)i * 64);
		if (!e)
			return -ENOMEM;
		memset(e->bits, 0, sizeof(e->bits));
		memcpy(e->bits, bits + i, n * sizeof(*bits));
	}
	return 0;
}

/* Add the lines @bits of a frame. */
static int add_frame(struct annex_cxlssd *s, uint32_t frame, uint64_t bits)
{
	const uint64_t first = (uint64_t)ssd_cache_unit(&s->cache, frame) *
			       (s->cache.unit / SSD_LINE);
	int err = 0;

	for (; !err && bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(bits);

		err = ssd_add_line(s, first + i, ssd_cache_data(&s->cache, frame) + i * SSD_LINE);
	}
	return err;
}

static int add_log(struct annex_cxlssd *s, uint32_t from)
{
	int err = 0;

	for (uint32_t i = from; !err && i < s->log.n; i++)
		if (s->log.lines[i] != SSD_NO_LINE)
			err = ssd_add_line(s, s->log.lines[i], ssd_log_data(&s->log, i));
	return err;
}

int ssd_add_loose(struct annex_cxlssd *s)
{
	const struct ssd_cache *c = &s->cache;
	int err = s->n_trimmed ? add_marks(s, s->trimmed) : 0;

	for (uint32_t i = 0; !err && i < c->n_loose; i++)
		err = add_frame(s, c->loose[i], c->frames[c->loose[i]].loose);
	return err ? err : add_log(s, s->log.firm);
}

/* Empty trimmed pages in flash once the journal voids them. */
void ssd_make_firm(struct annex_cxlssd *s)
{
	for (uint32_t i = 0; s->n_trimmed && i < (ssd_pages(s) + 63) / 64; i++) {
		for (; s->trimmed[i]; s->trimmed[i] &= s->trimmed[i] - 1) {
			ssd_flash_trim(s->flash, i * 64 + (uint32_t)__builtin_ctzll(s->trimmed[i]));
			s->n_trimmed--;
		}
	}
	ssd_cache_firm(&s->cache);
	ssd_log_firm(&s->log);
}

int ssd_journal_all(struct annex_cxlssd *s, bool last)
{
	const struct ssd_cache *c = &s->cache;
	int err;

	ssd_journal_drop(s->journal);
	err = add_marks(s, s->empty);
	for (uint32_t frame = 0; !err && frame < c->sets * c->ways; frame++)
		if (c->frames[frame].dirty)
			err = add_frame(s, frame, c->frames[frame].dirty);
	if (!err)
		err = add_log(s, 0);
	if (!err)
		err = ssd_journal_turn(s->journal, ssd_flash_turn(s->flash), last);
	if (err)
		ssd_journal_drop(s->journal);
	else
		ssd_make_firm(s);
	return err;
}

int ssd_fence(struct annex_cxlssd *s)
{
	const bool loose = s->n_trimmed || s->cache.n_loose || s->log.firm < s->log.n;
	int err;

	if (!loose && !s->file->dirty)
		return s->file->failed;
	s->stats.fences++;
	if (!s->journal || !loose) {
		err = ssd_file_sync(s->file);
		if (!err)
			ssd_make_firm(s);
		return err;
	}
	err = ssd_add_loose(s);
	if (!err && !ssd_journal_fits(s->journal, ssd_group(s)))
		return ssd_journal_all(s, false);
	if (!err)
		err = ssd_journal_append(s->journal, ssd_flash_turn(s->flash), true);
	if (err)
		ssd_journal_drop(s->journal);
	else
		ssd_make_firm(s);
	return err;
}

int ssd_flush(struct annex_cxlssd *s, uint64_t now)
{
	const struct ssd_cache *c = &s->cache;
	uint64_t done;
	int err;

	/* DRAM has nothing newer than the file. */
	if (s->file->readonly)
		return 0;
	err = s->log.room ? ssd_clean_log(s, now) : s->file->failed;
	for (uint32_t frame = 0; !err && frame < c->sets * c->ways; frame++)
		if (c->frames[frame].dirty)
			err = ssd_clean(s, ssd_cache_unit(c, frame) / (s->page_bytes / c->unit),
					&now, &done);
	if (err)
		return err;
	return s->journal ? ssd_journal_all(s, false) : ssd_fence(s);
}

int annex_cxlssd_fence(struct annex_cxlssd *s, struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own;
	int err;

	t = ssd_enter(s, t, &own);
	err = ssd_fence(s);
	return ssd_leave(s, t, &own, t->done, err);
}

int annex_cxlssd_flush(struct annex_cxlssd *s, struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own;
	uint64_t idle;
	int err;

	t = ssd_enter(s, t, &own);
	err = ssd_flush(s, t->told);
	idle = ssd_ingress_last(&s->programs);
	t->done = idle > t->done ? idle : t->done;
	return ssd_leave(s, t, &own, t->done, err);
}

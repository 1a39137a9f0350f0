// SPDX-License-Identifier: MIT
/*
 * Write-back of DRAM's lines to flash, page by page.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "ssd.h"

/* Whether DRAM has units [@from, @to) of a page. */
static bool is_cached(const struct annex_cxlssd *s, uint32_t page, uint32_t from, uint32_t to)
{
	const uint32_t units = s->page_bytes / s->cache.unit;

	for (uint32_t i = from; i < to; i++) {
		const uint32_t frame = ssd_cache_find(&s->cache, page * units + i);

		if (frame == SSD_NO_FRAME || s->cache.frames[frame].lacks)
			return false;
	}
	return true;
}

/* Whether DRAM has each line of a page. */
static bool is_covered(const struct annex_cxlssd *s, uint32_t page)
{
	for (uint32_t i = 0; i < s->page_lines; i++) {
		const uint64_t line = (uint64_t)page * s->page_lines + i;

		if (!(ssd_log_has(&s->log, page) && ssd_log_find(&s->log, line) != SSD_NO_ENTRY) &&
		    !ssd_cache_has(&s->cache, line))
			return false;
	}
	return true;
}

static void overlay_unit(const struct annex_cxlssd *s, uint32_t frame, char *to)
{
	const char *from = ssd_cache_data(&s->cache, frame);
	const uint64_t lacks = s->cache.frames[frame].lacks;

	if (!lacks) {
		memcpy(to, from, s->cache.unit);
		return;
	}
	for (uint32_t i = 0; i < s->cache.unit / SSD_LINE; i++)
		if (!(lacks >> i & 1))
			memcpy(to + i * SSD_LINE, from + i * SSD_LINE, SSD_LINE);
}

static void overlay_units(const struct annex_cxlssd *s, uint32_t page, uint32_t from, uint32_t to,
			  char *buf)
{
	const uint32_t units = s->page_bytes / s->cache.unit;

	for (uint32_t i = from; i < to; i++) {
		uint32_t frame = ssd_cache_find(&s->cache, page * units + i);

		if (frame != SSD_NO_FRAME)
			overlay_unit(s, frame, buf + (size_t)i * s->cache.unit);
	}
}

static void overlay_log(const struct annex_cxlssd *s, uint32_t page, char *buf)
{
	const uint64_t first = (uint64_t)page * s->page_lines;

	for (uint32_t i = 0; i < s->page_lines; i++) {
		uint32_t entry = ssd_log_find(&s->log, first + i);

		if (entry != SSD_NO_ENTRY)
			memcpy(buf + (size_t)i * SSD_LINE, ssd_log_data(&s->log, entry), SSD_LINE);
	}
}

int ssd_gather(struct annex_cxlssd *s, uint32_t page, char *buf, uint32_t from, uint32_t wanted,
	       uint64_t *now, bool *damaged)
{
	const uint32_t first = from / s->cache.unit;
	const uint32_t end = (from + wanted - 1) / s->cache.unit + 1;
	uint64_t done = *now;
	bool bad = false;
	int err = 0;

	if (ssd_bit(s->empty, page))
		memset(buf, 0, s->page_bytes);
	else if (!is_cached(s, page, first, end))
		err = ssd_flash_read(s->flash, page, buf, from, wanted, *now, &done, &bad);
	if (err)
		return err;
	bad = bad && !is_covered(s, page);
	if (damaged)
		*damaged = bad;
	else if (bad)
		return annex_fail(-EIO, "%s: page %u is damaged: its checksum is wrong",
				  s->file->path, page);
	s->stats.flash_reads += done != *now;
	*now = done;
	overlay_units(s, page, first, end, buf);
	if (ssd_log_has(&s->log, page))
		overlay_log(s, page, buf);
	return 0;
}

int ssd_program(struct annex_cxlssd *s, uint32_t page, const char *buf, bool damaged, uint64_t now,
		uint64_t *done)
{
	const uint64_t bit = 1ull << page % 64;
	int err = 0;

	if (s->journal && ssd_flash_collects(s->flash, now))
		err = ssd_journal_settle(s->journal);
	if (!err)
		err = ssd_flash_write(s->flash, page, buf, damaged, now, done);
	if (err)
		return err;
	if (damaged)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: page %u is damaged: lines stored to it are lost until all of it is "
			  "written",
			  s->file->path, page);
	ssd_ingress_leave(&s->programs, *done);
	s->n_trimmed -= ssd_bit(s->trimmed, page);
	s->trimmed[page / 64] &= ~bit;
	s->empty[page / 64] &= ~bit;
	return 0;
}

/* Flash has all lines of a page: clear their dirty bits. */
static void forget_lines(struct annex_cxlssd *s, uint32_t page)
{
	for (uint32_t i = 0; ssd_log_has(&s->log, page) && i < s->page_lines; i++)
		ssd_log_drop(&s->log, (uint64_t)page * s->page_lines + i);
}

void ssd_forget(struct annex_cxlssd *s, uint32_t page)
{
	const uint32_t units = s->page_bytes / s->cache.unit;

	for (uint32_t i = 0; i < units; i++) {
		uint32_t frame = ssd_cache_find(&s->cache, page * units + i);

		if (frame != SSD_NO_FRAME)
			ssd_cache_drop(&s->cache, frame);
	}
	forget_lines(s, page);
}

/* Make transactions durable before their lines go to a page. */
static int make_durable(struct annex_cxlssd *s)
{
	return s->journal && ssd_journal_waits(s->journal) ? ssd_file_sync(s->file) : 0;
}

int ssd_clean(struct annex_cxlssd *s, uint32_t page, uint64_t *now, uint64_t *done)
{
	const uint32_t units = s->page_bytes / s->cache.unit;
	const uint32_t whole = units == 1 ? ssd_cache_find(&s->cache, page) : SSD_NO_FRAME;
	const char *from = s->page2;
	bool damaged = false;
	uint64_t at;
	int err = make_durable(s);

	*now = at = ssd_ingress_enter(&s->programs, *now);
	/* A cached unit includes all lines of the log. */
	if (whole != SSD_NO_FRAME && !s->cache.frames[whole].lacks)
		from = ssd_cache_data(&s->cache, whole);
	else if (!err)
		err = ssd_gather(s, page, s->page2, 0, s->page_bytes, &at, &damaged);
	if (!err)
		err = ssd_program(s, page, from, damaged, at, done);
	if (err)
		return err;
	for (uint32_t i = 0; i < units; i++) {
		uint32_t frame = ssd_cache_find(&s->cache, page * units + i);

		if (frame != SSD_NO_FRAME)
			ssd_cache_clean(&s->cache, frame);
	}
	forget_lines(s, page);
	return 0;
}

int ssd_clean_log(struct annex_cxlssd *s, uint64_t now)
{
	struct ssd_log *l = &s->log;
	const uint32_t n = l->n;
	uint64_t done = now, last = now;
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		if (l->lines[i] == SSD_NO_LINE)
			continue;
		err = ssd_clean(s, (uint32_t)(l->lines[i] / s->page_lines), &now, &done);
		last = done > last ? done : last;
	}
	if (err)
		return err;
	ssd_log_empty(l);
	s->cleaning = last;
	s->cleaned = n;
	s->stats.cleaned += n > 0;
	return 0;
}

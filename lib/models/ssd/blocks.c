// SPDX-License-Identifier: MIT
/*
 * The block interface: whole pages between host and flash, bypassing the cache.
 */
#include <errno.h>
#include "core/log.h"
#include "ssd.h"

static int check_blocks(const struct annex_cxlssd *s, uint64_t at, uint64_t bytes)
{
	if (at % s->page_bytes || bytes % s->page_bytes)
		return annex_fail(-EINVAL, "cxlssd: %llu bytes at %llu are no whole pages of %u",
				  (ull)bytes, (ull)at, s->page_bytes);
	return ssd_check(s, at, bytes);
}

/* Announce pages ahead of a sequential reader. */
static void look_ahead(struct annex_cxlssd *s, uint32_t page, uint32_t n)
{
	const uint32_t from = page == s->behind && s->ahead > page ? s->ahead : page;
	uint32_t to = page == s->behind ? page + n + SSD_EXPECTED / 2 : page + n;

	to = to < ssd_pages(s) ? to : ssd_pages(s);
	if (n > 1 && to > from && (page != s->behind || to - from >= SSD_EXPECTED / 4)) {
		ssd_flash_expect(s->flash, from, to - from);
		s->ahead = to;
	}
	s->behind = page + n;
}

int annex_cxlssd_read_blocks(struct annex_cxlssd *s, uint64_t at, void *buf, size_t bytes,
			     struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own;
	int err;

	t = ssd_enter(s, t, &own);
	err = check_blocks(s, at, bytes);
	if (!err)
		look_ahead(s, (uint32_t)(at / s->page_bytes), (uint32_t)(bytes / s->page_bytes));
	for (size_t from = 0; !err && from < bytes; from += s->page_bytes) {
		uint64_t done = t->told;

		err = ssd_gather(s, (uint32_t)((at + from) / s->page_bytes), (char *)buf + from, 0,
				 s->page_bytes, &done, NULL);
		t->hit &= done == t->told;
		t->done = done > t->done ? done : t->done;
	}
	return ssd_leave(s, t, &own, t->done, err);
}

int annex_cxlssd_write_blocks(struct annex_cxlssd *s, uint64_t at, const void *buf, size_t bytes,
			      struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own;
	int err;

	t = ssd_enter(s, t, &own);
	err = check_blocks(s, at, bytes);
	if (!err)
		err = ssd_check_change(s);
	t->hit = false;
	for (size_t from = 0; !err && from < bytes; from += s->page_bytes) {
		const uint32_t page = (uint32_t)((at + from) / s->page_bytes);
		uint64_t now = ssd_ingress_enter(&s->programs, t->told), done;

		err = ssd_program(s, page, (const char *)buf + from, false, now, &done);
		if (err)
			break;
		ssd_forget(s, page);
		done = s->c.buffered ? now : done;
		t->done = done > t->done ? done : t->done;
	}
	return ssd_leave(s, t, &own, t->done, err);
}

int annex_cxlssd_trim(struct annex_cxlssd *s, uint64_t at, uint64_t bytes,
		      struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own;
	int err;

	t = ssd_enter(s, t, &own);
	err = check_blocks(s, at, bytes);
	if (!err)
		err = ssd_check_change(s);
	for (uint64_t from = 0; !err && from < bytes; from += s->page_bytes) {
		const uint32_t page = (uint32_t)((at + from) / s->page_bytes);
		const uint64_t bit = 1ull << page % 64;

		ssd_forget(s, page);
		s->n_trimmed += !ssd_bit(s->trimmed, page);
		s->trimmed[page / 64] |= bit;
		s->empty[page / 64] |= bit;
	}
	return ssd_leave(s, t, &own, t->done, err);
}

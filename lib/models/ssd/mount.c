// SPDX-License-Identifier: MIT
/*
 * Opening a backing file: replay the journal into flash. A power cut meanwhile is harmless, since
 * the journal is kept until all of it is in flash.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "ssd.h"

/* struct found - A line of the journal. @since: turn of its group. @order: among all lines. */
struct found {
	uint64_t line, since;
	uint32_t order;
	unsigned char data[SSD_LINE];
};

/* struct replay - A replay. @empty: turn of the last mark that voids each page; 0: none. */
struct replay {
	struct annex_cxlssd *s;
	struct found *lines;
	uint32_t n, room;
	uint64_t *empty;
};

static int take_mark(struct replay *r, uint64_t seq, const struct ssd_entry *e)
{
	const uint64_t first = e->at & ~SSD_VOID_MARK;

	for (uint32_t i = 0; i < SSD_VOIDS; i++) {
		if (!ssd_bit(e->bits, i))
			continue;
		if (first + i >= ssd_pages(r->s))
			return annex_fail(-EILSEQ, "%s: its journal names a page that is not there",
					  r->s->file->path);
		r->empty[first + i] = seq;
	}
	return 0;
}

static int take_entry(void *ctx, uint64_t seq, const struct ssd_entry *e)
{
	struct replay *r = ctx;
	struct found *f;

	if (e->at & SSD_VOID_MARK)
		return take_mark(r, seq, e);
	if (e->at == SSD_PROOF_MARK)
		return 0;
	if (e->at >= r->s->bytes / SSD_LINE)
		return annex_fail(-EILSEQ, "%s: its journal names a line that is not there",
				  r->s->file->path);
	if (r->n == r->room) {
		const uint32_t room = r->room ? 2 * r->room : 1024;

		f = realloc(r->lines, (size_t)room * sizeof(*f));
		if (!f)
			return annex_fail(-ENOMEM, "%s: out of memory", r->s->file->path);
		r->lines = f;
		r->room = room;
	}
	f = &r->lines[r->n];
	f->line = e->at;
	f->since = seq;
	f->order = r->n++;
	memcpy(f->data, e->data, SSD_LINE);
	return 0;
}

static int by_line(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Note empty pages, of which flash may still have a copy. */
static void take_empty(struct replay *r)
{
	for (uint32_t page = 0; page < ssd_pages(r->s); page++)
		if (r->empty[page] > ssd_flash_since(r->s->flash, page))
			r->s->empty[page / 64] |= 1ull << page % 64;
}

/* Replay the lines of one page, from @from on. *@to: first line of the next page. */
static int take_page(struct replay *r, uint32_t from, uint32_t *to)
{
	struct annex_cxlssd *s = r->s;
	const uint32_t page = (uint32_t)(r->lines[from].line / s->page_lines);
	const uint64_t since = ssd_flash_since(s->flash, page);
	uint64_t now = 0, last = 0, done;
	uint32_t n = 0; /* distinct lines */
	bool damaged;
	int err = ssd_gather(s, page, s->page2, 0, s->page_bytes, &now, &damaged);

	for (*to = from; *to < r->n && r->lines[*to].line / s->page_lines == page; ++*to) {
		const struct found *f = &r->lines[*to];

		/* Flash has the line already, or it was trimmed later. */
		if (f->since < since || f->since < r->empty[page])
			continue;
		n += !n || f->line != last;
		last = f->line;
		memcpy(s->page2 + f->line % s->page_lines * SSD_LINE, f->data, SSD_LINE);
	}
	if (err || !n)
		return err;
	now = ssd_ingress_enter(&s->programs, now);
	return ssd_program(s, page, s->page2, damaged && n < s->page_lines, now, &done);
}

int ssd_mount(struct annex_cxlssd *s)
{
	struct replay r = {.s = s};
	uint64_t last, safe;
	int err = -ENOMEM;

	last = ssd_journal_last(s->journal, &safe);
	r.empty = calloc(ssd_pages(s), sizeof(*r.empty));
	if (!r.empty)
		annex_fail(err, "%s: out of memory", s->file->path);
	else
		err = ssd_journal_replay(s->journal, take_entry, &r);
	/* It may collect garbage. */
	if (!err)
		err = ssd_journal_settle(s->journal);
	if (!err)
		err = ssd_flash_open(s->file, &s->c.media, safe, r.empty, &s->flash);
	if (!err) {
		ssd_flash_pass(s->flash, last);
		take_empty(&r);
		if (r.n)
			qsort(r.lines, r.n, sizeof(*r.lines), by_line);
	}
	for (uint32_t i = 0; !err && i < r.n;)
		err = take_page(&r, i, &i);
	free(r.lines);
	free(r.empty);
	if (!err)
		err = ssd_journal_all(s, false);
	if (!err)
		ssd_flash_settle(s->flash);
	return err;
}

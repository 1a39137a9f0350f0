// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "core/log.h"
#include "flash.h"
#include "proof.h"
#include "record.h"

#define WORN_MAX (UINT32_MAX / 2)
#define AHEAD 65536u /* bytes */

/*
 * struct ssd_flash - The flash of a file.
 * @sums: checksum of each flash page; for a damaged page, another number.
 * @turn: the last turn.
 * @proofs: proofs of pages that may not be on the medium.
 * @since: turn of each logical page, until ssd_flash_settle().
 * @now: arrival of the current write, for the translation layer's calls.
 * @done: completion of its last part.
 * @from: its bytes.
 * @damaged: some of its bytes are not the host's.
 * @buf: a page, for copies.
 */
struct ssd_flash {
	struct ssd_file *file;
	struct ftl *ftl;
	struct ssd_clock *clock;
	struct ssd_geometry g;
	uint32_t *sums;
	uint64_t turn;
	struct ssd_proofs proofs;
	uint64_t *since;
	uint64_t now, done, collected;
	const void *from;
	bool damaged;
	char *buf;
};

/* Memory of the process needs no checksum. */
static uint32_t page_sum(const struct ssd_flash *fl, const void *buf)
{
	return fl->file->mem ? 0 : annex_crc32c(buf, fl->g.page / 8, 0);
}

static uint32_t plane_of(const struct ssd_flash *fl, uint32_t at)
{
	return at / fl->g.pages / fl->g.blocks;
}

static int damaged_record(const struct ssd_flash *fl, uint32_t at, int err)
{
	return annex_fail(err, "%s: the record of its flash page %u is damaged", fl->file->path,
			  at);
}

/* Read the page to copy, and its turn. A damaged page stays damaged. */
static int read_copied(struct ssd_flash *fl, uint32_t from, struct ssd_record *r)
{
	struct ssd_record old;
	int err = ssd_file_read(fl->file, ssd_record_at(fl->file, from), &old, sizeof(old));

	if (!err && old.crc != ssd_record_crc(&old, from))
		err = damaged_record(fl, from, -EIO);
	if (!err)
		err = ssd_file_read(fl->file, ssd_page_at(fl->file, from), fl->buf, fl->g.page);
	if (err)
		return err;
	r->since = old.since;
	r->sum = page_sum(fl, fl->buf);
	r->page |= r->sum == fl->sums[from] ? 0 : SSD_DAMAGED;
	return 0;
}

/* The checksum that a read of a page checks. */
static uint32_t known_sum(const struct ssd_record *r)
{
	return r->page & SSD_DAMAGED ? ~r->sum : r->sum;
}

/*
 * Zero AHEAD bytes of a new block in one write, so that the host's file system converts one
 * unwritten extent in place of one for each page.
 */
static int clear_ahead(struct ssd_flash *fl, uint32_t to, uint32_t worn)
{
	static const char zeroes[AHEAD];
	const uint32_t in_block = to % fl->g.pages, some = AHEAD / fl->g.page;
	const uint32_t left = fl->g.pages - in_block, n = left < some ? left : some;

	if (!fl->file->durable || worn || !some || in_block % some)
		return 0;
	return ssd_file_write(fl->file, ssd_page_at(fl->file, to), zeroes, (size_t)n * fl->g.page);
}

static int program(void *ctx, uint32_t to, uint32_t from, uint32_t page)
{
	struct ssd_flash *fl = ctx;
	const bool copies = from != FTL_NONE;
	uint32_t worn = ftl_worn(fl->ftl, to / fl->g.pages);
	struct ssd_record r = {.turn = fl->turn + 1, .page = page, .worn = worn};
	int err = 0;

	if (copies) {
		err = read_copied(fl, from, &r);
	} else {
		r.since = r.turn;
		r.sum = page_sum(fl, fl->from);
		r.page |= fl->damaged ? SSD_DAMAGED : 0;
	}
	r.crc = ssd_record_crc(&r, to);
	if (!err)
		err = clear_ahead(fl, to, worn);
	if (!err)
		err = ssd_file_write(fl->file, ssd_page_at(fl->file, to),
				     copies ? fl->buf : fl->from, fl->g.page);
	if (!err)
		err = ssd_file_write(fl->file, ssd_record_at(fl->file, to), &r, sizeof(r));
	if (err)
		return err;
	fl->turn = r.turn;
	fl->sums[to] = known_sum(&r);
	if (!copies)
		ssd_proofs_add(&fl->proofs, fl->file, &(struct ssd_proof){r.turn, to});
	fl->done = copies ? ssd_clock_copy(fl->clock, plane_of(fl, to), fl->now)
			  : ssd_clock_program(fl->clock, plane_of(fl, to), fl->now);
	return 0;
}

static void erase(void *ctx, uint32_t block)
{
	struct ssd_flash *fl = ctx;

	/* Newer copies of its pages must be on the medium before it is programmed again. After a
	 * failed sync nothing is programmed any more. */
	ssd_file_sync(fl->file);
	fl->done = ssd_clock_erase(fl->clock, block / fl->g.blocks, fl->now);
	if (fl->done > fl->collected)
		fl->collected = fl->done;
}

static uint64_t busy(void *ctx, uint32_t plane)
{
	const struct ssd_flash *fl = ctx;
	const uint64_t idle = ssd_clock_idle(fl->clock, plane);

	return idle > fl->now ? idle - fl->now : 0;
}

static const struct ftl_ops ops = {program, erase, busy};

/*
 * struct scan - A scan of all records. @empty: as in ssd_flash_open().
 * @best: place of the newest copy of each logical page so far. @turns: turn of that copy.
 */
struct scan {
	struct ssd_record *records;
	const uint64_t *empty;
	uint32_t *best;
	uint64_t *turns;
	uint32_t *holds, *programmed, *worn;
};

static bool is_record(const struct ssd_record *r, uint32_t at, uint32_t logical)
{
	return r->turn && r->since && r->crc == ssd_record_crc(r, at) &&
	       ((r->page & ~SSD_DAMAGED) < logical || r->page == SSD_NO_PAGE) &&
	       r->since <= r->turn && r->turn < SSD_TURN_MAX && r->worn < WORN_MAX;
}

/* A record is in one sector of a disk: after a power cut it is new or old. */
static int check_records(const struct ssd_flash *fl, const struct scan *s, uint32_t logical)
{
	const struct ssd_record none = {0};

	for (uint32_t at = 0; at < ssd_blocks(&fl->g) * fl->g.pages; at++)
		if (!is_record(&s->records[at], at, logical) &&
		    memcmp(&s->records[at], &none, sizeof(none)))
			return damaged_record(fl, at, -EILSEQ);
	return 0;
}

/* Find the wear and the programmed pages of a block since its last erase. */
static void scan_block(struct ssd_flash *fl, struct scan *s, uint32_t block, uint32_t logical)
{
	const uint32_t first = block * fl->g.pages;

	for (uint32_t i = 0; i < fl->g.pages; i++) {
		const struct ssd_record *r = &s->records[first + i];

		if (!is_record(r, first + i, logical) || r->worn < s->worn[block])
			continue;
		s->worn[block] = r->worn;
		s->programmed[block] = i + 1;
	}
}

/* Return: 1: the page has the checksum of its record; 0: another one; an error. */
static int is_whole(struct ssd_flash *fl, const struct ssd_record *r, uint32_t at)
{
	int err = ssd_file_read(fl->file, ssd_page_at(fl->file, at), fl->buf, fl->g.page);

	return err ? err : page_sum(fl, fl->buf) == r->sum;
}

/* Void a page, also for later openings, when it is older than @safe. */
static int discount(struct ssd_flash *fl, struct scan *s, uint32_t at)
{
	struct ssd_record *r = &s->records[at];

	r->page = SSD_NO_PAGE;
	r->crc = ssd_record_crc(r, at);
	return ssd_file_write(fl->file, ssd_record_at(fl->file, at), r, sizeof(*r));
}

void ssd_flash_pass(struct ssd_flash *fl, uint64_t turn)
{
	if (turn > fl->turn)
		fl->turn = turn;
}

static int scan_page(struct ssd_flash *fl, struct scan *s, uint32_t at, uint64_t safe)
{
	const struct ssd_record *r = &s->records[at];
	const uint32_t page = r->page & ~SSD_DAMAGED;
	int is;

	ssd_flash_pass(fl, r->turn);
	if (r->page == SSD_NO_PAGE)
		return 0;
	is = r->turn < safe ? 1 : is_whole(fl, r, at);
	if (is <= 0)
		return is ? is : discount(fl, s, at);
	fl->sums[at] = known_sum(r);
	if (r->since < s->empty[page] || r->since < fl->since[page] ||
	    (r->since == fl->since[page] && r->turn < s->turns[page]))
		return 0;
	fl->since[page] = r->since;
	s->turns[page] = r->turn;
	s->best[page] = at;
	return 0;
}

/* Whether a page was programmed since its block's last erase. */
static bool is_alive(const struct ssd_flash *fl, const struct scan *s, uint32_t at,
		     uint32_t logical)
{
	const uint32_t block = at / fl->g.pages;

	return at % fl->g.pages < s->programmed[block] && is_record(&s->records[at], at, logical) &&
	       s->records[at].worn == s->worn[block];
}

static bool holds_page(const struct ssd_flash *fl, const struct scan *s, uint32_t at,
		       uint32_t logical)
{
	return is_alive(fl, s, at, logical) && s->records[at].page != SSD_NO_PAGE;
}

static bool is_best(const struct ssd_flash *fl, const struct scan *s, uint32_t at, uint32_t logical)
{
	return holds_page(fl, s, at, logical) && s->best[s->records[at].page & ~SSD_DAMAGED] == at;
}

/* The pages [*@from, *@to) of a plane. */
static void plane_pages(const struct ssd_flash *fl, uint32_t plane, uint32_t *from, uint32_t *to)
{
	*from = plane * fl->g.blocks * fl->g.pages;
	*to = *from + fl->g.blocks * fl->g.pages;
}

/* The last block programmed, if by garbage collection; else FTL_NONE. */
static uint32_t collected_into(const struct ssd_flash *fl, const struct scan *s, uint32_t plane,
			       uint32_t logical)
{
	uint32_t from, to, last = FTL_NONE;

	plane_pages(fl, plane, &from, &to);
	for (uint32_t at = from; at < to; at++)
		if (is_alive(fl, s, at, logical) &&
		    (last == FTL_NONE || s->records[at].turn > s->records[last].turn))
			last = at;
	if (last == FTL_NONE || s->records[last].since == s->records[last].turn)
		return FTL_NONE;
	return last / fl->g.pages;
}

/*
 * Undo a collection that a power cut interrupted: its target block has only copies, and its source
 * block is whole, since it is not programmed again before a sync. So there are as many erased
 * blocks as before. @twins: room for the pages of a block.
 */
static int undo(struct ssd_flash *fl, struct scan *s, uint32_t plane, uint32_t logical,
		uint32_t *twins)
{
	const uint32_t block = collected_into(fl, s, plane, logical);
	uint32_t from, to, n = 0;

	if (block == FTL_NONE)
		return 0;
	for (uint32_t i = 0; i < fl->g.pages; i++) {
		const uint32_t at = block * fl->g.pages + i;

		twins[i] = FTL_NONE;
		n += is_best(fl, s, at, logical);
	}
	plane_pages(fl, plane, &from, &to);
	for (uint32_t at = from; at < to; at++) {
		const struct ssd_record *r = &s->records[at];
		uint32_t copy = holds_page(fl, s, at, logical) ? s->best[r->page & ~SSD_DAMAGED]
							       : FTL_NONE;
		int is;

		if (copy == FTL_NONE || copy == at || copy / fl->g.pages != block ||
		    s->records[copy].since != r->since || twins[copy % fl->g.pages] != FTL_NONE)
			continue;
		is = is_whole(fl, r, at);
		if (is < 0)
			return is;
		if (is || s->records[copy].page & SSD_DAMAGED) {
			twins[copy % fl->g.pages] = at;
			n--;
		}
	}
	for (uint32_t i = 0; !n && i < fl->g.pages; i++) {
		int err = twins[i] == FTL_NONE ? 0 : discount(fl, s, block * fl->g.pages + i);

		if (err)
			return err;
		if (twins[i] != FTL_NONE)
			s->best[s->records[twins[i]].page & ~SSD_DAMAGED] = twins[i];
	}
	return 0;
}

static int undo_all(struct ssd_flash *fl, struct scan *s, uint32_t logical)
{
	uint32_t *twins = malloc(fl->g.pages * sizeof(*twins));
	int err = twins ? 0 : annex_fail(-ENOMEM, "%s: out of memory", fl->file->path);

	for (uint32_t plane = 0; !err && plane < ssd_planes(&fl->g); plane++)
		err = undo(fl, s, plane, logical, twins);
	free(twins);
	return err;
}

static int scan_all(struct ssd_flash *fl, struct scan *s, uint32_t logical, uint64_t safe)
{
	const uint32_t n = ssd_blocks(&fl->g) * fl->g.pages;
	int err = ssd_file_read(fl->file, fl->file->records, s->records,
				(size_t)n * sizeof(*s->records));

	if (!err)
		err = check_records(fl, s, logical);
	for (uint32_t b = 0; !err && b < ssd_blocks(&fl->g); b++) {
		scan_block(fl, s, b, logical);
		for (uint32_t i = 0; !err && i < s->programmed[b]; i++) {
			uint32_t at = b * fl->g.pages + i;

			if (is_alive(fl, s, at, logical))
				err = scan_page(fl, s, at, safe);
		}
	}
	if (!err)
		err = undo_all(fl, s, logical);
	for (uint32_t at = 0; at < n; at++)
		s->holds[at] = FTL_NONE;
	for (uint32_t page = 0; !err && page < logical; page++)
		if (s->best[page] != FTL_NONE)
			s->holds[s->best[page]] = page;
	return err;
}

static int find_pages(struct ssd_flash *fl, uint32_t logical, uint64_t safe, const uint64_t *empty)
{
	const size_t blocks = ssd_blocks(&fl->g), n = blocks * fl->g.pages;
	struct scan s = {
		.empty = empty,
		.records = malloc(n * sizeof(*s.records)),
		.best = malloc(logical * sizeof(*s.best)),
		.turns = calloc(logical, sizeof(*s.turns)),
		.holds = malloc(n * sizeof(*s.holds)),
		.programmed = calloc(blocks, sizeof(*s.programmed)),
		.worn = calloc(blocks, sizeof(*s.worn)),
	};
	int err = -ENOMEM;

	if (s.records && s.best && s.turns && s.holds && s.programmed && s.worn) {
		const struct ftl_found found = {s.holds, s.programmed, s.worn};

		memset(s.best, 0xff, logical * sizeof(*s.best));
		err = scan_all(fl, &s, logical, safe);
		if (!err && (err = ftl_restore(fl->ftl, &found)) == -EILSEQ)
			annex_fail(err, "%s: records of its flash pages contradict each other",
				   fl->file->path);
	} else {
		annex_fail(err, "%s: out of memory", fl->file->path);
	}
	free(s.records);
	free(s.best);
	free(s.turns);
	free(s.holds);
	free(s.programmed);
	free(s.worn);
	return err;
}

int ssd_flash_open(struct ssd_file *file, const struct ssd_media *media, uint64_t safe,
		   const uint64_t *empty, struct ssd_flash **out)
{
	const struct ssd_geometry *g = &file->shape.g;
	const uint32_t logical = (uint32_t)(file->shape.bytes / g->page);
	struct ssd_flash *fl = calloc(1, sizeof(*fl));
	int err = -ENOMEM;

	if (fl) {
		fl->file = file;
		/* The next opening of the file reads the pages that are copied from here on. */
		fl->turn = safe;
		fl->g = *g;
		fl->sums = calloc((size_t)ssd_blocks(g) * g->pages, sizeof(*fl->sums));
		fl->since = calloc(logical, sizeof(*fl->since));
		fl->buf = malloc(g->page);
		fl->ftl = ftl_create(g, logical, &ops, fl);
		fl->clock = ssd_clock_create(g, media);
	}
	if (!fl || !fl->sums || !fl->since || !fl->buf || !fl->ftl || !fl->clock)
		annex_fail(err, "%s: out of memory", file->path);
	else
		err = file->fresh ? 0 : find_pages(fl, logical, safe, empty);
	if (err) {
		ssd_flash_close(fl);
		return err;
	}
	*out = fl;
	return 0;
}

void ssd_flash_close(struct ssd_flash *fl)
{
	if (!fl)
		return;
	ftl_destroy(fl->ftl);
	ssd_clock_destroy(fl->clock);
	free(fl->sums);
	free(fl->since);
	free(fl->buf);
	free(fl);
}

uint64_t ssd_flash_turn(struct ssd_flash *fl)
{
	return ++fl->turn;
}

uint64_t ssd_flash_since(const struct ssd_flash *fl, uint32_t page)
{
	return fl->since[page];
}

void ssd_flash_settle(struct ssd_flash *fl)
{
	free(fl->since);
	fl->since = NULL;
}

static int by_place(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Consecutive pages are on all channels, which are far apart in the file. */
void ssd_flash_expect(struct ssd_flash *fl, uint32_t page, uint32_t n)
{
	uint32_t at[SSD_EXPECTED], m = 0;

	if (fl->file->mem)
		return;
	for (uint32_t i = 0; i < n && m < SSD_EXPECTED; i++) {
		at[m] = ftl_find(fl->ftl, page + i);
		m += at[m] != FTL_NONE;
	}
	qsort(at, m, sizeof(at[0]), by_place);
	for (uint32_t from = 0, to; from < m; from = to) {
		for (to = from + 1; to < m && at[to] == at[to - 1] + 1; to++)
			;
		posix_fadvise(fl->file->fd, (off_t)ssd_page_at(fl->file, at[from]),
			      (off_t)(to - from) * fl->g.page, POSIX_FADV_WILLNEED);
	}
}

int ssd_flash_read(struct ssd_flash *fl, uint32_t page, char *buf, uint32_t from, uint32_t wanted,
		   uint64_t now, uint64_t *done, bool *damaged)
{
	uint32_t at = ftl_find(fl->ftl, page);
	int err;

	*done = now;
	*damaged = false;
	if (at == FTL_NONE) {
		memset(buf, 0, fl->g.page);
		return 0;
	}
	/* A checksum covers a whole page. */
	err = fl->file->mem ? ssd_file_read(fl->file, ssd_page_at(fl->file, at) + from, buf + from,
					    wanted)
			    : ssd_file_read(fl->file, ssd_page_at(fl->file, at), buf, fl->g.page);
	if (err)
		return err;
	*damaged = page_sum(fl, buf) != fl->sums[at];
	*done = ssd_clock_read(fl->clock, plane_of(fl, at), wanted, now);
	return 0;
}

int ssd_flash_write(struct ssd_flash *fl, uint32_t page, const void *buf, bool damaged,
		    uint64_t now, uint64_t *done)
{
	int err = fl->file->failed;

	if (err)
		return err;
	fl->now = now;
	fl->from = buf;
	fl->damaged = damaged;
	err = ftl_write(fl->ftl, page);
	fl->from = NULL;
	*done = fl->done;
	return err;
}

const struct ssd_proofs *ssd_flash_proofs(const struct ssd_flash *fl)
{
	return &fl->proofs;
}

void ssd_flash_trim(struct ssd_flash *fl, uint32_t page)
{
	ftl_trim(fl->ftl, page);
}

bool ssd_flash_collects(struct ssd_flash *fl, uint64_t now)
{
	fl->now = now;
	return ftl_collects(fl->ftl);
}

uint64_t ssd_flash_collected(const struct ssd_flash *fl)
{
	return fl->collected;
}

void ssd_flash_get_stats(const struct ssd_flash *fl, struct ftl_stats *out)
{
	ftl_get_stats(fl->ftl, out);
}

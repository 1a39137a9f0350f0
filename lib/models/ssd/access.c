// SPDX-License-Identifier: MIT
/*
 * Loads, stores, prefetches and releases (CXL.mem): hits in DRAM, or fetches from flash.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "ssd.h"

#define SSD_FETCH 64u /* units of one read of flash at most */

int ssd_check(const struct annex_cxlssd *s, uint64_t at, uint64_t bytes)
{
	if (at <= s->bytes && bytes <= s->bytes - at)
		return 0;
	return annex_fail(-EINVAL, "cxlssd: %llu bytes at %llu cross the end at %llu", (ull)bytes,
			  (ull)at, (ull)s->bytes);
}

int ssd_check_change(const struct annex_cxlssd *s)
{
	if (s->file->readonly)
		return annex_fail(-EROFS, "%s: opened for reading only", s->file->path);
	return s->file->failed;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Get a clean frame for a unit; *@now advances to the time when there is one. */
static int make_room(struct annex_cxlssd *s, uint32_t unit, uint32_t *frame, uint64_t *now)
{
	struct ssd_cache *c = &s->cache;
	uint64_t done;
	int err = 0;

	*frame = ssd_cache_victim(c, unit);
	if (c->frames[*frame].dirty)
		err = ssd_clean(s, ssd_cache_unit(c, *frame) / (s->page_bytes / c->unit), now,
				&done);
	if (!err)
		ssd_cache_drop(c, *frame);
	return err;
}

/*
 * Fetch @n units of one page that DRAM lacks, each of another set. All of them get frames before
 * the first gets bytes, since making room may clean this page.
 */
static int fetch(struct annex_cxlssd *s, uint32_t unit, uint32_t n, uint64_t now, uint32_t *frame)
{
	struct ssd_cache *c = &s->cache;
	const uint32_t units = s->page_bytes / c->unit;
	uint32_t frames[SSD_FETCH];
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++)
		err = make_room(s, unit + i, &frames[i], &now);
	if (err)
		return err;
	*frame = frames[0];
	err = ssd_gather(s, unit / units, units == 1 ? ssd_cache_data(c, *frame) : s->page,
			 unit % units * c->unit, n * c->unit, &now, NULL);
	for (uint32_t i = 0; !err && i < n; i++) {
		if (units > 1)
			memcpy(ssd_cache_data(c, frames[i]), s->page + (unit % units + i) * c->unit,
			       c->unit);
		ssd_cache_put(c, frames[i], unit + i, now);
	}
	return err;
}

/* Read the lines that a frame lacks. */
static int complete(struct annex_cxlssd *s, uint32_t frame, uint64_t now)
{
	struct ssd_cache *c = &s->cache;
	const uint32_t units = s->page_bytes / c->unit, unit = ssd_cache_unit(c, frame);
	int err = ssd_gather(s, unit / units, s->page, unit % units * c->unit, c->unit, &now, NULL);

	if (err)
		return err;
	memcpy(ssd_cache_data(c, frame), s->page + unit % units * c->unit, c->unit);
	c->frames[frame].ready = now;
	c->frames[frame].lacks = 0;
	return 0;
}

/* Get a frame for a unit, without valid lines. */
static int begin_unit(struct annex_cxlssd *s, uint32_t unit, uint64_t now, uint32_t *frame)
{
	int err = make_room(s, unit, frame, &now);

	if (err)
		return err;
	ssd_cache_put(&s->cache, *frame, unit, now);
	s->cache.frames[*frame].lacks = ssd_cache_lines(&s->cache);
	return 0;
}

/* Get the frame of a unit with valid lines @need, and the timing of the answer. */
static int reach(struct annex_cxlssd *s, uint32_t unit, uint64_t need, struct annex_cxlssd_time *t,
		 uint32_t *frame)
{
	struct ssd_cache *c = &s->cache;
	int err = 0;

	*frame = ssd_cache_find(c, unit);
	if (*frame == SSD_NO_FRAME) {
		t->hit = false;
		err = need ? fetch(s, unit, 1, t->told, frame)
			   : begin_unit(s, unit, t->told, frame);
	} else if (c->frames[*frame].lacks & need) {
		t->hit = false;
		ssd_cache_use(c, *frame);
		err = complete(s, *frame, t->told);
	} else {
		ssd_cache_use(c, *frame);
		t->late |= c->frames[*frame].ready > t->told;
	}
	if (!err)
		t->done = later(t->done, later(t->told, c->frames[*frame].ready) + s->c.dram_ns);
	return err;
}

/* Lines of [@at, @at + @bytes) in their unit, a bit each. */
static uint64_t lines_in(const struct annex_cxlssd *s, uint64_t at, uint32_t bytes)
{
	const uint32_t first = (uint32_t)(at % s->cache.unit) / SSD_LINE;
	const uint32_t n = (uint32_t)((at + bytes - 1) % s->cache.unit) / SSD_LINE - first + 1;

	return UINT64_MAX >> (64 - n) << first;
}

/* Copy [@at, @at + @bytes) if the log has all of its lines. Return: whether it has. */
static bool load_logged(struct annex_cxlssd *s, uint64_t at, char *buf, uint32_t bytes)
{
	if (!ssd_log_has(&s->log, (uint32_t)(at / s->page_bytes)))
		return false;
	for (uint64_t line = at / SSD_LINE; line <= (at + bytes - 1) / SSD_LINE; line++)
		if (ssd_log_find(&s->log, line) == SSD_NO_ENTRY)
			return false;
	while (bytes) {
		const uint32_t from = at % SSD_LINE,
			       n = bytes < SSD_LINE - from ? bytes : SSD_LINE - from;

		memcpy(buf, ssd_log_data(&s->log, ssd_log_find(&s->log, at / SSD_LINE)) + from, n);
		at += n;
		buf += n;
		bytes -= n;
	}
	return true;
}

int ssd_load(struct annex_cxlssd *s, uint64_t at, char *buf, uint32_t bytes,
	     struct annex_cxlssd_time *t)
{
	const uint32_t unit = (uint32_t)(at / s->cache.unit);
	uint64_t now = t->told;
	uint32_t frame;
	int err;

	if (ssd_cache_find(&s->cache, unit) == SSD_NO_FRAME && load_logged(s, at, buf, bytes)) {
		t->done = later(t->done, t->told + s->c.dram_ns);
		return 0;
	}
	err = reach(s, unit, lines_in(s, at, bytes), t, &frame);
	if (!err) {
		memcpy(buf, ssd_cache_data(&s->cache, frame) + at % s->cache.unit, bytes);
	} else if (s->file->failed) {
		/*
		 * Dirty frames cannot be written back, so there is no frame: read around the cache.
		 */
		err = ssd_gather(s, (uint32_t)(at / s->page_bytes), s->page,
				 (uint32_t)(at % s->page_bytes), bytes, &now, NULL);
		if (!err)
			memcpy(buf, s->page + at % s->page_bytes, bytes);
	}
	return err;
}

/* Wait for room: a log that is being cleaned occupies DRAM until its lines are in flash. */
static void wait_for_log(const struct annex_cxlssd *s, uint32_t lines, struct annex_cxlssd_time *t)
{
	if (t->done < s->cleaning && s->log.n + s->cleaned + lines > s->log.room)
		t->done = s->cleaning;
}

int ssd_make_log_room(struct annex_cxlssd *s, uint32_t lines, struct annex_cxlssd_time *t)
{
	const struct ssd_log *l = &s->log;
	int err;

	wait_for_log(s, lines, t);
	if (lines <= l->room - l->n &&
	    (t->done < s->cleaning || (uint64_t)l->n * 100 < (uint64_t)l->room * s->c.clean))
		return 0;
	err = ssd_clean_log(s, t->done);
	wait_for_log(s, lines, t);
	return err;
}

void ssd_store_logged(struct annex_cxlssd *s, uint64_t line, const char *buf,
		      struct annex_cxlssd_time *t)
{
	const uint32_t unit_lines = s->cache.unit / SSD_LINE;
	uint32_t frame = ssd_cache_find(&s->cache, (uint32_t)(line / unit_lines));
	bool again;

	if (frame != SSD_NO_FRAME)
		memcpy(ssd_cache_data(&s->cache, frame) + line % unit_lines * SSD_LINE, buf,
		       SSD_LINE);
	memcpy(ssd_log_put(&s->log, line, &again), buf, SSD_LINE);
	s->stats.coalesced += again;
	t->done += s->c.append;
}

static int store_logged(struct annex_cxlssd *s, uint64_t at, const char *buf, uint32_t bytes,
			struct annex_cxlssd_time *t)
{
	const uint32_t entry = ssd_log_find(&s->log, at / SSD_LINE);
	char line[SSD_LINE];
	int err = 0;

	/* A store of a part of a line needs the rest. */
	if (bytes < SSD_LINE && entry != SSD_NO_ENTRY)
		memcpy(line, ssd_log_data(&s->log, entry), SSD_LINE);
	else if (bytes < SSD_LINE)
		err = ssd_load(s, at / SSD_LINE * SSD_LINE, line, SSD_LINE, t);
	if (!err)
		err = ssd_make_log_room(s, 1, t);
	if (err)
		return err;
	memcpy(line + at % SSD_LINE, buf, bytes);
	ssd_store_logged(s, at / SSD_LINE, line, t);
	return 0;
}

int ssd_store(struct annex_cxlssd *s, uint64_t at, const char *buf, uint32_t bytes,
	      struct annex_cxlssd_time *t)
{
	const uint32_t in_unit = (uint32_t)(at % s->cache.unit);
	uint64_t need = 0;
	uint32_t frame;
	int err = ssd_check_change(s);

	if (err)
		return err;
	if (s->log.room)
		return store_logged(s, at, buf, bytes, t);
	if (s->c.fetch || bytes < SSD_LINE)
		need = lines_in(s, at, bytes);
	err = reach(s, (uint32_t)(at / s->cache.unit), need, t, &frame);
	if (err)
		return err;
	memcpy(ssd_cache_data(&s->cache, frame) + in_unit, buf, bytes);
	ssd_cache_mark_dirty(&s->cache, frame, 1ull << in_unit / SSD_LINE);
	return 0;
}

/* Number of lines that [@at, @at + @bytes) overlaps; @bytes is not 0. */
static uint64_t lines_of(uint64_t at, uint64_t bytes)
{
	return (at + bytes - 1) / SSD_LINE - at / SSD_LINE + 1;
}

/* Begin a part of a request, which has a result of its own. */
static struct annex_cxlssd_time begin_part(const struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time part = *t;

	part.hit = true;
	part.late = false;
	return part;
}

/* End a part of @lines lines; the request is done when all parts are. */
static void end_part(struct annex_cxlssd *s, uint64_t lines, const struct annex_cxlssd_time *part,
		     struct annex_cxlssd_time *t)
{
	s->stats.hits += part->hit ? lines : 0;
	s->stats.late += part->hit && part->late ? lines : 0;
	t->done = part->done;
	t->hit &= part->hit;
	t->late |= part->late;
}

int annex_cxlssd_read(struct annex_cxlssd *s, uint64_t at, void *buf, size_t bytes,
		      struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own, one;
	char *to = buf;
	int err;

	t = ssd_enter(s, t, &own);
	err = ssd_check(s, at, bytes);
	while (!err && bytes) {
		const uint64_t left = s->cache.unit - at % s->cache.unit;
		const uint32_t n = (uint32_t)(bytes < left ? bytes : left);

		one = begin_part(t);
		err = ssd_load(s, at, to, n, &one);
		s->stats.reads += lines_of(at, n);
		end_part(s, lines_of(at, n), &one, t);
		at += n;
		to += n;
		bytes -= n;
	}
	return ssd_leave(s, t, &own, t->done, err);
}

/* Whether more lines are loose than fit well in a group of the journal. */
static bool many_loose(const struct annex_cxlssd *s)
{
	const uint32_t quarter = (uint32_t)(s->c.dram / SSD_LINE / 4);

	return s->log.n - s->log.firm > quarter ||
	       s->cache.n_loose * (s->cache.unit / SSD_LINE) > quarter;
}

int annex_cxlssd_write(struct annex_cxlssd *s, uint64_t at, const void *buf, size_t bytes,
		       struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own, one;
	const char *from = buf;
	int err;

	t = ssd_enter(s, t, &own);
	err = ssd_check(s, at, bytes);
	while (!err && bytes) {
		const uint64_t left = SSD_LINE - at % SSD_LINE;
		const uint32_t n = (uint32_t)(bytes < left ? bytes : left);

		one = begin_part(t);
		err = ssd_store(s, at, from, n, &one);
		if (!err && s->journal && many_loose(s))
			err = ssd_fence(s);
		s->stats.writes++;
		end_part(s, 1, &one, t);
		at += n;
		from += n;
		bytes -= n;
	}
	return ssd_leave(s, t, &own, t->done, err);
}

int annex_cxlssd_release(struct annex_cxlssd *s, uint64_t at, size_t bytes,
			 struct annex_cxlssd_time *t)
{
	const uint32_t size = s->cache.unit;
	struct annex_cxlssd_time own;
	int err;

	t = ssd_enter(s, t, &own);
	err = ssd_check(s, at, bytes);
	for (uint64_t unit = (at + size - 1) / size; !err && (unit + 1) * size <= at + bytes;
	     unit++) {
		const uint32_t frame = ssd_cache_find(&s->cache, (uint32_t)unit);

		if (frame != SSD_NO_FRAME && !s->cache.frames[frame].dirty)
			ssd_cache_drop(&s->cache, frame);
	}
	return ssd_leave(s, t, &own, t->done, err);
}

/* Number of units from @unit on, in one page and before @end, that DRAM lacks. */
static uint32_t lacking(const struct annex_cxlssd *s, uint64_t unit, uint64_t end)
{
	const uint32_t units = s->page_bytes / s->cache.unit;
	const uint64_t left = end - unit, in_page = units - unit % units;
	const uint64_t other_sets = s->cache.sets - unit % s->cache.sets;
	uint32_t most = SSD_FETCH, n = 0;

	most = left < most ? (uint32_t)left : most;
	most = in_page < most ? (uint32_t)in_page : most;
	most = other_sets < most ? (uint32_t)other_sets : most;
	while (n < most && ssd_cache_find(&s->cache, (uint32_t)unit + n) == SSD_NO_FRAME)
		n++;
	return n;
}

int annex_cxlssd_prefetch(struct annex_cxlssd *s, uint64_t at, size_t bytes,
			  struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time own;
	uint64_t until, unit, end;
	uint32_t frame, n;
	int err;

	t = ssd_enter(s, t, &own);
	until = t->done;
	err = ssd_check(s, at, bytes);
	unit = at / s->cache.unit;
	end = bytes ? (at + bytes - 1) / s->cache.unit + 1 : unit;
	for (; !err && unit < end; unit += n ? n : 1) {
		n = lacking(s, unit, end);
		if (!n)
			continue;
		t->hit = false;
		err = fetch(s, (uint32_t)unit, n, t->told, &frame);
		s->stats.prefetches += n;
		if (!err)
			until = later(until, s->cache.frames[frame].ready);
	}
	return ssd_leave(s, t, &own, until, err);
}

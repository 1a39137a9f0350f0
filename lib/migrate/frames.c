// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/log.h"
#include "frames.h"

/**
 * struct frame - @pages: of it that are in the tier, or on their way. @backed: there is memory.
 */
struct frame {
	uint32_t pages;
	bool backed;
};

static uint32_t frames_of(const struct annex_space *s)
{
	return s->n_pages / s->frame_pages;
}

static void *address(const struct annex_space *s, uint32_t page)
{
	return s->base + pages_bytes(page);
}

uint64_t annex_frames_least(const struct annex_frames *f)
{
	uint64_t pages = f->bytes / ANNEX_MEM_PAGE;

	/* A job that begins with the last page of one. */
	return ((JOB_PAGES - 2) / pages + 2) * f->bytes;
}

int annex_frames_start(struct annex_space *s)
{
	const struct annex_frames *f = s->opts.frames;
	void *base;
	int err;

	s->frame_pages = (uint32_t)(f->bytes / ANNEX_MEM_PAGE);
	s->frames = calloc(s->opts.size / f->bytes, sizeof(*s->frames));
	if (!s->frames)
		return annex_fail(-ENOMEM, "space: no memory for a table of frames");
	err = f->reserve(f->ctx, s->opts.size, &base);
	if (err)
		return err;
	s->base = base;
	return 0;
}

static void bare(struct annex_space *s, uint32_t i)
{
	const struct annex_frames *f = s->opts.frames;
	int err = s->frames[i].backed ? f->bare(f->ctx, address(s, i * s->frame_pages)) : 0;

	if (err)
		annex_log(ANNEX_LOG_WARNING, "space: %s: memory is not given back: %s", f->name,
			  annex_last_error());
	/* After an error it is still there, and used again. */
	s->frames[i].backed = err;
}

void annex_frames_stop(struct annex_space *s)
{
	const struct annex_frames *f = s->opts.frames;

	for (uint32_t i = 0; s->base && i < frames_of(s); i++)
		bare(s, i);
	if (s->base)
		f->release(f->ctx, s->base, s->opts.size);
	free(s->frames);
}

/* Pages of frame @i among those. */
static uint32_t part(const struct annex_space *s, uint32_t i, uint32_t first, uint32_t n)
{
	uint32_t from = i * s->frame_pages, to = from + s->frame_pages;

	from = from < first ? first : from;
	to = to > first + n ? first + n : to;
	return to - from;
}

uint32_t annex_frames_cost(const struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t last = (first + n - 1) / s->frame_pages, more = 0;

	for (uint32_t i = first / s->frame_pages; i <= last; i++)
		more += s->frames[i].pages ? 0 : s->frame_pages;
	return more;
}

void annex_frames_charge(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t last = (first + n - 1) / s->frame_pages;

	s->device += annex_frames_cost(s, first, n);
	for (uint32_t i = first / s->frame_pages; i <= last; i++)
		s->frames[i].pages += part(s, i, first, n);
}

void annex_frames_discharge(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t last = (first + n - 1) / s->frame_pages;

	for (uint32_t i = first / s->frame_pages; i <= last; i++) {
		s->frames[i].pages -= part(s, i, first, n);
		if (s->frames[i].pages)
			continue;
		bare(s, i);
		s->device -= s->frame_pages;
	}
}

int annex_frames_back(struct annex_space *s, uint32_t first, uint32_t n)
{
	const struct annex_frames *f = s->opts.frames;
	uint32_t last = (first + n - 1) / s->frame_pages;
	int err = 0;

	for (uint32_t i = first / s->frame_pages; !err && i <= last; i++) {
		if (s->frames[i].backed)
			continue;
		err = f->back(f->ctx, address(s, i * s->frame_pages));
		s->frames[i].backed = !err;
	}
	return err;
}

int annex_frames_zero(struct annex_space *s, uint32_t first, uint32_t n)
{
	const struct annex_frames *f = s->opts.frames;

	return f->zero(f->ctx, address(s, first), pages_bytes(n));
}

int annex_frames_copy(const struct annex_space *s, uint32_t first, uint32_t n, void *memory,
		      bool in)
{
	const struct annex_frames *f = s->opts.frames;

	return in ? f->put(f->ctx, address(s, first), memory, pages_bytes(n))
		  : f->get(f->ctx, memory, address(s, first), pages_bytes(n));
}

// SPDX-License-Identifier: MIT
/*
 * Spans, but for the inline path through a line that is there (annex/array.h).
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "core/log.h"
#include "cache.h"
#include "element.h"
#include "miss.h"
#include "piece.h"

#define SPAN_COPY (1u << 30) /* flag of struct annex_span: @data is in a struct copy */

/* The copy of an element that spans lines. */
struct copy {
	uint32_t off;    /* of the element in its first line */
	unsigned int n;  /* lines that are pinned, as the copy will be written back; */
	uint64_t *lines; /* which, */
	void **data;     /* and where */
	_Alignas(64) char bytes[];
};

static struct copy *copy_alloc(const struct annex_array *a, uint64_t i)
{
	uint64_t byte = annex_array_byte(a, i), first = byte >> a->line_shift;
	size_t n = (size_t)(((byte + a->elem - 1) >> a->line_shift) - first + 1);
	size_t bytes = ((size_t)a->elem + 63) / 64 * 64;
	size_t all = sizeof(struct copy) + bytes + n * (sizeof(uint64_t) + sizeof(void *));
	struct copy *s = aligned_alloc(64, (all + 63) / 64 * 64);

	if (!s)
		return NULL;
	s->off = (uint32_t)byte & (a->cache->line - 1);
	s->n = (unsigned int)n;
	s->lines = (uint64_t *)(void *)(s->bytes + bytes);
	s->data = (void **)(void *)(s->lines + n);
	for (size_t k = 0; k < n; k++)
		s->lines[k] = first + k;
	return s;
}

/* From the pinned lines, or back to them. */
static void copy_move(const struct annex_array *a, struct copy *s, bool back)
{
	uint32_t off = s->off, at = 0;

	for (unsigned int k = 0; k < s->n; k++, off = 0) {
		char *line = (char *)s->data[k] + off, *mem = s->bytes + at;
		uint32_t room = a->cache->line - off, len = a->elem - at;

		len = len < room ? len : room;
		annex_bytes_copy(back ? line : mem, back ? mem : line, len);
		at += len;
	}
}

/* Pin the lines of a copy, and fill it. */
static int copy_pin(const struct annex_array *a, struct copy *s)
{
	int err;

	if (s->n > a->cache->nslots)
		return annex_fail(-EBUSY, "array: an element has %u lines, and the cache %u slots",
				  s->n, a->cache->nslots);
	err = annex_cache_pin_group(a->cache, s->lines, s->n, ANNEX_PIN_WRITE, s->data);
	if (err)
		return err;
	copy_move(a, s, false);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, a->elem);
	return 0;
}

static int span_copy(const struct annex_array *a, uint64_t i, unsigned int flags,
		     struct annex_span *span)
{
	struct copy *s = copy_alloc(a, i);
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "array: no memory for an element of %u bytes", a->elem);
	span->line = s->lines[0];
	if (flags) {
		err = copy_pin(a, s);
	} else {
		s->n = 0;
		err = annex_array_get(a, i, s->bytes);
	}
	if (err) {
		free(s);
		return err;
	}
	span->data = s->bytes;
	span->count = 1;
	span->flags = flags | SPAN_COPY;
	return 0;
}

/* A function of its own, so that the usual end needs no more of the stack. */
static __attribute__((noinline)) void span_copy_end(const struct annex_array *a,
						    struct annex_span *span)
{
	struct copy *s = (struct copy *)(void *)((char *)span->data - offsetof(struct copy, bytes));

	/* A child of fork() has no lines. */
	if (s->n && !a->cache->fork.child) {
		copy_move(a, s, true);
		annex_cache_unpin_group(a->cache, s->lines, s->n, ANNEX_PIN_WRITE);
	}
	free(s);
}

int annex_array_span_slow(const struct annex_array *a, uint64_t i, uint64_t max, unsigned int flags,
			  struct annex_span *span)
{
	struct annex_cache *c = a->cache;
	uint64_t byte = annex_array_byte(a, i), line = byte >> c->line_shift, left;
	uint32_t off = (uint32_t)byte & (c->line - 1);
	void *data;
	int err;

	if (i >= a->count)
		return annex_array_out(a, i);
	flags &= ANNEX_PIN_WRITE | ANNEX_PIN_NEW;
	left = (c->line - off) / a->elem;
	if (!left)
		return span_copy(a, i, flags, span);
	if (left > a->count - i)
		left = a->count - i;
	if (max && left > max)
		left = max;
	if (flags & ANNEX_PIN_NEW) {
		flags |= ANNEX_PIN_WRITE;
		if (off || left * a->elem < annex_line_bytes(c, line))
			flags &= ~ANNEX_PIN_NEW;
	}
	err = annex_cache_pin(c, line, flags, &data);
	if (err)
		return err;
	span->data = (char *)data + off;
	span->count = left;
	span->line = line;
	span->flags = flags;
	annex_stat_add(c->shards, STAT_BYTES_ASKED, left * a->elem);
	return 0;
}

void annex_array_span_end(const struct annex_array *a, struct annex_span *span)
{
	if (!span->data)
		return;
	if (span->flags == ANNEX_SPAN_HIT) {
		annex_ref_put(&a->dir[span->line]);
		annex_stat_hit(a->cache->shards, span->count << a->elem_shift);
	} else if (span->flags & SPAN_COPY) {
		span_copy_end(a, span);
	} else {
		annex_cache_unpin(a->cache, span->line, span->flags);
	}
	span->data = NULL;
}

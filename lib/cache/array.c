// SPDX-License-Identifier: MIT
#include <errno.h>
#include "array.h"
#include "core/log.h"
#include "element.h"

#ifndef WARM_BYTES
#define WARM_BYTES 4096u
#endif

typedef unsigned long long ull;

int annex_array_init(struct annex_array *a, struct annex_cache *cache, uint64_t base, uint32_t elem,
		     uint64_t count)
{
	uint64_t bytes, end;

	if (!elem || elem & (elem - 1) || elem > cache->line)
		return annex_fail(-EINVAL, "array: elements of %u bytes do not divide a line of %u",
				  elem, cache->line);
	if (base % elem)
		return annex_fail(-EINVAL, "array: start %llu is not a multiple of %u", (ull)base,
				  elem);
	if (__builtin_mul_overflow(count, (uint64_t)elem, &bytes) ||
	    __builtin_add_overflow(base, bytes, &end) || end > cache->size)
		return annex_fail(-ERANGE, "array: %llu elements of %u bytes from %llu end behind "
				  "the %llu bytes there are", (ull)count, elem, (ull)base,
				  (ull)cache->size);
	a->cache = cache;
	a->base = base;
	a->count = count;
	a->elem = elem;
	a->per_line = cache->line / elem;
	return 0;
}

int annex_array_out(const struct annex_array *a, uint64_t i)
{
	return annex_fail(-ERANGE, "array: element %llu of %llu", (ull)i, (ull)a->count);
}

/* Pin the line of an element. */
static int hold(const struct annex_array *a, uint64_t i, unsigned int flags, uint64_t *line,
		char **data)
{
	struct annex_cache *c = a->cache;
	uint64_t byte = annex_array_byte(a, i);
	void *start;
	int err;

	if (i >= a->count)
		return annex_array_out(a, i);
	*line = byte >> c->line_shift;
	err = annex_cache_pin(c, *line, flags, &start);
	*data = err ? NULL : (char *)start + (byte & (c->line - 1));
	return err;
}

int annex_array_set(const struct annex_array *a, uint64_t i, const void *val)
{
	uint64_t line;
	char *data;
	int err = hold(a, i, ANNEX_PIN_WRITE, &line, &data);

	if (err)
		return err;
	annex_element_store(data, val, a->elem);
	annex_cache_unpin(a->cache, line, ANNEX_PIN_WRITE);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, a->elem);
	return 0;
}

static int not_of_size(const struct annex_array *a, unsigned int elem)
{
	return annex_fail(-EINVAL, "array: atomic addition of %u bytes to elements of %u", elem,
			  a->elem);
}

int annex_array_add_u32(const struct annex_array *a, uint64_t i, uint32_t delta, uint32_t *old)
{
	uint64_t line;
	uint32_t was;
	char *data;
	int err = a->elem == 4 ? hold(a, i, ANNEX_PIN_WRITE, &line, &data) : not_of_size(a, 4);

	if (err)
		return err;
	/* Full order, as users of a shared counter expect. */
	was = annex_atomic_add((uint32_t *)(void *)data, delta, ANNEX_SEQ_CST);
	annex_cache_unpin(a->cache, line, ANNEX_PIN_WRITE);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, 4);
	if (old)
		*old = was;
	return 0;
}

int annex_array_add_u64(const struct annex_array *a, uint64_t i, uint64_t delta, uint64_t *old)
{
	uint64_t line, was;
	char *data;
	int err = a->elem == 8 ? hold(a, i, ANNEX_PIN_WRITE, &line, &data) : not_of_size(a, 8);

	if (err)
		return err;
	was = annex_atomic_add((uint64_t *)(void *)data, delta, ANNEX_SEQ_CST);
	annex_cache_unpin(a->cache, line, ANNEX_PIN_WRITE);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, 8);
	if (old)
		*old = was;
	return 0;
}

/* The line of this thread's last span. Initial-exec: one load even in the shared library. */
static _Thread_local uint64_t last_line __attribute__((tls_model("initial-exec")));

/*
 * Spans that go from line to line: fetch the next one while this one is worked on, as it may lie
 * anywhere in memory, where the processor's own prefetcher does not look. It need not be cached,
 * nor stay: a prefetch can do no harm.
 */
static void warm_next(const struct annex_cache *c, uint64_t line)
{
	uint32_t bytes = c->line < WARM_BYTES ? c->line : WARM_BYTES;
	const char *next;

	if (line + 1 >= c->nlines)
		return;
	next = annex_slot_mem(c, annex_word_slot(annex_atomic_load(&c->dir[line + 1],
								   ANNEX_RELAXED)));
	for (uint32_t at = 0; at < bytes; at += 64)
		__builtin_prefetch(next + at);
}

int annex_array_span(const struct annex_array *a, uint64_t i, uint64_t max, unsigned int flags,
		     struct annex_span *span)
{
	struct annex_cache *c = a->cache;
	uint64_t byte = annex_array_byte(a, i), left;
	uint32_t off = (uint32_t)byte & (c->line - 1);
	void *data;
	int err;

	if (__builtin_expect(i >= a->count, 0))
		return annex_array_out(a, i);
	left = (c->line - off) >> __builtin_ctz(a->elem);
	if (left > a->count - i)
		left = a->count - i;
	if (max && left > max)
		left = max;
	if (flags & ANNEX_PIN_NEW) {
		flags |= ANNEX_PIN_WRITE;
		if (off || left * a->elem < annex_line_bytes(c, byte >> c->line_shift))
			flags &= ~ANNEX_PIN_NEW;
	}
	span->line = byte >> c->line_shift;
	span->flags = flags;
	span->count = left;
	err = annex_cache_pin(c, span->line, flags, &data);
	if (__builtin_expect(err, 0))
		return err;
	span->data = (char *)data + off;
	if (span->line == last_line + 1)
		warm_next(c, span->line);
	last_line = span->line;
	annex_stat_add(c->shards, STAT_BYTES_ASKED, left * a->elem);
	return 0;
}

void annex_array_span_end(const struct annex_array *a, struct annex_span *span)
{
	annex_cache_unpin(a->cache, span->line, span->flags);
	span->data = NULL;
	span->count = 0;
}

int64_t annex_array_prefetch(const struct annex_array *a, uint64_t i, uint64_t n)
{
	struct annex_range range;

	if (i > a->count || n > a->count - i)
		return annex_array_out(a, i > a->count ? i : i + n);
	range.offset = annex_array_byte(a, i);
	range.len = n * a->elem;
	return annex_cache_prefetch(a->cache, &range, 1);
}

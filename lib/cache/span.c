// SPDX-License-Identifier: MIT
/*
 * Spans. The way through a line that is there is kept so short that summing up lines of 4 KiB costs
 * little more than summing up a plain array: no calls, and everything unusual is a tail call.
 */
#include "array.h"
#include "miss.h"

/* Spans that write, or whose line is not there. */
static __attribute__((noinline)) int span_slow(const struct annex_array *a, uint32_t off,
					       unsigned int flags, struct annex_span *span)
{
	struct annex_cache *c = a->cache;
	void *data;
	int err;

	if (flags & ANNEX_PIN_NEW) {
		flags |= ANNEX_PIN_WRITE;
		if (off || span->count * a->elem < annex_line_bytes(c, span->line))
			flags &= ~ANNEX_PIN_NEW;
	}
	span->flags = flags;
	err = annex_cache_pin(c, span->line, flags, &data);
	if (err)
		return err;
	span->data = (char *)data + off;
	annex_stat_add(c->shards, STAT_BYTES_ASKED, span->count * a->elem);
	return 0;
}

/* A reference was taken and is of no use. */
static __attribute__((noinline)) int span_again(const struct annex_array *a, uint32_t off,
						struct annex_span *span)
{
	annex_ref_put(&a->dir[span->line]);
	return span_slow(a, off, 0, span);
}

int annex_array_span(const struct annex_array *a, uint64_t i, uint64_t max, unsigned int flags,
		     struct annex_span *span)
{
	uint64_t byte = a->base + (i << a->elem_shift), line = byte >> a->line_shift, left, word;
	uint32_t bytes = 1u << a->line_shift, off = (uint32_t)byte & (bytes - 1);

	if (__builtin_expect(i >= a->count, 0))
		return annex_array_out(a, i);
	left = (bytes - off) >> a->elem_shift;
	if (left > a->count - i)
		left = a->count - i;
	if (max && left > max)
		left = max;
	span->line = line;
	span->count = left;
	span->flags = flags;
	if (flags)
		return span_slow(a, off, flags, span);
	/* Acquire: as in annex_ref_get(). */
	word = annex_atomic_add(&a->dir[line], 1, ANNEX_ACQUIRE);
	if (__builtin_expect(!annex_ref_usual(word) || !annex_shard_index, 0))
		return span_again(a, off, span);
	span->data = a->mem + ((uint64_t)annex_word_slot(word) << a->line_shift) + off;
	annex_stat_hit(a->cache->shards, left << a->elem_shift);
	return 0;
}

void annex_array_span_end(const struct annex_array *a, struct annex_span *span)
{
	unsigned int flags = span->flags;
	const void *data = span->data;

	span->data = NULL; /* a second end does nothing */
	span->count = 0;
	span->flags = 0;
	if (flags)
		annex_cache_unpin(a->cache, span->line, flags);
	else if (data)
		annex_ref_put(&a->dir[span->line]);
}

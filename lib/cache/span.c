// SPDX-License-Identifier: MIT
/*
 * Spans, but for the inline path through a line that is there (annex/array.h).
 */
#include "element.h"
#include "miss.h"

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
	left = (c->line - off) >> a->elem_shift;
	if (left > a->count - i)
		left = a->count - i;
	if (max && left > max)
		left = max;
	flags &= ANNEX_PIN_WRITE | ANNEX_PIN_NEW;
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
	} else {
		annex_cache_unpin(a->cache, span->line, span->flags);
	}
	span->data = NULL;
	span->count = 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "element.h"
#include "entry.h"
#include "piece.h"

int annex_array_init(struct annex_array *a, struct annex_cache *cache, uint64_t base, uint32_t elem,
		     uint64_t count)
{
	bool even = elem && !(elem & (elem - 1)) && elem <= cache->line && base % elem == 0;
	uint64_t bytes, end;

	if (!elem)
		return annex_fail(-EINVAL, "array: elements of 0 bytes");
	if (__builtin_mul_overflow(count, (uint64_t)elem, &bytes) ||
	    __builtin_add_overflow(base, bytes, &end) || end > cache->size)
		return annex_fail(-ERANGE,
				  "array: %llu elements of %u bytes from %llu do not fit %llu",
				  (ull)count, elem, (ull)base, (ull)cache->size);
	a->cache = cache;
	a->base = base;
	a->count = count;
	a->elem = elem;
	a->per_line = even ? cache->line / elem : 0;
	a->dir = annex_is_table(cache) || !even ? NULL : cache->dir;
	a->mem = cache->mem;
	a->elem_shift = even ? (uint8_t)__builtin_ctz(elem) : 0;
	a->line_shift = (uint8_t)cache->line_shift;
	return 0;
}

/* Pin the line of an element that is in one line. */
static int hold(const struct annex_array *a, uint64_t i, unsigned int flags, uint64_t *line,
		char **data)
{
	struct annex_cache *c = a->cache;
	uint64_t byte = annex_array_byte(a, i);
	void *start;
	int err;

	*line = byte >> c->line_shift;
	*data = NULL;
	if (i >= a->count)
		return annex_array_out(a, i);
	err = annex_cache_pin(c, *line, flags, &start);
	if (!err)
		*data = (char *)start + (byte & (c->line - 1));
	return err;
}

int annex_array_set(const struct annex_array *a, uint64_t i, const void *val)
{
	uint64_t line;
	char *data;
	int err;

	if (!annex_array_even(a))
		return annex_array_scatter(a, &i, 1, val);
	err = hold(a, i, ANNEX_PIN_WRITE, &line, &data);
	if (err)
		return err;
	annex_element_store(data, val, a->elem);
	annex_cache_unpin(a->cache, line, ANNEX_PIN_WRITE);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, a->elem);
	return 0;
}

/* hold() an element of @elem bytes for an atomic addition. */
static int hold_sum(const struct annex_array *a, uint64_t i, uint32_t elem, uint64_t *line,
		    char **data)
{
	if (a->elem != elem)
		return annex_fail(-EINVAL, "array: atomic addition of %u bytes to elements of %u",
				  elem, a->elem);
	if (!annex_array_even(a))
		return annex_fail(-EINVAL,
				  "array: atomic addition to elements from byte %llu, which is no "
				  "multiple of %u",
				  (ull)a->base, elem);
	return hold(a, i, ANNEX_PIN_WRITE, line, data);
}

int annex_array_add_u32(const struct annex_array *a, uint64_t i, uint32_t delta, uint32_t *old)
{
	uint64_t line;
	uint32_t was;
	char *data;
	int err = hold_sum(a, i, 4, &line, &data);

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
	int err = hold_sum(a, i, 8, &line, &data);

	if (err)
		return err;
	was = annex_atomic_add((uint64_t *)(void *)data, delta, ANNEX_SEQ_CST);
	annex_cache_unpin(a->cache, line, ANNEX_PIN_WRITE);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, 8);
	if (old)
		*old = was;
	return 0;
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

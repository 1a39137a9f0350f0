// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "layout.h"

/* All that the devices hold together: the smallest one decides. */
static uint64_t capacity(const struct annex_cache *c, const uint64_t *bytes)
{
	uint64_t least = bytes[0], lines, all;

	for (uint32_t i = 1; i < c->nleaves; i++)
		if (bytes[i] < least)
			least = bytes[i];
	if (c->layout == ANNEX_REPLICA || c->nleaves == 1)
		return least;
	lines = least >> c->line_shift;
	if (__builtin_mul_overflow(lines * c->line, (uint64_t)c->nleaves, &all))
		all = UINT64_MAX - (uint64_t)c->line + 1;
	return all;
}

/* The end of the backing data on device @leaf, which lines before the last one fill wholly. */
static uint64_t end_on(const struct annex_cache *c, uint32_t leaf, uint64_t size)
{
	uint64_t lines = size >> c->line_shift, rest = size & (c->line - 1);
	uint64_t end;

	if (c->layout == ANNEX_REPLICA)
		return size;
	end = (lines / c->nleaves + (leaf < lines % c->nleaves)) << c->line_shift;
	return leaf == lines % c->nleaves ? end + rest : end;
}

int annex_layout_fits(struct annex_cache *c, const uint64_t *bytes, uint64_t size)
{
	c->size = size ? size : capacity(c, bytes);
	for (uint32_t i = 0; i < c->nleaves; i++)
		if (end_on(c, i, c->size) > bytes[i])
			return annex_fail(-ERANGE,
					  "cache: %llu bytes of backing data do not fit device %u",
					  (ull)c->size, i);
	return 0;
}

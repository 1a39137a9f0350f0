// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "miss.h"

static int pin_slow(struct annex_cache *c, uint64_t line, unsigned int flags, uint64_t word,
		    void **data)
{
	int err;

	if (word == ANNEX_LINE_CROWDED)
		return annex_fill_fail(c, line, -EBUSY);
	annex_stat_add(c->shards, STAT_MISSES, 1);
	err = annex_fill(c, &line, 1, flags, &line);
	if (err) {
		annex_ref_put(&c->dir[line]);
		return annex_fill_fail(c, line, err);
	}
	word = annex_atomic_load(&c->dir[line], ANNEX_RELAXED); /* our reference keeps the slot */
	*data = annex_slot_mem(c, annex_word_slot(word));
	return 0;
}

int annex_cache_pin(struct annex_cache *c, uint64_t line, unsigned int flags, void **data)
{
	uint64_t word;

	if (__builtin_expect(line >= c->nlines, 0))
		return annex_fill_fail(c, line, -ERANGE);
	word = annex_ref_get(&c->dir[line]);
	if (__builtin_expect(!(word & ANNEX_LINE_VALID), 0))
		return pin_slow(c, line, flags, word, data);
	annex_stat_add(c->shards, STAT_HITS, 1);
	*data = annex_slot_mem(c, annex_word_slot(word));
	return 0;
}

static void not_pinned(uint64_t line)
{
	annex_fail(-EINVAL, "cache: unpin of line %llu, which is not pinned", (ull)line);
}

void annex_cache_unpin(struct annex_cache *c, uint64_t line, unsigned int flags)
{
	bool held = true;

	if (line >= c->nlines)
		annex_fill_fail(c, line, -ERANGE);
	else if (flags & (ANNEX_PIN_WRITE | ANNEX_PIN_NEW))
		held = annex_ref_put_dirty(&c->dir[line]);
	else
		held = annex_ref_put(&c->dir[line]);
	if (!held)
		not_pinned(line);
}

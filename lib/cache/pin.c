// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "entry.h"
#include "miss.h"

static int pin_slow(struct annex_cache *c, uint64_t line, unsigned int flags, uint64_t at,
		    uint64_t word, void **data)
{
	int err;

	if (word == ANNEX_LINE_CROWDED)
		return annex_fill_fail(c, line, annex_fill_crowded(c));
	annex_stat_add(c->shards, STAT_MISSES, 1);
	err = annex_fill(c, &at, 1, flags, &line);
	if (err) {
		annex_entry_put(c, at);
		return annex_fill_fail(c, line, err);
	}
	word = annex_atomic_load(&c->dir[at], ANNEX_RELAXED); /* our reference keeps the slot */
	*data = annex_slot_mem(c, annex_word_slot(word));
	return 0;
}

static inline int pin(struct annex_cache *c, uint64_t line, unsigned int flags, uint64_t at,
		      uint64_t word, void **data)
{
	if (__builtin_expect(!(word & ANNEX_LINE_VALID), 0))
		return pin_slow(c, line, flags, at, word, data);
	annex_stat_add(c->shards, STAT_HITS, 1);
	*data = annex_slot_mem(c, annex_word_slot(word));
	return 0;
}

/* A function of its own, here and below, so that the other way needs no more of the stack. */
static __attribute__((noinline)) int pin_of_table(struct annex_cache *c, uint64_t line,
						  unsigned int flags, void **data)
{
	struct annex_held held = annex_table_hold(c, line);

	return pin(c, line, flags, held.at, held.word, data);
}

int annex_cache_pin(struct annex_cache *c, uint64_t line, unsigned int flags, void **data)
{
	if (__builtin_expect(line >= c->nlines, 0))
		return annex_fill_fail(c, line, -ERANGE);
	if (annex_is_table(c))
		return pin_of_table(c, line, flags, data);
	return pin(c, line, flags, line, annex_ref_get(&c->dir[line]), data);
}

static void not_pinned(uint64_t line)
{
	annex_fail(-EINVAL, "cache: unpin of line %llu, which is not pinned", (ull)line);
}

static inline void unpin(struct annex_cache *c, uint64_t line, uint64_t at, unsigned int flags)
{
	bool held;

	if (flags & (ANNEX_PIN_WRITE | ANNEX_PIN_NEW))
		held = annex_ref_put_dirty(&c->dir[at]);
	else
		held = annex_entry_put(c, at);
	if (!held)
		not_pinned(line);
}

static __attribute__((noinline)) void unpin_of_table(struct annex_cache *c, uint64_t line,
						     unsigned int flags)
{
	unpin(c, line, annex_table_seek(c, line), flags);
}

void annex_cache_unpin(struct annex_cache *c, uint64_t line, unsigned int flags)
{
	if (line >= c->nlines)
		annex_fill_fail(c, line, -ERANGE);
	else if (annex_is_table(c))
		unpin_of_table(c, line, flags);
	else
		unpin(c, line, line, flags);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lines a cache has: sets of ways, of which the one used longest ago goes.
 */
#ifndef TOOLS_CXL_TAGS_H
#define TOOLS_CXL_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * struct tag - @line: its number + 1; 0: none. @ready: when it has come. @dirty: a bit for each
 * byte that memory does not have. @whole: all its bytes are here, not the dirty ones alone.
 */
struct tag {
	uint64_t line, ready, dirty;
	uint32_t used;
	bool whole;
};

/* struct tags - @sets is a power of two. */
struct tags {
	struct tag *tags;
	uint64_t sets;
	uint32_t ways;
	uint32_t clock;
};

/* tags_init() - A cache of up to @bytes; false: out of memory. */
bool tags_init(struct tags *t, uint64_t bytes, uint32_t ways);
void tags_free(struct tags *t);

static inline struct tag *tags_set(const struct tags *t, uint64_t line)
{
	/* Rows of equal length must not meet in few sets. */
	const uint64_t hash = line ^ (line / t->sets * 0x9e3779b97f4a7c15 >> 40);

	return &t->tags[(hash & (t->sets - 1)) * t->ways];
}

static inline struct tag *tags_find(struct tags *t, uint64_t line)
{
	struct tag *set = tags_set(t, line);

	for (uint32_t i = 0; i < t->ways; i++)
		if (set[i].line == line + 1) {
			set[i].used = ++t->clock;
			return &set[i];
		}
	return NULL;
}

/*
 * tags_victim() - The way for a new line of a set: an empty one, or the one used longest ago that
 * has come by @now. NULL: none has, and *@until is when the first will.
 */
struct tag *tags_victim(struct tags *t, uint64_t line, uint64_t now, uint64_t *until);

/* tags_put() - A line takes the place of a victim. */
void tags_put(struct tags *t, struct tag *victim, uint64_t line, uint64_t ready, bool whole);

#endif

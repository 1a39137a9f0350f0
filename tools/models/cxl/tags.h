/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of a set-associative cache with LRU replacement.
 */
#ifndef TOOLS_CXL_TAGS_H
#define TOOLS_CXL_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * struct tag - A way.
 * @line: number of its line + 1; 0: empty.
 * @ready: time at which the line arrives.
 * @dirty: dirty bytes, a bit each.
 * @used: time of the last use.
 * @whole: all bytes are valid, not the dirty ones alone.
 */
struct tag {
	uint64_t line, ready, dirty;
	uint32_t used;
	bool whole;
};

/* struct tags - A cache. @sets is a power of two. */
struct tags {
	struct tag *tags;
	uint64_t sets;
	uint32_t ways;
	uint32_t clock;
};

/* tags_init() - Allocate a cache of up to @bytes. Return: false: out of memory. */
bool tags_init(struct tags *t, uint64_t bytes, uint32_t ways);
void tags_free(struct tags *t);

static inline struct tag *tags_set(const struct tags *t, uint64_t line)
{
	/* Spread rows of equal length over sets. */
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
 * tags_victim() - Choose the way for a new line: an empty way, or the least recently used one whose
 * line has arrived by @now. NULL: none; *@until is the time of the first arrival.
 */
struct tag *tags_victim(struct tags *t, uint64_t line, uint64_t now, uint64_t *until);

/* tags_put() - Replace a victim by a line. */
void tags_put(struct tags *t, struct tag *victim, uint64_t line, uint64_t ready, bool whole);

#endif

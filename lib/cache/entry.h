/* SPDX-License-Identifier: MIT */
/*
 * The directory: where the word of a line is.
 *
 * A directory that is small beside the lines in memory is flat: it has a word for each line of the
 * backing data, and the entry of a line is its number. A larger directory is a table of the lines
 * in use: an entry belongs to a line while the line is in a slot or has a reference. Each head has
 * the first entry of a chain, and a bit that locks the chain for changes.
 *
 * A search takes no lock. The entry that it finds may become another line's at any time, so its
 * user compares the entry's line after reading the word or taking a reference. A line that is not
 * found may be there nevertheless: the search under the lock is sure.
 */
#ifndef ANNEX_CACHE_ENTRY_H
#define ANNEX_CACHE_ENTRY_H

#include "cache.h"

#define ENTRY_NONE 0u               /* of a table: never of a line; its word stays 0 */
#define ENTRY_FREE ANNEX_LINE_DIRTY /* of a table: set in the word of an entry of no line */
#define ENTRY_NO_LINE UINT64_MAX
#define ENTRY_LOCKED (1u << 31) /* a head: a thread changes the chain */
#define ENTRY_STEPS 32u         /* of a search without the lock, which may have left its chain */

/**
 * annex_directory_create() - Choose a form and map it; annex_directory_destroy() undoes it.
 * @bytes: of the lines in memory.
 */
int annex_directory_create(struct annex_cache *c, uint64_t bytes);
void annex_directory_destroy(struct annex_cache *c);

/*
 * A reference on a line: its entry, which stays the line's until the reference is given back, and
 * the word as annex_ref_get() returns it.
 */
struct annex_held {
	uint64_t word;
	uint64_t at;
};

/* annex_entry_hold(), annex_entry_put(), annex_entry_seek() and annex_entry_tidy() of a table. */
struct annex_held annex_table_hold(struct annex_cache *c, uint64_t line);
bool annex_table_put(struct annex_cache *c, uint64_t at);
uint64_t annex_table_seek(struct annex_cache *c, uint64_t line);
void annex_table_tidy(struct annex_cache *c, uint64_t at);

/* The flat directory is the usual one, and its hits are the shortest. */
static inline bool annex_is_table(const struct annex_cache *c)
{
	return __builtin_expect(c->heads != NULL, 0);
}

static inline uint32_t *annex_table_head(const struct annex_cache *c, uint64_t line)
{
	return &c->heads[(line * 0x9e3779b97f4a7c15ull) >> c->head_shift];
}

/**
 * annex_table_find() - Look for a line's entry, at most @steps far. Return: it, or ENTRY_NONE.
 */
static inline uint64_t annex_table_find(const struct annex_cache *c, uint64_t line, uint32_t steps)
{
	/* Acquire, here and below: pairs with enter(), leave(), push(); the entry is filled. */
	uint32_t at = annex_atomic_load(annex_table_head(c, line), ANNEX_ACQUIRE) & ~ENTRY_LOCKED;

	for (; at != ENTRY_NONE && steps; steps--) {
		if (annex_atomic_load(&c->lines[at], ANNEX_ACQUIRE) == line)
			return at;
		at = annex_atomic_load(&c->next[at], ANNEX_ACQUIRE);
	}
	return ENTRY_NONE;
}

/* The line of an entry. Acquire: later reads of the entry are not older than its line. */
static inline uint64_t annex_entry_line(const struct annex_cache *c, uint64_t at)
{
	return annex_is_table(c) ? annex_atomic_load(&c->lines[at], ANNEX_ACQUIRE) : at;
}

/* The entry whose line moves into or out of a slot; the slot's owner until it has moved. */
static inline uint64_t annex_slot_entry(const struct annex_cache *c, uint32_t slot)
{
	return annex_atomic_load(&c->owner[slot], ANNEX_RELAXED);
}

/**
 * annex_entry_hold() - Take a reference on a line, in whatever state it is.
 *
 * Return: it; with the word ANNEX_LINE_CROWDED also when there is no entry to be had.
 */
static inline struct annex_held annex_entry_hold(struct annex_cache *c, uint64_t line)
{
	if (annex_is_table(c))
		return annex_table_hold(c, line);
	return (struct annex_held){annex_ref_get(&c->dir[line]), line};
}

/**
 * annex_entry_peek() - A line's word, without a reference: a hint. @at: where it was found.
 */
static inline uint64_t annex_entry_peek(const struct annex_cache *c, uint64_t line, uint64_t *at)
{
	*at = annex_is_table(c) ? annex_table_find(c, line, ENTRY_STEPS) : line;
	return annex_atomic_load(&c->dir[*at], ANNEX_RELAXED);
}

/**
 * annex_entry_seek() - The entry of a line, which stays its own if the line is held.
 *
 * Return: the entry; of a table ENTRY_NONE, whose word says that the line is absent.
 */
static inline uint64_t annex_entry_seek(struct annex_cache *c, uint64_t line)
{
	return annex_is_table(c) ? annex_table_seek(c, line) : line;
}

/**
 * annex_entry_tidy() - Free the entry of a line that is absent and has no reference; called after
 * each change that may have brought that about.
 */
static inline void annex_entry_tidy(struct annex_cache *c, uint64_t at)
{
	if (annex_is_table(c))
		annex_table_tidy(c, at);
}

/**
 * annex_entry_put() - Give a reference back. Return: as annex_ref_put().
 */
static inline bool annex_entry_put(struct annex_cache *c, uint64_t at)
{
	return annex_is_table(c) ? annex_table_put(c, at) : annex_ref_put(&c->dir[at]);
}

#endif

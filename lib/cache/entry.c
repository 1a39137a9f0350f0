// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include "core/log.h"
#include "entry.h"

#define HUGE_PAGE (2ul << 20)
#define FLAT_SHARE 16u        /* a flat directory is at most this share of the lines in memory */
#define ABSENT_MAX (1u << 18) /* entries for lines that threads hold and that have no slot yet */
#define SPINS 64u

/*
 * Memory comes with the first touch. Huge pages, so that random access costs few TLB misses, where
 * they cannot take much more than the lines themselves.
 */
static char *map(struct annex_cache *c, size_t len, uint64_t bytes)
{
	char *raw;

	/* Room to align it, which leaves at least a page behind the last word (array.h looks
	 * there). */
	c->dir_len = len + HUGE_PAGE;
	raw = mmap(NULL, c->dir_len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		return NULL;
	c->dir_raw = raw;
	/* Only a kernel without huge pages refuses, and it needs neither. */
	madvise(raw, c->dir_len, len <= bytes / FLAT_SHARE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return raw + (-(uintptr_t)raw & (HUGE_PAGE - 1));
}

static bool map_table(struct annex_cache *c, uint64_t bytes)
{
	uint64_t n = (bytes >> c->line_shift) + ABSENT_MAX;
	uint32_t bits = 1;
	char *at;

	while (1ull << bits < 2 * (bytes >> c->line_shift))
		bits++;
	at = map(c,
		 n * (sizeof(*c->dir) + sizeof(*c->lines) + sizeof(*c->next)) +
			 (sizeof(*c->heads) << bits),
		 bytes);
	if (!at)
		return false;
	c->dir = (uint64_t *)(void *)at;
	c->lines = c->dir + n;
	c->next = (uint32_t *)(void *)(c->lines + n);
	c->heads = c->next + n;
	c->head_shift = 64 - bits;
	c->nentries = (uint32_t)n;
	c->entries = ENTRY_NONE + 1;
	c->lines[ENTRY_NONE] = ENTRY_NO_LINE;
	return true;
}

int annex_directory_create(struct annex_cache *c, uint64_t bytes)
{
	c->nlines = (c->size + c->line - 1) >> c->line_shift;
	if (c->size > UINT64_MAX - c->line)
		return annex_fail(-ENOMEM, "cache: %llu bytes of backing data", (ull)c->size);
	if (c->nlines <= bytes / FLAT_SHARE / sizeof(*c->dir))
		c->dir = (uint64_t *)(void *)map(c, c->nlines * sizeof(*c->dir), bytes);
	else if (!map_table(c, bytes))
		c->dir = NULL;
	if (!c->dir)
		return annex_fail(-ENOMEM, "cache: no memory for a directory of %llu lines",
				  (ull)c->nlines);
	/* A child finds no line there, and does not reach its parent's lines. */
	if (madvise(c->dir_raw, c->dir_len, MADV_WIPEONFORK))
		return annex_fail(-errno, "cache: its directory cannot be kept from children: %m");
	return 0;
}

void annex_directory_destroy(struct annex_cache *c)
{
	if (c->dir_raw)
		munmap(c->dir_raw, c->dir_len);
}

static void lock(uint32_t *head)
{
	uint32_t spins = 0;

	/* Acquire: pairs with unlock(); the chain is whole. */
	while (annex_atomic_or(head, ENTRY_LOCKED, ANNEX_ACQUIRE) & ENTRY_LOCKED)
		if (++spins % SPINS)
			annex_pause();
		else
			sched_yield();
}

static void unlock(uint32_t *head)
{
	/* Release: the chain, to the next holder of the lock and to searches. */
	annex_atomic_and(head, ~ENTRY_LOCKED, ANNEX_RELEASE);
}

/*
 * The free entries are a stack as that of the transfers (xfer.c): an index, and above it a count of
 * changes.
 */
static uint32_t pop(struct annex_cache *c)
{
	/* Acquire: pairs with push(); the next index is there. */
	uint64_t top = annex_atomic_load(&c->entry_free, ANNEX_ACQUIRE), next;

	do {
		if ((uint32_t)top == ENTRY_NONE)
			return ENTRY_NONE;
		/* It may be popped and changed under us: then the exchange fails. */
		next = (top | UINT32_MAX) + 1;
		next |= annex_atomic_load(&c->next[(uint32_t)top], ANNEX_RELAXED);
	} while (!annex_atomic_cas(&c->entry_free, &top, next, ANNEX_ACQUIRE));
	return (uint32_t)top;
}

static void push(struct annex_cache *c, uint32_t at)
{
	uint64_t top = annex_atomic_load(&c->entry_free, ANNEX_RELAXED);

	do {
		/* Release: a search that strays here finds no line, or the entry's next one. */
		annex_atomic_store(&c->next[at], (uint32_t)top, ANNEX_RELEASE);
	} while (!annex_atomic_cas(&c->entry_free, &top, ((top | UINT32_MAX) + 1) | at,
				   ANNEX_ACQ_REL));
}

/* An entry of no line, or ENTRY_NONE. The youngest first, so that no more memory is touched. */
static uint32_t take(struct annex_cache *c)
{
	uint32_t at = pop(c);

	if (at != ENTRY_NONE)
		return at;
	/* Relaxed: only the number matters; no other thread knows the entry. */
	at = annex_atomic_load(&c->entries, ANNEX_RELAXED);
	do {
		if (at == c->nentries)
			return ENTRY_NONE;
	} while (!annex_atomic_cas(&c->entries, &at, at + 1, ANNEX_RELAXED));
	annex_atomic_store(&c->dir[at], ENTRY_FREE, ANNEX_RELAXED);
	return at;
}

/* Give an absent line an entry, with a reference. Return: it; ENTRY_NONE, and *@word unchanged. */
static uint64_t enter(struct annex_cache *c, uint32_t *head, uint64_t line, uint64_t *word)
{
	uint32_t first = annex_atomic_load(head, ANNEX_RELAXED), at = take(c);

	if (at == ENTRY_NONE)
		return ENTRY_NONE;
	annex_atomic_store(&c->lines[at], line, ANNEX_RELAXED);
	/*
	 * Release: a thread that finds the word no longer free finds the line. References of
	 * threads that have strayed here stay: they are about to give them back.
	 */
	*word = annex_atomic_add(&c->dir[at], 1 - ENTRY_FREE, ANNEX_ACQ_REL) - ENTRY_FREE;
	annex_atomic_store(&c->next[at], first & ~ENTRY_LOCKED, ANNEX_RELEASE);
	annex_atomic_store(head, at | ENTRY_LOCKED, ANNEX_RELEASE);
	return at;
}

static void leave(struct annex_cache *c, uint32_t *head, uint32_t at)
{
	uint32_t next = annex_atomic_load(&c->next[at], ANNEX_RELAXED), *from = head, e;

	while ((e = annex_atomic_load(from, ANNEX_RELAXED) & ~ENTRY_LOCKED) != at)
		from = &c->next[e];
	/* Release: a search that goes on from here finds the next one filled. */
	annex_atomic_store(from, from == head ? next | ENTRY_LOCKED : next, ANNEX_RELEASE);
}

struct annex_held annex_table_hold(struct annex_cache *c, uint64_t line)
{
	struct annex_held held = {ANNEX_LINE_CROWDED, annex_table_find(c, line, ENTRY_STEPS)};
	uint32_t *head = annex_table_head(c, line);

	if (held.at != ENTRY_NONE) {
		held.word = annex_ref_get(&c->dir[held.at]);
		/* A reference keeps the entry, if it was not free before. */
		if (held.word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY) &&
		    annex_entry_line(c, held.at) == line)
			return held;
		if (held.word != ANNEX_LINE_CROWDED)
			annex_table_put(c, held.at);
	}
	held.word = ANNEX_LINE_CROWDED;
	if (c->fork.child)
		return held;
	lock(head);
	held.at = annex_table_find(c, line, UINT32_MAX);
	if (held.at != ENTRY_NONE)
		held.word = annex_ref_get(&c->dir[held.at]);
	else
		held.at = enter(c, head, line, &held.word);
	unlock(head);
	if (held.word == ANNEX_LINE_CROWDED)
		annex_table_tidy(c, held.at); /* the attempt was one on it, for a moment */
	return held;
}

uint64_t annex_table_seek(struct annex_cache *c, uint64_t line)
{
	uint64_t at = annex_table_find(c, line, ENTRY_STEPS);
	uint32_t *head = annex_table_head(c, line);

	if (at != ENTRY_NONE || c->fork.child)
		return at;
	lock(head);
	at = annex_table_find(c, line, UINT32_MAX);
	unlock(head);
	return at;
}

/* Whether the word of an absent line without references is now that of a free entry. */
static bool set_free(uint64_t *state)
{
	uint64_t word = annex_atomic_load(state, ANNEX_RELAXED);

	do {
		if (word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY | ANNEX_LINE_REFS))
			return false;
		/* The version stays: the next claim makes it one that gathers have not seen. */
	} while (!annex_atomic_cas(state, &word, (word & ANNEX_LINE_VERSION_MASK) | ENTRY_FREE,
				   ANNEX_ACQ_REL));
	return true;
}

void annex_table_tidy(struct annex_cache *c, uint64_t at)
{
	const uint64_t needed = ANNEX_LINE_VALID | ANNEX_LINE_BUSY | ANNEX_LINE_REFS | ENTRY_FREE;
	uint64_t line;
	uint32_t *head;

	/* Acquire: pairs with enter(). A thread that changes the word after this looks as well. */
	if (annex_atomic_load(&c->dir[at], ANNEX_ACQUIRE) & needed)
		return;
	line = annex_entry_line(c, at);
	if (line == ENTRY_NO_LINE)
		return;
	head = annex_table_head(c, line);
	lock(head);
	/* The line of an entry changes only under the lock of its chain. */
	if (annex_entry_line(c, at) == line && set_free(&c->dir[at])) {
		leave(c, head, (uint32_t)at);
		annex_atomic_store(&c->lines[at], ENTRY_NO_LINE, ANNEX_RELEASE);
		push(c, (uint32_t)at);
	}
	unlock(head);
}

bool annex_table_put(struct annex_cache *c, uint64_t at)
{
	if (at == ENTRY_NONE || !annex_ref_put(&c->dir[at]))
		return false;
	annex_table_tidy(c, at);
	return true;
}

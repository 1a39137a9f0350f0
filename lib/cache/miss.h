/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CACHE_MISS_H
#define ANNEX_CACHE_MISS_H

#include "cache.h"

/**
 * annex_fill() - Bring lines in. All reads go out before any is waited for.
 * @lines: at most ANNEX_GROUP different ones; the caller holds a reference on each.
 * @flags: ANNEX_PIN_*.
 *
 * @failed: the line that an error is about.
 *
 * Return: 0, then all are valid; or the first error, after which some may be.
 */
int annex_fill(struct annex_cache *c, const uint64_t *lines, unsigned int n, unsigned int flags,
	       uint64_t *failed);

/**
 * annex_fill_fail() - Say that a line could not be pinned. Return: @err.
 */
int annex_fill_fail(const struct annex_cache *c, uint64_t line, int err);

/**
 * annex_pin_group() - annex_cache_pin_group() without a word about failure.
 * @failed: the line that an error is about.
 */
int annex_pin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
		    unsigned int flags, void **data, uint64_t *failed);

/* The line was there, had been used before, and can be referenced once more: nothing to be done. */
static inline bool annex_ref_usual(uint64_t word)
{
	const uint64_t usual = LINE_VALID | LINE_REFERENCED;

	return (word & (usual | LINE_REFS_MAX)) == usual;
}

/**
 * annex_ref_get() - Take a reference on a line, in whatever state it is.
 * @state: the line's word.
 *
 * Return: the word before, with LINE_VALID only when the line is there and may be used; or
 * LINE_REFS_MAX alone, and no reference, when there are too many.
 */
static inline uint64_t annex_ref_get(uint64_t *state)
{
	/* Acquire: pairs with annex_line_filled(); the data is there. */
	uint64_t word = annex_atomic_add(state, 1, ANNEX_ACQUIRE);

	if (__builtin_expect(annex_ref_usual(word), 1))
		return word;
	if (word & LINE_REFS_MAX) {
		annex_atomic_sub(state, 1, ANNEX_RELAXED);
		return LINE_REFS_MAX;
	}
	/* The second chance: written only when it changes. */
	if (word & LINE_VALID)
		annex_atomic_or(state, LINE_REFERENCED, ANNEX_RELAXED);
	return word;
}

/**
 * annex_ref_put() - Give a reference back. Return: false, and nothing done, if there was none.
 */
static inline bool annex_ref_put(uint64_t *state)
{
	/* Release: the holder has finished with the bytes; pairs with the eviction's acquire. */
	uint64_t word = annex_atomic_sub(state, 1, ANNEX_RELEASE);

	if (__builtin_expect(word & LINE_REFS, 1))
		return true;
	annex_atomic_add(state, 1, ANNEX_RELAXED);
	return false;
}

#endif

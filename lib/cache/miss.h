/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CACHE_MISS_H
#define ANNEX_CACHE_MISS_H

#include "cache.h"

/**
 * annex_fill() - Bring lines in. All reads go out before any is waited for.
 * @at: entries of at most ANNEX_GROUP different lines; the caller holds a reference on each.
 * @flags: ANNEX_PIN_*.
 *
 * @failed: the line that an error is about.
 *
 * Return: 0, then all are valid; or the first error, after which some may be.
 */
int annex_fill(struct annex_cache *c, const uint64_t *at, unsigned int n, unsigned int flags,
	       uint64_t *failed);

/* The error of a line on which no reference was to be had. */
int annex_fill_crowded(const struct annex_cache *c);

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

#endif

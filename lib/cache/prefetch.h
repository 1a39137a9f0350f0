/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CACHE_PREFETCH_H
#define ANNEX_CACHE_PREFETCH_H

#include "cache.h"

/**
 * annex_prefetch_lines() - annex_cache_prefetch() of lines that exist, by number.
 */
void annex_prefetch_lines(struct annex_cache *c, const uint64_t *lines, unsigned int n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where lines lie on the devices (enum annex_layout).
 */
#ifndef ANNEX_CACHE_LAYOUT_H
#define ANNEX_CACHE_LAYOUT_H

#include <annex/detail/stripe.h>
#include "cache.h"

/* Between lines that are neighbours on their device. */
static inline uint32_t annex_line_stride(const struct annex_cache *c)
{
	return c->layout == ANNEX_STRIPE ? c->nleaves : 1;
}

/* The device that holds a line; on replicas, all do. */
static inline uint32_t annex_line_leaf(const struct annex_cache *c, uint64_t line)
{
	return annex_stripe_dev(annex_line_stride(c), line);
}

/* The line's number on its device. */
static inline uint64_t annex_line_at(const struct annex_cache *c, uint64_t line)
{
	return annex_stripe_line(annex_line_stride(c), line);
}

#endif

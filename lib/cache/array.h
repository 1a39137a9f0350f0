/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CACHE_ARRAY_H
#define ANNEX_CACHE_ARRAY_H

#include <annex/array.h>
#include "cache.h"

/**
 * annex_array_out() - Say that an element is out of bounds. Return: -ERANGE.
 */
int annex_array_out(const struct annex_array *a, uint64_t i);

/* Byte of element @i in the backing data. */
static inline uint64_t annex_array_byte(const struct annex_array *a, uint64_t i)
{
	return a->base + i * a->elem;
}

#endif

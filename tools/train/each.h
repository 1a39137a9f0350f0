/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops over parts that do not depend on each other. How many there are, and what is in each,
 * never depends on the threads: nor does the result.
 */
#ifndef TOOLS_TRAIN_EACH_H
#define TOOLS_TRAIN_EACH_H

#include <stdint.h>
#include "../pool.h"

/* each_fn - Do part @i, as worker @worker of the pool. */
typedef void (*each_fn)(void *ctx, uint32_t i, unsigned int worker);

/* each_run() - Parts 0 to @n - 1, each by the worker that is free first. */
void each_run(struct pool *pool, uint32_t n, each_fn fn, void *ctx);

/* each_parts() - How many parts of @size there are in @all. */
static inline uint32_t each_parts(uint64_t all, uint32_t size)
{
	return (uint32_t)((all + size - 1) / size);
}

/* each_size() - How much of @all is in part @i: @size, but for the last one. */
static inline uint32_t each_size(uint64_t all, uint32_t size, uint32_t i)
{
	uint64_t left = all - (uint64_t)i * size;

	return left < size ? (uint32_t)left : size;
}

#endif

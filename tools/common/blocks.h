/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on numbered blocks in ascending order, on all threads, with some blocks read ahead.
 */
#ifndef TOOLS_BLOCKS_H
#define TOOLS_BLOCKS_H

#include <stdint.h>
#include "pool.h"

/*
 * struct blocks - Work on numbered blocks.
 * @count: number of blocks.
 * @ahead: blocks that a thread asks for beyond the one it works on, up to BLOCKS_AHEAD.
 * @prefetch: start reading a block.
 * @work: work on it.
 * @finish: a thread has no more blocks.
 */
struct blocks {
	void *ctx;
	uint64_t count;
	unsigned int ahead;
	void (*prefetch)(void *ctx, uint64_t block);
	int (*work)(void *ctx, unsigned int thread, uint64_t block);
	int (*finish)(void *ctx, unsigned int thread);
};

#define BLOCKS_AHEAD 15u

/* blocks_run() - Go through all of them; the first error ends it. */
int blocks_run(struct pool *pool, const struct blocks *b);

#endif

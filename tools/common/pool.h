/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker threads: all of them run one function at a time, or work on numbered blocks in ascending
 * order, some of which are read ahead.
 */
#ifndef TOOLS_POOL_H
#define TOOLS_POOL_H

#include <stdint.h>

struct pool;

/* pool_fn - The work of worker @id of @n; the first non-zero result is the result of the run. */
typedef int (*pool_fn)(void *ctx, unsigned int id, unsigned int n);

/* pool_create() - @threads workers, the caller of pool_run() being the first. 0 or -errno. */
int pool_create(unsigned int threads, struct pool **out);
void pool_destroy(struct pool *p);

unsigned int pool_threads(const struct pool *p);

/* pool_run() - Run @fn on every worker and wait for all of them. */
int pool_run(struct pool *p, pool_fn fn, void *ctx);

/* pool_default_threads() - As many as the process may use cores. */
unsigned int pool_default_threads(void);

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

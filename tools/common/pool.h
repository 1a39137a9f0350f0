/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker threads that run one function at a time, all of them.
 */
#ifndef TOOLS_POOL_H
#define TOOLS_POOL_H

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

#endif

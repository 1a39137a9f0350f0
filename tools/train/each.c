// SPDX-License-Identifier: GPL-2.0-or-later
#include <annex/detail/atomic.h>
#include "each.h"

struct loop {
	each_fn fn;
	void *ctx;
	uint32_t n, next;
};

static int work(void *ctx, unsigned int id, unsigned int n)
{
	struct loop *loop = ctx;
	uint32_t i;

	(void)n;
	/* Relaxed: the pool orders what parts do before and after the loop. */
	while ((i = annex_atomic_add(&loop->next, 1u, ANNEX_RELAXED)) < loop->n)
		loop->fn(loop->ctx, i, id);
	return 0;
}

void each_run(struct pool *pool, uint32_t n, each_fn fn, void *ctx)
{
	struct loop loop = {.fn = fn, .ctx = ctx, .n = n};

	pool_run(pool, work, &loop);
}

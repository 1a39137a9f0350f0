// SPDX-License-Identifier: GPL-2.0-or-later
#include <annex/detail/atomic.h>
#include "blocks.h"
#include "progress.h"

struct blocks_run {
	const struct blocks *b;
	uint64_t next;
	int err;
};

#define RING (BLOCKS_AHEAD + 1)

static int run_thread(void *ctx, unsigned int thread, unsigned int threads)
{
	struct blocks_run *r = ctx;
	const struct blocks *b = r->b;
	uint64_t ring[RING];
	unsigned int head = 0, tail = 0;
	int err = 0;

	(void)threads;
	while (!err && !annex_atomic_load(&r->err, ANNEX_RELAXED)) {
		while (tail - head <= b->ahead) {
			uint64_t block = annex_atomic_add(&r->next, 1, ANNEX_RELAXED);

			if (block >= b->count)
				break;
			b->prefetch(b->ctx, block);
			ring[tail++ % RING] = block;
		}
		if (head == tail)
			break;
		progress_update(ring[head % RING], b->count, "blocks");
		err = b->work(b->ctx, thread, ring[head++ % RING]);
	}
	if (!err && b->finish)
		err = b->finish(b->ctx, thread);
	if (err)
		annex_atomic_store(&r->err, err, ANNEX_RELAXED);
	return err;
}

int blocks_run(struct pool *pool, const struct blocks *b)
{
	struct blocks_run r = {.b = b};

	return pool_run(pool, run_thread, &r);
}

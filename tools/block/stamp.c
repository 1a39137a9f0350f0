// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "opts.h"
#include "pattern.h"
#include "stamp.h"

#define ROUNDS 4u

/* struct order - Every number below @n once, in an order that takes no memory. */
struct order {
	enum order_kind kind;
	uint64_t n, seed;
	unsigned int half; /* bits */
};

static void order_init(struct order *o, enum order_kind kind, uint64_t n, uint64_t seed)
{
	o->kind = kind;
	o->n = n;
	o->seed = seed;
	o->half = 1;
	while (o->half < 32 && n > 1ull << 2 * o->half)
		o->half++;
}

/* A Feistel network: a permutation of the numbers of 2 * half bits, whatever the function is. */
static uint64_t shuffle(const struct order *o, uint64_t x)
{
	uint64_t mask = (1ull << o->half) - 1, left = x >> o->half, right = x & mask;

	for (uint64_t r = 0; r < ROUNDS; r++) {
		uint64_t h = (right ^ (o->seed + r)) * 0x9e3779b97f4a7c15ull, next;

		h = (h ^ h >> 32) * 0xbf58476d1ce4e5b9ull;
		next = (left ^ h >> 32) & mask;
		left = right;
		right = next;
	}
	return left << o->half | right;
}

/* The number at place @i, which is below n. */
static uint64_t order_at(const struct order *o, uint64_t i)
{
	if (o->kind != ORDER_RANDOM)
		return o->kind == ORDER_UP ? i : o->n - 1 - i;
	/* It may leave the range; fewer than four steps on average lead back. */
	do
		i = shuffle(o, i);
	while (i >= o->n);
	return i;
}

#define MIB (1024u * 1024u)

/*
 * struct pass - State shared by the threads.
 * @next: next place in the order.
 * @done: bytes done.
 */
struct pass {
	struct lanes *ls;
	struct order order;
	uint64_t bytes, seed;
	uint32_t size;
	bool write;
	ANNEX_CACHE_ALIGNED uint64_t next;
	ANNEX_CACHE_ALIGNED uint64_t done;
	uint32_t stop;
};

int stamp_wrong(const struct lanes *ls, const struct lane_flight *f, const void *data, uint32_t bad,
		uint64_t seed)
{
	uint64_t sector = f->slba * (ls->ns.block / PATTERN_SECTOR) + bad;
	uint64_t lba = sector * PATTERN_SECTOR / ls->ns.block;
	char why[160];

	pattern_explain(why, sizeof(why), (const char *)data + bad * PATTERN_SECTOR, sector, seed);
	return err_set(-EILSEQ, "%s: wrong data at LBA %" PRIu64 " (byte %" PRIu64 "): %s",
		       annex_dev_uri(ls->dev), lba, sector * PATTERN_SECTOR, why);
}

/* Old data in the buffer must not pass for data that the device failed to write. */
static void spoil(void *data, uint32_t len)
{
	for (uint32_t at = 0; at < len; at += PATTERN_SECTOR)
		memset((char *)data + at, 0xa5, sizeof(uint64_t));
}

static bool next(void *ctx, struct annex_io *io, void *data)
{
	struct pass *p = ctx;
	uint32_t block = p->ls->ns.block, len = p->size;
	uint64_t i, at;

	if (annex_atomic_load(&p->stop, ANNEX_RELAXED))
		return false;
	i = annex_atomic_add(&p->next, 1, ANNEX_RELAXED);
	if (i >= p->order.n)
		return false;
	at = order_at(&p->order, i) * p->size;
	if (len > p->bytes - at)
		len = (uint32_t)(p->bytes - at);
	io->slba = at / block;
	io->nlb = len / block;
	io->opcode = p->write ? ANNEX_NVM_WRITE : ANNEX_NVM_READ;
	if (p->write)
		pattern_fill(data, at / PATTERN_SECTOR, len / PATTERN_SECTOR, p->seed);
	else
		spoil(data, len);
	return true;
}

static int done(void *ctx, const struct lane_flight *f, const void *data, uint64_t ns)
{
	struct pass *p = ctx;
	uint32_t block = p->ls->ns.block, count = f->nlb * (block / PATTERN_SECTOR), good;
	uint64_t through;

	(void)ns;
	if (!p->write) {
		good = pattern_check(data, f->slba * (block / PATTERN_SECTOR), count, p->seed);
		if (good < count)
			return stamp_wrong(p->ls, f, data, good, p->seed);
	}
	through = annex_atomic_add(&p->done, (uint64_t)f->nlb * block, ANNEX_RELAXED);
	progress_update(through / MIB, p->bytes / MIB, "MiB");
	return 0;
}

static int work(void *ctx, unsigned int id, unsigned int n)
{
	struct pass *p = ctx;
	struct lane_job job = {p, next, done};
	int err;

	(void)n;
	err = lane_run(&p->ls->lane[id], &job, p->ls->ns.block);
	if (err)
		annex_atomic_store(&p->stop, 1u, ANNEX_RELAXED);
	return err;
}

int stamp_pass(struct lanes *ls, struct pool *pool, uint64_t bytes, uint64_t seed,
	       enum order_kind kind, bool write)
{
	struct pass p = {
		.ls = ls, .bytes = bytes, .seed = seed, .size = ls->lane[0].size, .write = write};
	int err;

	/* Another order for reading than for writing. */
	order_init(&p.order, kind, (bytes + p.size - 1) / p.size, seed * 2 + write);
	progress_begin(write ? "writing" : "checking");
	err = pool_run(pool, work, &p);
	if (!err && write)
		err = block_flush(ls);
	progress_end();
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queues: threads write, read and flush at random, each in a share of the area; then commands that
 * fail in each way that can be injected.
 */
#include <errno.h>
#include <string.h>
#include "../error.h"
#include "../pool.h"
#include "selftest.h"

#define BATCH 8u
#define BATCHES 40u      /* of a thread in a round */
#define LATE 8u          /* commands that complete late */
#define SLOT (64u << 10) /* of a buffer, for one command of a batch */

struct queues {
	struct area *a;
	uint64_t seed;
	unsigned int n;
	struct tally tally[64];
};

/* One thread's. @at: the first byte of its share in the area; @share: bytes. */
struct worker {
	struct area *a;
	struct tally *t;
	uint64_t seed, at, share, addr;
	unsigned char *buf;
};

/* A command at a random place in a @share that begins at @at; it is described by @io. */
static void describe(struct worker *w, uint64_t at, uint64_t share, unsigned int slot,
		     struct annex_io *io)
{
	static const uint8_t opcodes[] = {ANNEX_NVM_WRITE, ANNEX_NVM_WRITE, ANNEX_NVM_READ,
					  ANNEX_NVM_READ, ANNEX_NVM_READ};
	uint32_t block = w->a->ns.block, most = annex_dev_max_transfer(w->a->dev);
	uint64_t blocks = share / block, nlb;

	most = most < SLOT ? most : SLOT;
	nlb = pick(&w->seed, blocks < most / block ? blocks : most / block) + 1;
	*io = (struct annex_io){.nsid = 1, .opcode = ANNEX_NVM_FLUSH};
	if (!pick(&w->seed, 16))
		return;
	io->opcode = opcodes[pick(&w->seed, sizeof(opcodes))];
	io->flags = pick(&w->seed, 4) ? 0 : ANNEX_IO_FUA;
	io->slba = (w->a->first + at) / block + pick(&w->seed, blocks - nlb + 1);
	io->nlb = (uint32_t)nlb;
	io->bytes = io->nlb * block;
	io->addr = w->addr + (uint64_t)slot * SLOT;
	fill(&w->seed, w->buf + (size_t)slot * SLOT, io->bytes);
}

static unsigned char *shadow_of(struct area *a, const struct annex_io *io)
{
	return a->shadow + (io->slba * a->ns.block - a->first);
}

/* The commands have ended well. */
static int settle(struct worker *w, const struct annex_io *io, unsigned int slot)
{
	unsigned char *buf = w->buf + (size_t)slot * SLOT;

	if (io->opcode == ANNEX_NVM_READ)
		return tally_same(w->t, annex_dev_uri(w->a->dev), io->slba * w->a->ns.block, buf,
				  shadow_of(w->a, io), io->bytes);
	if (io->opcode == ANNEX_NVM_WRITE)
		memcpy(shadow_of(w->a, io), buf, io->bytes);
	return 0;
}

/* Commands of a batch do not touch each other's blocks, as their order is the device's. */
static int batch(struct worker *w)
{
	uint64_t share = w->share / BATCH & ~4095ull;
	unsigned int n = (unsigned int)pick(&w->seed, BATCH) + 1;
	struct annex_io ios[BATCH];
	int err;

	for (unsigned int i = 0; i < n; i++)
		describe(w, w->at + i * share, share, i, &ios[i]);
	err = tally_call(w->t, annex_dev_io(w->a->dev, ios, n, NULL), "commands");
	for (unsigned int i = 0; i < n && !err; i++)
		err = settle(w, &ios[i], i);
	w->t->operations += n;
	return err;
}

static int work(void *ctx, unsigned int id, unsigned int n)
{
	const struct annex_provider *pages = annex_provider_pages();
	struct queues *q = ctx;
	struct worker w = {.a = q->a, .t = &q->tally[id], .seed = q->seed + id};
	int err = 0;

	w.share = q->a->bytes / n & ~(uint64_t)(BATCH * 4096 - 1);
	w.at = id * w.share;
	w.buf = pages->alloc(pages->ctx, BATCH * SLOT, 4096);
	if (!w.buf)
		return tally_memory(w.t);
	err = tally_call(w.t, annex_dev_map(q->a->dev, w.buf, BATCH * SLOT, &w.addr),
			 "annex_dev_map()");
	for (unsigned int i = 0; i < BATCHES && !err; i++)
		err = batch(&w);
	/* Memory of commands that have not ended is lost. */
	if (w.addr &&
	    tally_call(w.t, annex_dev_unmap(q->a->dev, w.addr, BATCH * SLOT), "annex_dev_unmap()"))
		return err;
	pages->free(pages->ctx, w.buf, BATCH * SLOT);
	return err;
}

static int threads(const struct selftest *s, struct area *a, uint64_t *seed)
{
	/*
	 * They change when things happen, and nothing else: commands are overtaken. None waits for
	 * a later one, which a thread that is alone on its queue would never submit.
	 */
	struct annex_fault late = {.kind = ANNEX_FAULT_DELAY, .opcode = -1, .count = 1};
	struct queues q = {.a = a, .seed = annex_random(seed)};
	struct pool *pool;
	int err = 0;

	for (unsigned int i = 0; i < LATE && !err; i++) {
		late.after = 3ull * i;
		late.delay_us = i % 4 ? 300 : 5000;
		err = area_inject(a, &late);
	}
	if (err && err != AREA_NO_FAULTS)
		return err;
	err = pool_create(s->threads, &pool);
	if (err)
		return tally_scarce(a->t, err, err_text());
	err = pool_run(pool, work, &q);
	pool_destroy(pool);
	for (unsigned int i = 0; i < s->threads; i++)
		tally_add(a->t, &q.tally[i]);
	return err;
}

/* One command of two blocks of 4096 bytes at the area's beginning, which ends with @status. */
static int expect(struct area *a, uint8_t opcode, uint16_t status)
{
	struct annex_result res = {.status = 0};
	struct annex_io io = {.opcode = opcode,
			      .nsid = 1,
			      .slba = a->first / a->ns.block,
			      .nlb = 8192 / a->ns.block,
			      .bytes = 8192,
			      .addr = a->addr};
	int err = annex_dev_io(a->dev, &io, 1, &res);

	a->t->operations++;
	if (err == annex_nvme_errno(status) && (res.status & ANNEX_SC_MASK) == status)
		return 0;
	return tally_wrong(a->t, "a command ended with status 0x%03x (%s), not 0x%03x",
			   res.status & ANNEX_SC_MASK, annex_strerror(err), status);
}

/* A command that fails leaves what was there, or with @torn all but its first block. */
static int failing(struct area *a, uint64_t *seed, uint8_t opcode, bool torn)
{
	static const uint16_t statuses[] = {ANNEX_SC_INTERNAL, ANNEX_SC_LBA_RANGE,
					    ANNEX_SC_WRITE_FAULT, ANNEX_SC_UNRECOVERED_READ};
	struct annex_fault f = {.kind = torn ? ANNEX_FAULT_TORN : ANNEX_FAULT_ERROR,
				.opcode = opcode,
				.count = 1,
				.status = statuses[pick(seed, 4)]};
	int err = area_inject(a, &f);

	if (err)
		return err;
	fill(seed, a->buf, 8192);
	err = expect(a, opcode, f.status);
	if (!err && torn && opcode == ANNEX_NVM_WRITE)
		memcpy(a->shadow, a->buf, a->ns.block);
	if (!err && torn && opcode == ANNEX_NVM_READ)
		err = tally_same(a->t, "a torn read", 0, a->buf, a->shadow, a->ns.block);
	if (!err)
		err = expect(a, ANNEX_NVM_READ, ANNEX_SC_SUCCESS);
	return err ? err : tally_same(a->t, "after a fault", 0, a->buf, a->shadow, 8192);
}

/* A completion that never comes, then a controller that fails: aborted, reset, and right again. */
static int recovering(struct area *a, uint64_t *seed)
{
	static const enum annex_fault_kind kinds[] = {ANNEX_FAULT_LOSE, ANNEX_FAULT_FATAL};
	int err = 0;

	for (unsigned int i = 0; i < 2 && !err; i++) {
		struct annex_io io = {.opcode = ANNEX_NVM_WRITE,
				      .nsid = 1,
				      .nlb = 8192 / a->ns.block,
				      .bytes = 8192,
				      .addr = a->addr};
		struct annex_fault f = {.kind = kinds[i], .opcode = ANNEX_NVM_WRITE, .count = 1};

		err = area_inject(a, &f);
		fill(seed, a->buf, 8192);
		if (!err && !annex_dev_io(a->dev, &io, 1, NULL))
			err = tally_wrong(a->t, "a command succeeded that had no completion");
		a->t->operations++;
		/* It was carried out, or was not fetched any more. */
		if (kinds[i] == ANNEX_FAULT_LOSE)
			memcpy(a->shadow, a->buf, 8192);
		if (!err)
			err = area_check(a);
	}
	return err;
}

/* In memory, so that nothing else is ever late. */
static int lost(struct tally *t, uint64_t *seed)
{
	struct area a = {.t = t, .timeout_ms = 1000};
	int err = area_open(&a, "mem:1M?block=4096", seed, false);

	if (!err)
		err = recovering(&a, seed);
	area_close(&a);
	return err;
}

int selftest_queues(const struct selftest *s, struct tally *t, uint64_t seed)
{
	char uri[ANNEX_URI_MAX];
	struct area a = {.t = t};
	int err = storage_uri(s, t, &seed, "", uri);

	if (!err)
		err = area_open(&a, uri, &seed, true);
	if (!err)
		err = threads(s, &a, &seed);
	for (unsigned int i = 0; i < 4 && !err; i++)
		err = failing(&a, &seed, i & 1 ? ANNEX_NVM_WRITE : ANNEX_NVM_READ, i & 2);
	if (!err || err == AREA_NO_FAULTS)
		err = area_reopen(&a);
	if (!err)
		err = area_check(&a);
	area_close(&a);
	return err ? err : lost(t, &seed);
}

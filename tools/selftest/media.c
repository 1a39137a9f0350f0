// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <annex/array.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include <annex/mem.h>
#include "tools/common/cleanup.h"
#include "tools/common/error.h"
#include "selftest.h"

#define WAIT_MS 60000u
#define UNIT 4096u /* bytes that commands move at least */

/* The storage of the part that runs; all zero while it is closed. @uri is a range's. */
static struct {
	const char *uri;
	unsigned char *buf;
	struct annex_dev *dev;
	uint64_t addr;
	uint32_t block;
	struct annex_cache *cache;
	struct annex_array array;
	struct annex_store *store;
	struct annex_space *space;
	unsigned char *tensor;
	struct annex_hdm *range;
	void *piece;
	char name[ANNEX_HDM_NAME];
} now;

/* A store of another process on the device refuses the claim. */
static int queues_open(const char *uri, unsigned char *buf)
{
	struct annex_ns ns;
	int err = annex_dev_open(uri, NULL, &now.dev);

	now.buf = buf;
	if (!err)
		err = annex_dev_ns(now.dev, 1, &ns);
	now.block = err ? 1 : ns.block;
	if (now.block > UNIT)
		err = err_set(-EINVAL, "%s: its blocks of %u bytes are larger than %u", uri,
			      now.block, UNIT);
	if (!err)
		err = annex_dev_claim(now.dev, 1, 0, SELFTEST_AREA / now.block);
	return err ? err : annex_dev_map(now.dev, buf, SELFTEST_BUF, &now.addr);
}

static int queues_move(unsigned char *buf, uint64_t at, uint64_t n, bool write)
{
	struct annex_io io = {.opcode = write ? ANNEX_NVM_WRITE : ANNEX_NVM_READ,
			      .nsid = 1,
			      .slba = at / now.block,
			      .nlb = (uint32_t)(n / now.block),
			      .bytes = (uint32_t)n,
			      .addr = now.addr + (uint64_t)(buf - now.buf)};

	return annex_dev_io(now.dev, &io, 1, NULL);
}

/* The cache has a quarter of the data. */
static int cache_open(const char *uri, unsigned char *buf)
{
	struct annex_cache_opts opts = {
		.line = 4096, .bytes = SELFTEST_AREA / 4, .size = SELFTEST_AREA, .ndevs = 1};
	int err = queues_open(uri, buf);

	opts.devs = &now.dev;
	if (!err)
		err = annex_cache_create(&opts, &now.cache);
	return err ? err : annex_array_init(&now.array, now.cache, 0, 8, SELFTEST_AREA / 8);
}

static int cache_move(unsigned char *buf, uint64_t at, uint64_t n, bool write)
{
	uint64_t index[512];

	for (uint64_t i = 0; i < n / 8; i++)
		index[i] = at / 8 + i;
	return write ? annex_array_scatter(&now.array, index, n / 8, buf)
		     : annex_array_gather(&now.array, index, n / 8, buf);
}

static int spaces_open(const char *uri, unsigned char *buf)
{
	struct annex_space_opts opts = {.device = SELFTEST_AREA / 4,
					.host = SELFTEST_AREA / 4,
					.size = 2 * SELFTEST_AREA,
					.stores = &now.store,
					.n_stores = 1,
					.checksum = true};
	int err = annex_store_open(uri, NULL, &now.store);

	(void)buf;
	if (!err)
		err = annex_space_create(&opts, &now.space);
	return err ? err : annex_alloc(now.space, "selftest", SELFTEST_AREA, (void **)&now.tensor);
}

static int wait_end(struct annex_move *m)
{
	int err = annex_move_wait(m, WAIT_MS);

	if (err == -ETIMEDOUT)
		annex_move_forget(m);
	return err;
}

/* Bytes are prefetched before they are accessed, so that losing them is an error, not a signal. */
static int spaces_move(unsigned char *buf, uint64_t at, uint64_t n, bool write)
{
	unsigned char *bytes = now.tensor + at;
	struct annex_move *m = NULL;
	int err = annex_prefetch(now.space, bytes, n, 0, &m);

	if (!err)
		err = wait_end(m);
	if (!err)
		memcpy(write ? bytes : buf, write ? buf : bytes, n);
	return err;
}

/* Signals wait for the end: a piece with a name would stay in the user's range. */
static int ranges_open(const char *uri, unsigned char *buf)
{
	int err;

	(void)buf;
	now.uri = uri;
	snprintf(now.name, sizeof(now.name), "annex-selftest-%d", (int)getpid());
	err = annex_hdm_open(uri, NULL, &now.range);
	cleanup_hold();
	return err ? err : annex_hdm_alloc(now.range, SELFTEST_AREA, 4096, now.name, &now.piece);
}

/* The bytes go through a second piece. */
static int ranges_move(unsigned char *buf, uint64_t at, uint64_t n, bool write)
{
	unsigned char *bytes = (unsigned char *)now.piece + at;
	void *way;
	int err = annex_hdm_alloc(now.range, n, 64, NULL, &way);

	if (err)
		return err;
	memcpy(way, write ? buf : bytes, n);
	memcpy(write ? bytes : buf, way, n);
	return annex_hdm_free(now.range, way);
}

static int reopen_range(void)
{
	struct annex_hdm_block b;
	int err;

	annex_hdm_close(now.range);
	now.range = NULL;
	err = annex_hdm_open(now.uri, NULL, &now.range);
	if (!err)
		err = annex_hdm_find(now.range, now.name, &b);
	now.piece = err ? NULL : annex_hdm_at(now.range, b.offset);
	return err;
}

int medium_settle(void)
{
	struct annex_io flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	struct annex_move *m = NULL;
	int err = now.cache ? annex_cache_flush(now.cache, 0, UINT64_MAX) : 0;

	if (!err && now.dev)
		err = annex_dev_io(now.dev, &flush, 1, NULL);
	if (!err && now.space)
		err = annex_pre_evict(now.space, now.tensor, SELFTEST_AREA, ANNEX_TIER_SSD, &m);
	if (!err && now.space)
		err = wait_end(m);
	if (!err && now.range && !(annex_hdm_traits(now.uri) & ANNEX_TRAIT_VOLATILE))
		err = reopen_range();
	return err;
}

int medium_close(void)
{
	int err = annex_cache_destroy(now.cache), last = annex_dev_close(now.dev);

	err = err ? err : last;
	annex_space_destroy(now.space);
	last = annex_store_close(now.store);
	err = err ? err : last;
	last = now.piece ? annex_hdm_free(now.range, now.piece) : 0;
	annex_hdm_close(now.range);
	if (now.uri)
		cleanup_release();
	memset(&now, 0, sizeof(now));
	return err ? err : last;
}

const struct medium selftest_media[] = {
	{"queues", UNIT, SELFTEST_MOST, .open = queues_open, .move = queues_move},
	{"cache", 8, 4096, .open = cache_open, .move = cache_move},
	{"spaces", 64, SELFTEST_MOST, .open = spaces_open, .move = spaces_move, .alone = true},
	{"ranges", 64, SELFTEST_MOST, .open = ranges_open, .move = ranges_move, .range = true},
	{0}};

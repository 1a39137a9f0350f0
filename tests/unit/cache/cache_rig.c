// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "cache_rig.h"
#include "tests/unit/unit.h"

uint64_t rig_word(unsigned int dev, uint64_t offset)
{
	uint64_t z = (offset + 1) * 0x9e3779b97f4a7c15ull + dev;

	return (z ^ z >> 29) * 0xbf58476d1ce4e5b9ull;
}

static void transfer(struct rig *r, unsigned int dev, uint8_t opcode, uint64_t offset, uint32_t len)
{
	struct annex_ns ns;
	struct annex_io io = {.opcode = opcode, .nsid = 1, .bytes = len, .addr = r->addr[dev]};

	CU_ASSERT_EQUAL_FATAL(annex_dev_ns(r->devs[dev], 1, &ns), 0);
	io.slba = offset / ns.block;
	io.nlb = len / ns.block;
	CU_ASSERT_EQUAL_FATAL(annex_dev_io(r->devs[dev], &io, 1, NULL), 0);
}

void rig_read(struct rig *r, unsigned int dev, uint64_t offset, void *out, uint32_t len)
{
	transfer(r, dev, ANNEX_NVM_READ, offset, len);
	memcpy(out, r->buf, len);
}

void rig_write(struct rig *r, unsigned int dev, uint64_t offset, const void *in, uint32_t len)
{
	memcpy(r->buf, in, len);
	transfer(r, dev, ANNEX_NVM_WRITE, offset, len);
}

static void fill(struct rig *r, unsigned int dev)
{
	uint32_t chunk = annex_dev_max_transfer(r->devs[dev]);
	struct annex_ns ns;
	uint64_t size;

	CU_ASSERT_EQUAL_FATAL(annex_dev_ns(r->devs[dev], 1, &ns), 0);
	size = ns.blocks * ns.block;
	if (chunk > RIG_BUF)
		chunk = RIG_BUF;
	for (uint64_t at = 0; at < size; at += chunk) {
		uint32_t len = size - at < chunk ? (uint32_t)(size - at) : chunk;

		for (uint32_t i = 0; i < len; i += 8)
			*(uint64_t *)(void *)(r->buf + i) = rig_word(dev, at + i);
		transfer(r, dev, ANNEX_NVM_WRITE, at, len);
	}
}

void rig_open(struct rig *r, unsigned int ndevs, const char *uri, const struct annex_dev_opts *opts)
{
	memset(r, 0, sizeof(*r));
	r->buf = aligned_alloc(4096, RIG_BUF);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->buf);
	for (; r->ndevs < ndevs; r->ndevs++) {
		unsigned int i = r->ndevs;

		CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, opts, &r->devs[i]), 0);
		CU_ASSERT_EQUAL_FATAL(annex_dev_map(r->devs[i], r->buf, RIG_BUF, &r->addr[i]), 0);
		fill(r, i);
	}
}

void rig_cache(struct rig *r, uint64_t bytes, uint32_t line, enum annex_layout layout,
	       uint64_t size)
{
	struct annex_cache_opts opts = {
		.bytes = bytes,
		.line = line,
		.devs = r->devs,
		.ndevs = r->ndevs,
		.layout = layout,
		.size = size,
	};

	CU_ASSERT_EQUAL_FATAL(annex_cache_create(&opts, &r->c), 0);
}

void rig_start(struct rig *r, const char *uri, uint64_t slots, uint32_t line)
{
	rig_open(r, 1, uri, NULL);
	rig_cache(r, slots * line, line, ANNEX_STRIPE, 0);
}

void rig_close(struct rig *r)
{
	CU_ASSERT_EQUAL(annex_cache_destroy(r->c), 0);
	for (unsigned int i = 0; i < r->ndevs; i++) {
		CU_ASSERT_EQUAL(annex_dev_unmap(r->devs[i], r->addr[i], RIG_BUF), 0);
		annex_dev_close(r->devs[i]);
	}
	free(r->buf);
}

void rig_error(struct rig *r, unsigned int dev, int opcode, uint64_t lba, uint64_t blocks,
	       uint64_t count)
{
	struct annex_fault fault = {
		.kind = ANNEX_FAULT_ERROR,
		.opcode = opcode,
		.lba = lba,
		.blocks = blocks,
		.count = count,
		.status = opcode == ANNEX_NVM_WRITE ? ANNEX_SC_WRITE_FAULT
						    : ANNEX_SC_UNRECOVERED_READ,
	};

	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(r->devs[dev], &fault), 0);
}

struct annex_cache_stats rig_stats(const struct rig *r)
{
	struct annex_cache_stats s;

	annex_cache_get_stats(r->c, &s);
	return s;
}

void rig_threads(unsigned int n, void *(*fn)(void *), void *arg)
{
	struct rig_thread *args = calloc(n, sizeof(*args));

	CU_ASSERT_PTR_NOT_NULL_FATAL(args);
	for (unsigned int i = 0; i < n; i++) {
		args[i].arg = arg;
		args[i].id = i;
	}
	unit_threads(n, fn, args, sizeof(*args));
	free(args);
}

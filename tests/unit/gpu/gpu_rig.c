// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu/context.h"
#include "gpu_rig.h"
#include "tests/unit/unit.h"

#define CHUNK (64u << 10)

/* Copy by commands of the host, independent of the tested code. */
static void transfer(struct gpu_rig *r, uint8_t opcode, char *data)
{
	struct annex_dev *dev = annex_gpu_dev(r->ctx);
	char *buf = aligned_alloc(ANNEX_NVME_PAGE, CHUNK);
	uint64_t addr;

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(dev, buf, CHUNK, &addr), 0);
	for (uint64_t at = 0; at < r->bytes; at += CHUNK) {
		uint32_t len = r->bytes - at < CHUNK ? (uint32_t)(r->bytes - at) : CHUNK;

		for (uint32_t off = 0; off < len; off += r->command) {
			uint32_t n = len - off < r->command ? len - off : r->command;
			struct annex_result res = {0};
			struct annex_io io = {.opcode = opcode, .nsid = 1, .bytes = n};

			io.slba = (at + off) / r->block;
			io.nlb = n / r->block;
			io.addr = addr + off;
			if (opcode == ANNEX_NVM_WRITE)
				memcpy(buf + off, data + at + off, n);
			CU_ASSERT_EQUAL_FATAL(gpu_io(r->ctx, &io, &res), 0);
			if (opcode == ANNEX_NVM_READ)
				memcpy(data + at + off, buf + off, n);
		}
	}
	CU_ASSERT_EQUAL(annex_dev_unmap(dev, addr, CHUNK), 0);
	free(buf);
}

void gpu_rig_open(struct gpu_rig *r, const struct gpu_shape *shape, const char *test)
{
	uint32_t line = shape->line ? shape->line : 4096;
	struct annex_gpu_opts opts = {
		.bytes = (uint64_t)shape->slots * line,
		.line = line,
		.queues = shape->queues ? shape->queues : 2,
		.depth = shape->depth ? shape->depth : 32,
		.timeout_ms = shape->timeout_ms,
		.direct = shape->direct,
	};
	char uri[64];

	memset(r, 0, sizeof(*r));
	r->random = random_seed(test);
	r->bytes = shape->bytes;
	r->block = shape->block ? shape->block : 512;
	snprintf(uri, sizeof(uri), "mem:%llu?block=%u", (unsigned long long)r->bytes, r->block);
	CU_ASSERT_EQUAL_FATAL(annex_gpu_open(uri, &opts, annex_gpu_memory_host(), &r->ctx), 0);
	r->cache = r->ctx->there;
	r->command = annex_dev_max_transfer(annex_gpu_dev(r->ctx));
	r->expect = malloc(r->bytes);
	r->back = malloc(r->bytes);
	CU_ASSERT_FATAL(r->expect && r->back);
	random_fill(&r->random, r->expect, r->bytes);
	transfer(r, ANNEX_NVM_WRITE, r->expect);
}

void gpu_rig_check(struct gpu_rig *r)
{
	CU_ASSERT_EQUAL(r->wrong, 0);
	CU_ASSERT_EQUAL(r->err, 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(r->ctx, 0, UINT64_MAX), 0);
	transfer(r, ANNEX_NVM_READ, r->back);
	CU_ASSERT_EQUAL(memcmp(r->back, r->expect, r->bytes), 0);
}

void gpu_rig_close(struct gpu_rig *r, int err)
{
	CU_ASSERT_EQUAL(annex_gpu_close(r->ctx), err);
	free(r->expect);
	free(r->back);
}

struct annex_gpu_array gpu_rig_array(struct gpu_rig *r, uint32_t elem)
{
	struct annex_gpu_array a;

	CU_ASSERT_EQUAL_FATAL(annex_gpu_array_init(&a, r->ctx, 0, elem, r->bytes / elem), 0);
	return a;
}

void gpu_rig_run(struct gpu_rig *r, unsigned int warps,
		 void (*kernel)(void *arg, unsigned int thread), void *arg)
{
	struct twin_grid grid = {.warps = warps, .per_block = 2, .seed = random_next(&r->random)};

	twin_run(&grid, kernel, arg);
}

void gpu_rig_note(struct gpu_rig *r, int err, bool right)
{
	if (err)
		annex_atomic_store(&r->err, err, ANNEX_RELAXED);
	else if (!right)
		annex_atomic_add(&r->wrong, 1, ANNEX_RELAXED);
}

void gpu_rig_fault(struct gpu_rig *r, enum annex_fault_kind kind, int opcode, uint64_t after,
		   uint64_t count)
{
	struct annex_fault fault = {
		.kind = kind,
		.opcode = opcode,
		.after = after,
		.count = count,
	};

	if (kind == ANNEX_FAULT_ERROR)
		fault.status = opcode == ANNEX_NVM_WRITE ? ANNEX_SC_WRITE_FAULT
							 : ANNEX_SC_UNRECOVERED_READ;
	if (kind == ANNEX_FAULT_DELAY)
		fault.delay_us = 2000;
	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(annex_gpu_dev(r->ctx), &fault), 0);
}

struct annex_gpu_stats gpu_rig_stats(struct gpu_rig *r)
{
	struct annex_gpu_stats s;

	CU_ASSERT_EQUAL_FATAL(annex_gpu_get_stats(r->ctx, &s), 0);
	return s;
}

struct annex_gpu_error gpu_rig_error(struct gpu_rig *r)
{
	struct annex_gpu_error e;

	CU_ASSERT_EQUAL_FATAL(annex_gpu_get_error(r->ctx, &e), 0);
	return e;
}

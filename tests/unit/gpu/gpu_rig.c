// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu/context.h"
#include "gpu_rig.h"
#include "tests/unit/unit.h"

#define DEVS 4u

/* Bytes of data that lie together on a device from @at on, and where there. */
static uint64_t piece_of(const struct gpu_rig *r, uint64_t at, uint64_t *offset)
{
	uint64_t line = at / r->line;

	*offset = r->layout == ANNEX_STRIPE ? line / r->devs * r->line : at;
	return r->bytes - at < r->line ? r->bytes - at : r->line;
}

/* Copy the lines of a device by commands of the host, independent of the tested code. */
static void transfer(struct gpu_rig *r, uint32_t dev, uint8_t opcode, char *data)
{
	struct gpu_dev *d = &r->ctx->devs[dev];
	uint32_t block = 1u << d->view.block_shift;
	size_t len = r->line < ANNEX_NVME_PAGE ? ANNEX_NVME_PAGE : r->line;
	char *buf = aligned_alloc(ANNEX_NVME_PAGE, len);
	uint64_t addr;

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(d->dev, buf, len, &addr), 0);
	for (uint64_t at = 0; at < r->bytes; at += r->line) {
		uint64_t offset, n = piece_of(r, at, &offset);
		struct annex_result res = {0};
		struct annex_io io = {.opcode = opcode, .nsid = 1, .bytes = (uint32_t)n};

		if (r->layout == ANNEX_STRIPE && at / r->line % r->devs != dev)
			continue;
		io.slba = offset / block;
		io.nlb = (uint32_t)n / block;
		io.addr = addr;
		if (opcode == ANNEX_NVM_WRITE)
			memcpy(buf, data + at, n);
		CU_ASSERT_EQUAL_FATAL(gpu_io(d, &io, &res), 0);
		if (opcode == ANNEX_NVM_READ)
			memcpy(data + at, buf, n);
	}
	CU_ASSERT_EQUAL(annex_dev_unmap(d->dev, addr, len), 0);
	free(buf);
}

void gpu_rig_open(struct gpu_rig *r, const struct gpu_shape *shape, const char *test)
{
	char uri[DEVS][64];
	const char *uris[DEVS];
	struct annex_gpu_opts opts = {
		.line = shape->line ? shape->line : 4096,
		.queues = shape->queues ? shape->queues : 2,
		.depth = shape->depth ? shape->depth : 32,
		.timeout_ms = shape->timeout_ms,
		.direct = shape->direct,
		.size = shape->bytes,
		.more = uris + 1,
		.layout = shape->layout,
	};

	memset(r, 0, sizeof(*r));
	r->random = random_seed(test);
	r->bytes = shape->bytes;
	r->line = opts.line;
	r->devs = shape->devs ? shape->devs : 1;
	r->layout = shape->layout;
	CU_ASSERT_FATAL(r->devs <= DEVS);
	opts.bytes = (uint64_t)shape->slots * opts.line;
	opts.nmore = r->devs - 1;
	for (uint32_t i = 0; i < r->devs; i++) {
		uint32_t block = i % 2 ? 4096 : shape->block ? shape->block : 512;

		snprintf(uri[i], sizeof(uri[i]), "mem:%llu?block=%u", (unsigned long long)r->bytes,
			 block);
		uris[i] = uri[i];
	}
	CU_ASSERT_EQUAL_FATAL(annex_gpu_open(uris[0], &opts, annex_gpu_memory_host(), &r->ctx), 0);
	r->cache = r->ctx->there;
	r->expect = malloc(r->bytes);
	r->back = malloc(r->bytes);
	CU_ASSERT_FATAL(r->expect && r->back);
	random_fill(&r->random, r->expect, r->bytes);
	for (uint32_t i = 0; i < r->devs; i++)
		transfer(r, i, ANNEX_NVM_WRITE, r->expect);
}

void gpu_rig_check(struct gpu_rig *r)
{
	CU_ASSERT_EQUAL(r->wrong, 0);
	CU_ASSERT_EQUAL(r->err, 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(r->ctx, 0, UINT64_MAX), 0);
	for (uint32_t i = 0; i < r->devs; i++) {
		transfer(r, i, ANNEX_NVM_READ, r->back);
		if (i + 1 == r->devs || r->layout == ANNEX_REPLICA)
			CU_ASSERT_EQUAL(memcmp(r->back, r->expect, r->bytes), 0);
	}
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

void gpu_rig_fault_on(struct gpu_rig *r, uint32_t dev, enum annex_fault_kind kind, int opcode,
		      uint64_t after, uint64_t count)
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
	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(annex_gpu_dev_at(r->ctx, dev), &fault), 0);
}

void gpu_rig_fault(struct gpu_rig *r, enum annex_fault_kind kind, int opcode, uint64_t after,
		   uint64_t count)
{
	gpu_rig_fault_on(r, r->devs - 1, kind, opcode, after, count);
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

// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a hostile host. The input is a program of calls, doorbells, queue entries and
 * host memory; the controller must not touch memory that was not mapped (mapped memory
 * lies between inaccessible pages), and a reset must always work.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <annex/device.h>
#include <annex/nvme.h>
#include "core/ctrl.h"
#include "nvme/emu/emu.h"
#include "input.h"

#define MEM (1u << 20)   /* mapped for the controller */
#define GUARD (1u << 20) /* on both sides */
#define DEPTH 16u
#define QUEUES 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct annex_ctrl *ctrl;
static char *mem;

/* Mostly an address at or near the mapped memory, so that lists and data are found. */
static uint64_t address(uint64_t v)
{
	if (v >> 56 == 0xff)
		return v;
	return (uintptr_t)mem + v % (MEM + 8192) - (v >> 63 ? 4096 : 0);
}

static struct annex_sqe *sq(unsigned int qid)
{
	return (struct annex_sqe *)(void *)(mem + qid * 8192);
}

static struct annex_cqe *cq(unsigned int qid)
{
	return (struct annex_cqe *)(void *)(mem + (QUEUES + qid) * 8192);
}

/* A file that ends inside a block. */
static const char *odd_file(void)
{
	static char uri[64];
	int fd;

	if (!uri[0]) {
		fd = memfd_create("odd", MFD_CLOEXEC);
		snprintf(uri, sizeof(uri), "file:/proc/self/fd/%d?size=8193&direct=0", fd);
	}
	return uri;
}

/*
 * A new controller for each input, so that a finding can be repeated; in the same memory. One input
 * in eight has a file, whose close waits for the kernel, the others have memory.
 */
static void open_ctrl(bool odd)
{
	struct annex_uri uri;
	uint64_t addr;
	char *p;

	if (!mem) {
		p = mmap(NULL, MEM + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED || mprotect(p + GUARD, MEM, PROT_READ | PROT_WRITE))
			abort();
		mem = p + GUARD;
	}
	memset(mem, 0, MEM);
	if (annex_uri_parse(odd ? odd_file() : "mem:256K?namespaces=2", &uri) ||
	    (odd ? annex_emu_open_file : annex_emu_open_mem)(&uri, &ctrl) ||
	    ctrl->ops->map(ctrl, mem, MEM, &addr))
		abort();
}

/* One command into a queue that may or may not exist; its completions are always consumed. */
static void submit(struct input *in, unsigned int qid)
{
	uint32_t tail = *ctrl->ops->doorbell(ctrl, (uint16_t)qid, 0) % DEPTH;
	struct annex_sqe sqe;

	take(in, &sqe, sizeof(sqe));
	sqe.dptr[0] = address(sqe.dptr[0]);
	if ((sqe.flags & ANNEX_SQE_PSDT_MASK) != ANNEX_SQE_PSDT_SGL)
		sqe.dptr[1] = address(sqe.dptr[1]);
	sq(qid)[tail] = sqe;
	annex_mmio_write32(ctrl->ops->doorbell(ctrl, (uint16_t)qid, 0), (tail + 1) % DEPTH);
	ctrl->ops->rung(ctrl, (uint16_t)qid);
}

static void create_pair(unsigned int qid)
{
	/* Fails where there is one: as it should. */
	ctrl->ops->create(ctrl, (uint16_t)qid, DEPTH, (uintptr_t)sq(qid), (uintptr_t)cq(qid));
}

/* Any queue pair, anywhere: rings that overlap others, or their own. */
static void create_any(struct input *in)
{
	uint16_t qid = (uint16_t)(take_number(in, 1) % (ctrl->queues + 2));
	uint32_t depth = (uint32_t)take_number(in, 2) % (2 * DEPTH);
	uint64_t at = address(take_number(in, 8) & ~4095ull);

	ctrl->ops->create(ctrl, qid, depth, at & ~4095ull, address(take_number(in, 8)) & ~4095ull);
}

/* Host memory behind the queues: lists, segments, data. */
static void write_memory(struct input *in)
{
	uint64_t word[2], at = take_number(in, 3) % (MEM - sizeof(word)) & ~7ull;

	take(in, word, sizeof(word));
	word[0] = address(word[0]);
	memcpy(mem + at, word, sizeof(word));
}

static void inject(struct input *in)
{
	struct annex_fault f = {.opcode = -1, .count = 1};
	char text[48];

	if (take_number(in, 1) & 1) {
		take(in, text, sizeof(text) - 1);
		text[sizeof(text) - 1] = '\0';
		if (!annex_fault_parse(text, &f))
			ctrl->ops->inject(ctrl, &f);
		return;
	}
	f.kind = (enum annex_fault_kind)(take_number(in, 1) % ANNEX_FAULT_REMOVE);
	f.after = take_number(in, 1) % 4;
	f.blocks = take_number(in, 1);
	f.delay_us = f.kind == ANNEX_FAULT_DELAY ? (uint32_t)take_number(in, 1) : 0;
	ctrl->ops->inject(ctrl, &f);
}

static void call(struct input *in, unsigned int qid)
{
	struct annex_id_ctrl id; /* as large as the others */
	bool aborted;

	switch (take_number(in, 1) % 5) {
	case 0:
		create_any(in);
		break;
	case 1:
		ctrl->ops->destroy(ctrl, (uint16_t)take_number(in, 1));
		break;
	case 2:
		ctrl->ops->abort(ctrl, (uint16_t)qid, (uint16_t)take_number(in, 1), &aborted);
		break;
	case 3:
		ctrl->ops->identify(ctrl, (uint32_t)take_number(in, 1) % 4,
				    (uint32_t)take_number(in, 1), &id);
		break;
	default:
		ctrl->ops->status(ctrl);
		break;
	}
}

static void step(struct input *in)
{
	uint8_t action = (uint8_t)take_number(in, 1);
	unsigned int qid = 1 + (action >> 4) % (QUEUES - 1);

	switch (action & 15) {
	case 0:
		create_pair(qid);
		break;
	case 1:
		if (ctrl->ops->status(ctrl) != UINT32_MAX && ctrl->ops->reset(ctrl))
			abort(); /* without I/O in flight a reset is done at once */
		break;
	case 2:
		inject(in);
		break;
	case 3: /* any doorbell value: commands that were never written, wrong heads */
		annex_mmio_write32(ctrl->ops->doorbell(ctrl, (uint16_t)qid, action >> 7),
				   (uint32_t)take_number(in, 4));
		ctrl->ops->rung(ctrl, (uint16_t)qid);
		break;
	case 4:
	case 5:
		call(in, qid);
		break;
	case 6:
	case 7:
		write_memory(in);
		break;
	case 8: /* give all completion entries back */
		annex_mmio_write32(ctrl->ops->doorbell(ctrl, (uint16_t)qid, 1),
				   (uint32_t)take_number(in, 1) % DEPTH);
		ctrl->ops->assist(ctrl, (uint16_t)qid);
		break;
	default:
		submit(in, qid);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	open_ctrl(size % 8 == 7);
	create_pair(1);
	while (in.left)
		step(&in);
	ctrl->ops->close(ctrl);
	return 0;
}

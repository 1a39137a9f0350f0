// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a hostile host. The input is a program of register writes, doorbells, queue
 * entries and host memory; the controller must not touch memory that was not mapped (what was lies
 * between inaccessible pages), and must always be there for a reset.
 */
#include <stdbool.h>
#include <stdint.h>
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
#define QUEUE_BYTES (DEPTH * sizeof(struct annex_sqe))

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

/* A new controller for each input, so that a finding can be repeated; in the same memory. */
static void open_ctrl(void)
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
	if (annex_uri_parse("mem:256K?namespaces=2", &uri) || annex_emu_open(&uri, &ctrl) ||
	    ctrl->ops->map(ctrl, mem, MEM, &addr))
		abort();
}

static void enable(void)
{
	const struct annex_ctrl_ops *ops = ctrl->ops;

	ops->write(ctrl, ANNEX_REG_CC, 4, 0);
	memset(mem, 0, 2 * QUEUES * 8192);
	ops->write(ctrl, ANNEX_REG_AQA, 4, ANNEX_AQA(DEPTH, DEPTH));
	ops->write(ctrl, ANNEX_REG_ASQ, 8, (uintptr_t)sq(0));
	ops->write(ctrl, ANNEX_REG_ACQ, 8, (uintptr_t)sq(QUEUES));
	ops->write(ctrl, ANNEX_REG_CC, 4, ANNEX_CC_EN | ANNEX_CC_IOSQES_64 | ANNEX_CC_IOCQES_16);
}

static void ring(unsigned int qid, uint32_t tail)
{
	annex_mmio_write32(ctrl->ops->doorbell(ctrl, (uint16_t)qid, 0), tail);
	ctrl->ops->rung(ctrl, (uint16_t)qid);
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
	ring(qid, (tail + 1) % DEPTH);
}

static void create_pair(unsigned int qid)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_CREATE_CQ};
	uint32_t tail = *ctrl->ops->doorbell(ctrl, 0, 0) % DEPTH;

	sqe.cdw10 = (DEPTH - 1) << 16 | qid;
	sqe.cdw11 = ANNEX_QUEUE_CONTIGUOUS;
	sqe.dptr[0] = (uintptr_t)sq(QUEUES + qid);
	sq(0)[tail] = sqe;
	ring(0, tail = (tail + 1) % DEPTH);
	sqe.opcode = ANNEX_ADMIN_CREATE_SQ;
	sqe.cdw11 |= qid << 16;
	sqe.dptr[0] = (uintptr_t)sq(qid);
	sq(0)[tail] = sqe;
	ring(0, (tail + 1) % DEPTH);
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

static void step(struct input *in)
{
	uint8_t action = (uint8_t)take_number(in, 1);
	unsigned int qid = action >> 4 & (QUEUES - 1);

	switch (action & 15) {
	case 0:
		create_pair(1 + qid % (QUEUES - 1));
		break;
	case 1:
		enable();
		break;
	case 2:
		inject(in);
		break;
	case 3: /* a doorbell of any value: commands that nobody wrote, heads that are wrong */
		ctrl->ops->write(ctrl, ANNEX_REG_DOORBELLS + qid * 64, 4, take_number(in, 4));
		break;
	case 4:
		ctrl->ops->write(ctrl, (uint32_t)take_number(in, 1) & 0x3c, action & 16 ? 8 : 4,
				 take_number(in, 8));
		break;
	case 5:
		ctrl->ops->read(ctrl, (uint32_t)take_number(in, 1), action & 16 ? 8 : 4);
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
	case 9:
		submit(in, 0);
		break;
	default:
		submit(in, qid);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	open_ctrl();
	enable();
	create_pair(1);
	while (in.left)
		step(&in);
	ctrl->ops->write(ctrl, ANNEX_REG_CC, 4, 0);
	if (ctrl->ops->read(ctrl, ANNEX_REG_CSTS, 4) & ANNEX_CSTS_RDY)
		abort(); /* without I/O in flight a reset is done at once */
	ctrl->ops->close(ctrl);
	return 0;
}

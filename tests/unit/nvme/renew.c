// SPDX-License-Identifier: MIT
/*
 * Memory that a controller without an IOMMU lets go of only when it has no queue pairs: the library
 * makes these anew between commands, while others submit, and never for long.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "nvme/dev.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define THREADS 4u
#define QUEUES 2u
#define BLOCKS 64u
#define BLOCK 512u
#define DATA (64u << 10)
#define TIMEOUT_MS 2000u

/* struct rig - A device whose controller takes late bytes back when its last queue pair is gone. */
static struct rig {
	struct annex_dev *dev;
	const struct annex_ctrl_ops *real;
	struct annex_ctrl_ops ops;
	unsigned int alive, taken_back;
	char *data;
	uint64_t addr;
	uint32_t stop;
	uint64_t reads;
} rig;

static int unmap_late(struct annex_ctrl *ctrl, uint64_t addr, size_t len)
{
	annex_atomic_add(&ctrl->late, len, ANNEX_RELAXED);
	return rig.real->unmap(ctrl, addr, len);
}

static int create(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq, uint64_t cq)
{
	rig.alive++;
	return rig.real->create(ctrl, qid, depth, sq, cq);
}

static void take_back(struct annex_ctrl *ctrl)
{
	annex_atomic_store(&ctrl->late, 0ul, ANNEX_RELAXED);
	rig.taken_back++;
}

static int destroy(struct annex_ctrl *ctrl, uint16_t qid)
{
	int err = rig.real->destroy(ctrl, qid);

	if (!--rig.alive)
		take_back(ctrl);
	return err;
}

static int reset(struct annex_ctrl *ctrl)
{
	int err = rig.real->reset(ctrl);

	rig.alive = 0;
	take_back(ctrl);
	return err;
}

static void begin(const char *uri)
{
	struct annex_dev_opts opts = {.queues = QUEUES, .depth = 8, .timeout_ms = TIMEOUT_MS};
	void *data;

	memset(&rig, 0, sizeof(rig));
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, &opts, &rig.dev), 0);
	rig.real = rig.dev->ctrl->ops;
	rig.ops = *rig.real;
	rig.ops.unmap = unmap_late;
	rig.ops.create = create;
	rig.ops.destroy = destroy;
	rig.ops.reset = reset;
	rig.alive = QUEUES;
	CU_ASSERT_EQUAL_FATAL(
		annex_dev_alloc(rig.dev, ANNEX_PLACE_PROVIDER, DATA, &data, &rig.addr), 0);
	rig.data = data;
	rig.dev->ctrl->ops = &rig.ops;
}

static void end(void)
{
	rig.dev->ctrl->ops = rig.real;
	annex_dev_free(rig.dev, ANNEX_PLACE_PROVIDER, rig.data, DATA, rig.addr);
	annex_dev_close(rig.dev);
}

static int move(uint8_t opcode, uint64_t block, unsigned int place)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = 1,
			      .slba = block,
			      .nlb = 1,
			      .bytes = BLOCK,
			      .addr = rig.addr + place * BLOCK};

	return annex_dev_io(rig.dev, &io, 1, NULL);
}

static void fill(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++) {
		memset(rig.data, (int)i + 1, BLOCK);
		CU_ASSERT_EQUAL_FATAL(move(ANNEX_NVM_WRITE, i, 0), 0);
	}
}

/* Each thread has its own place in the data. */
static void *reader(void *arg)
{
	unsigned int place = 1 + (unsigned int)(uintptr_t)arg;
	const char *at = rig.data + place * BLOCK;

	for (unsigned int i = 0; !annex_atomic_load(&rig.stop, ANNEX_RELAXED); i++) {
		if (move(ANNEX_NVM_READ, i % BLOCKS, place) || at[0] != (char)(i % BLOCKS + 1) ||
		    at[BLOCK - 1] != at[0])
			return "a read went wrong";
		annex_atomic_add(&rig.reads, 1, ANNEX_RELAXED);
	}
	return NULL;
}

/* Unmap so many bytes that only this test uses. */
static void unmap_some(size_t bytes)
{
	uint64_t addr;
	void *more;

	CU_ASSERT_EQUAL_FATAL(annex_dev_alloc(rig.dev, ANNEX_PLACE_PROVIDER, bytes, &more, &addr),
			      0);
	annex_dev_free(rig.dev, ANNEX_PLACE_PROVIDER, more, bytes, addr);
}

static void amid_commands(void)
{
	pthread_t threads[THREADS];
	void *wrong;

	begin("mem:1M?serve=thread");
	fill();
	for (uintptr_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, reader, (void *)i), 0);
	for (unsigned int i = 0; i < 40; i++) {
		uint64_t reads = annex_atomic_load(&rig.reads, ANNEX_RELAXED);

		for (unsigned int k = 0; k < 8; k++)
			unmap_some(8u << 20);
		/* On a busy machine commands may take longer than they are waited for. */
		CU_ASSERT(annex_atomic_load(&rig.dev->ctrl->late, ANNEX_RELAXED) < 256u << 20);
		while (annex_atomic_load(&rig.reads, ANNEX_RELAXED) < reads + THREADS)
			annex_qp_backoff(100);
	}
	annex_atomic_store(&rig.stop, 1u, ANNEX_RELAXED);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		CU_ASSERT_PTR_NULL(wrong);
	}
	CU_ASSERT(rig.taken_back >= 20 && rig.taken_back <= 40);
	end();
}

/* A command that does not end is waited for a little, and then nothing has happened. */
static void stuck_command(void)
{
	struct annex_qp *qp;
	struct annex_io io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 1, .bytes = BLOCK};
	uint64_t token, from;

	begin("mem:1M?fault=lose,op=read");
	fill();
	qp = annex_dev_qp_at(rig.dev, 1);
	io.addr = rig.addr;
	CU_ASSERT_EQUAL_FATAL(annex_qp_submit(qp, &io, 1, &token, annex_deadline_ms(1000)), 1);
	from = annex_now();
	unmap_some(64u << 20);
	CU_ASSERT(annex_now() - from < 2 * TIMEOUT_MS * ANNEX_NSEC_PER_MSEC);
	CU_ASSERT_EQUAL(rig.taken_back, 0);
	CU_ASSERT_EQUAL(move(ANNEX_NVM_READ, 5, 1), 0);
	CU_ASSERT_EQUAL(rig.data[BLOCK], 6);
	/* It is ended by recovery as ever. */
	CU_ASSERT_EQUAL(annex_qp_poll(qp, token, NULL), -EINPROGRESS);
	CU_ASSERT_EQUAL(annex_dev_recover(rig.dev, qp, token), 0);
	CU_ASSERT_EQUAL(annex_qp_collect(qp, token, NULL), 0);
	CU_ASSERT_EQUAL(rig.taken_back, 1);
	unmap_some(64u << 20);
	CU_ASSERT_EQUAL(rig.taken_back, 2);
	CU_ASSERT_EQUAL(move(ANNEX_NVM_READ, 7, 1), 0);
	end();
}

/* A result that was not yet taken is there afterwards. */
static void results_stay(void)
{
	struct annex_io io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 1, .bytes = BLOCK};
	struct annex_result res = {.status = 1};
	struct annex_qp *qp;
	uint64_t token;

	begin("mem:1M");
	fill();
	qp = annex_dev_qp_at(rig.dev, 0);
	io.addr = rig.addr;
	CU_ASSERT_EQUAL_FATAL(annex_qp_submit(qp, &io, 1, &token, annex_deadline_ms(1000)), 1);
	unmap_some(64u << 20);
	CU_ASSERT_EQUAL(rig.taken_back, 1);
	CU_ASSERT_EQUAL(annex_qp_collect(qp, token, &res), 0);
	CU_ASSERT_EQUAL(res.status, 0);
	CU_ASSERT_EQUAL(rig.data[0], 1);
	end();
}

UNIT_SUITE(renew, {"amid commands", amid_commands}, {"a command that does not end", stuck_command},
	   {"results stay", results_stay})

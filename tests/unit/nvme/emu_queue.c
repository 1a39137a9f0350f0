// SPDX-License-Identifier: MIT
/*
 * The emulated controller's queues: phases, heads, full completion queues.
 */
#include <sched.h>
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

static const struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};

/* Queues of odd sizes, round and round: phase, head and order hold. */
static void wrap(const char *uri)
{
	uint16_t cid = 0, expect = 0;
	struct annex_cqe cqe;
	struct host h;

	host_open(&h, uri);
	CU_ASSERT_EQUAL(host_create(&h, 1, 5), 0);
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 1 + round % 4; i++) {
			struct annex_sqe sqe = flush;

			sqe.cid = cid++;
			host_put(&h, 1, &sqe);
		}
		host_ring(&h, 1);
		while (expect != cid) {
			CU_ASSERT_FATAL(host_wait(&h, 1, &cqe));
			CU_ASSERT_EQUAL(cqe.cid, expect);
			CU_ASSERT_EQUAL(cqe.sq_id, 1);
			CU_ASSERT(cqe.sq_head < 5);
			expect++;
		}
		/* All are complete, so all have been fetched. */
		CU_ASSERT_EQUAL(cqe.sq_head, h.q[1].tail);
	}
	host_close(&h);
}

static void wrapping(void)
{
	wrap("mem:1M");
	wrap("mem:1M?serve=thread");
	wrap("mem:1M?serve=busy");
}

/* Look at a completion queue without taking anything from it. */
static unsigned int count_new(struct host *h, uint16_t qid)
{
	struct host_queue *q = &h->q[qid];
	uint16_t phase = q->phase;
	unsigned int n = 0;

	for (uint32_t i = q->head; n < q->depth; n++) {
		/* Acquire: as a host that reads the entry. */
		if ((annex_atomic_load((uint32_t *)(uintptr_t)&q->cq[i].cid, ANNEX_ACQUIRE) >> 16 &
		     1) != phase)
			break;
		if (++i == q->depth) {
			i = 0;
			phase ^= 1;
		}
	}
	return n;
}

/* Put @n commands, the first with identifier @cid. */
static void put_some(struct host *h, uint16_t cid, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		struct annex_sqe sqe = flush;

		sqe.cid = (uint16_t)(cid + i);
		host_put(h, 1, &sqe);
	}
	host_ring(h, 1);
}

static void full_completion_queue(void)
{
	struct annex_cqe cqe;
	struct host h;

	host_open(&h, "mem:1M");
	CU_ASSERT_EQUAL(host_create(&h, 1, 4), 0);
	put_some(&h, 0, 3);
	CU_ASSERT_EQUAL(count_new(&h, 1), 3);
	/* No room for their completions before the first ones are taken. */
	put_some(&h, 3, 3);
	CU_ASSERT_EQUAL(count_new(&h, 1), 3);
	for (uint16_t i = 0; i < 6; i++) {
		CU_ASSERT_FATAL(host_poll(&h, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.cid, i);
		/* No doorbell call announces a head: the next pass finds it. */
		h.ctrl->ops->assist(h.ctrl, 1);
		CU_ASSERT(count_new(&h, 1) <= 3);
	}
	CU_ASSERT_FALSE(host_poll(&h, 1, &cqe));
	host_close(&h);
}

/* The service thread finds a moved head by itself. */
static void full_queue_on(const char *uri)
{
	struct annex_cqe cqe;
	struct host h;

	host_open(&h, uri);
	CU_ASSERT_EQUAL(host_create(&h, 1, 4), 0);
	put_some(&h, 0, 3);
	while (count_new(&h, 1) < 3)
		sched_yield();
	put_some(&h, 3, 3);
	for (uint16_t i = 0; i < 6; i++) {
		CU_ASSERT_FATAL(host_wait(&h, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.cid, i);
	}
	host_close(&h);
}

static void full_queue_thread(void)
{
	full_queue_on("mem:1M?serve=thread");
	full_queue_on("mem:1M?serve=busy");
}

/* A doorbell value outside the queue is ignored, and the next good one is not. */
static void bad_tail(void)
{
	struct annex_sqe sqe = flush;
	struct annex_cqe cqe;
	struct host h;

	host_ready(&h, "mem:1M");
	sqe.cid = 3;
	host_put(&h, 1, &sqe);
	annex_mmio_write32(h.ctrl->ops->doorbell(h.ctrl, 1, 0), UINT32_MAX);
	h.ctrl->ops->rung(h.ctrl, 1);
	CU_ASSERT_FALSE(host_poll(&h, 1, &cqe));
	host_ring(&h, 1);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 3);
	h.ctrl->ops->rung(h.ctrl, 64);  /* no such queue now */
	h.ctrl->ops->rung(h.ctrl, 999); /* or ever */
	host_close(&h);
}

static void deepest(void)
{
	struct annex_sqe sqe = flush;
	struct annex_cqe cqe;
	struct host h;

	host_open(&h, "mem:1M");
	CU_ASSERT_EQUAL(host_create(&h, 1, 65536), 0);
	for (uint32_t i = 0; i < 65535; i++) {
		sqe.cid = (uint16_t)i;
		host_put(&h, 1, &sqe);
	}
	host_ring(&h, 1);
	for (uint32_t i = 0; i < 65535; i++)
		if (!host_poll(&h, 1, &cqe) && !host_wait(&h, 1, &cqe))
			break;
	CU_ASSERT_EQUAL(cqe.cid, 65534);
	CU_ASSERT_EQUAL(cqe.sq_head, 65535);
	host_close(&h);
}

UNIT_SUITE(emu_queue, {"wrapping", wrapping}, {"full completion queue", full_completion_queue},
	   {"full completion queue, service thread", full_queue_thread}, {"bad tail", bad_tail},
	   {"65536 entries", deepest})

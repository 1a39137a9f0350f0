// SPDX-License-Identifier: MIT
/*
 * The emulated controller as a whole: Identify, queue pairs, mapped memory; phases and heads of
 * queues, and full completion queues.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <annex/log.h>
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

static int identify(struct host *h, uint32_t cns, uint32_t nsid, void *data)
{
	return h->ctrl->ops->identify(h->ctrl, cns, nsid, data);
}

static void identifying(void)
{
	struct annex_id_ctrl id;
	struct annex_id_ns ns;
	struct host h;

	host_open(&h, "mem:1M?namespaces=3&block=4096");
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_CTRL, 0, &id), 0);
	CU_ASSERT_EQUAL(id.mdts, 8);
	CU_ASSERT_EQUAL(id.nn, 3);
	CU_ASSERT_EQUAL(id.sqes, 0x66);
	CU_ASSERT_EQUAL(id.cqes, 0x44);
	CU_ASSERT_EQUAL(id.sgls & 3, 1);
	CU_ASSERT_EQUAL(id.vwc & 1, 0);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, 3, &ns), 0);
	CU_ASSERT_EQUAL(ns.nsze, 256);
	CU_ASSERT_EQUAL(annex_id_format(&ns)->lbads, 12);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, ANNEX_NSID_ALL, &ns), -ENXIO);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, 0, &ns), -ENXIO);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, 4, &ns), -ENXIO);
	CU_ASSERT_EQUAL(identify(&h, 0x55, 1, &ns), -EINVAL);
	host_close(&h);
}

static void bad_queues(void)
{
	const struct annex_ctrl_ops *ops;
	uint64_t p, q, end;
	struct host h;

	host_ready(&h, "mem:1M");
	ops = h.ctrl->ops;
	p = host_addr(host_alloc(&h, 64 << 10));
	q = host_addr(host_alloc(&h, 64 << 10));
	end = host_addr(h.mem + HOST_MEM);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 0, 16, p, q), -EINVAL);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 1, 16, p, q), -EEXIST);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, (uint16_t)(h.ctrl->queues + 1), 16, p, q), -EINVAL);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 1, p, q), -EINVAL);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, h.ctrl->depth + 1, p, q), -EINVAL);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 16, p + 64, q), -EINVAL);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 16, p, q + 16), -EINVAL);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 16, end, q), -EFAULT);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 16, p, end), -EFAULT);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 65, end - 4096, q), -EFAULT);
	CU_ASSERT_EQUAL(ops->create(h.ctrl, 2, 257, p, end - 4096), -EFAULT);
	CU_ASSERT_EQUAL(ops->destroy(h.ctrl, 0), -EINVAL);
	CU_ASSERT_EQUAL(ops->destroy(h.ctrl, 2), -ENOENT);
	CU_ASSERT_EQUAL(ops->destroy(h.ctrl, 900), -EINVAL);
	CU_ASSERT_PTR_NULL(ops->doorbell(h.ctrl, 0, 0));
	CU_ASSERT_PTR_NULL(ops->doorbell(h.ctrl, 65, 0));
	host_close(&h);
}

static const struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};

/* Queue pairs that are gone fetch nothing, and can be made again. */
static void forget_on(const char *uri)
{
	struct annex_cqe cqe;
	struct host h;

	host_ready(&h, uri);
	for (unsigned int reset = 0; reset < 2; reset++) {
		CU_ASSERT_EQUAL(reset ? h.ctrl->ops->reset(h.ctrl) : host_destroy(&h, 1), 0);
		CU_ASSERT_EQUAL(host_destroy(&h, 1), -ENOENT);
		host_submit(&h, 1, &flush);
		CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 5));
		CU_ASSERT_EQUAL(host_create(&h, 1, 8), 0);
		CU_ASSERT_EQUAL(host_do(&h, 1, &flush, NULL), 0);
	}
	host_close(&h);
}

static void forgetting(void)
{
	forget_on("mem:1M");
	forget_on("mem:1M?serve=thread");
	forget_on("mem:1M?serve=busy");
}

static void aborting_nothing(void)
{
	bool aborted = true;
	struct host h;

	host_ready(&h, "mem:1M");
	CU_ASSERT_EQUAL(h.ctrl->ops->abort(h.ctrl, 1, 1234, &aborted), 0);
	CU_ASSERT_FALSE(aborted);
	CU_ASSERT_EQUAL(h.ctrl->ops->abort(h.ctrl, 999, 1, &aborted), 0);
	CU_ASSERT_FALSE(aborted);
	host_close(&h);
}

/* A head that no entry was posted for is ignored, and told of once. */
static void bad_head(void)
{
	struct host h;

	host_ready(&h, "mem:1M");
	unit_log_begin(UNIT_LOG(WARNING), "completion queue 1");
	annex_mmio_write32(h.ctrl->ops->doorbell(h.ctrl, 1, 1), 40);
	CU_ASSERT_EQUAL(host_do(&h, 1, &flush, NULL), 0);
	annex_mmio_write32(h.ctrl->ops->doorbell(h.ctrl, 1, 1), 40);
	CU_ASSERT_EQUAL(host_do(&h, 1, &flush, NULL), 0);
	CU_ASSERT_EQUAL(unit_log_end(), 1);
	host_close(&h);
}

static void mapping(void)
{
	const struct annex_ctrl_ops *ops;
	uint64_t addr = 0, a = 0;
	struct host h;
	char *p;

	host_ready(&h, "mem:1M");
	ops = h.ctrl->ops;
	p = mmap(NULL, 16 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(p != MAP_FAILED);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p + 1, 4096, &addr), -EINVAL);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 100, &addr), -EINVAL);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 0, &addr), -EINVAL);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p + 4096, 8192, &addr), 0);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 8192, &a), -EEXIST);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p + 8192, 8192, &a), -EEXIST);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 4096, &a), 0);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr, 4096), -ENOENT);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr + 4096, 4096), -ENOENT);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr, 8192), 0);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr, 8192), -ENOENT);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, a, 4096), 0);
	munmap(p, 16 << 10);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 16 << 10, &a), -EFAULT);
	/* Queue memory stays as long as there are queues. */
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, host_addr(h.mem), HOST_MEM), -EBUSY);
	CU_ASSERT_EQUAL(ops->reset(h.ctrl), 0);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, host_addr(h.mem), HOST_MEM), 0);
	host_close(&h);
}

static void bad_uris(void)
{
	CU_ASSERT_EQUAL(host_try("mem:1M"), 0);
	CU_ASSERT_EQUAL(host_try("mem:1M?block=4096&namespaces=16&serve=thread"), 0);
	CU_ASSERT_EQUAL(host_try("mem:"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:0"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1000"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:many"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?block=1536"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?block=32K"), -ERANGE);
	CU_ASSERT_EQUAL(host_try("mem:1M?namespaces=0"), -ERANGE);
	CU_ASSERT_EQUAL(host_try("mem:1M?namespaces=17"), -ERANGE);
	CU_ASSERT_EQUAL(host_try("mem:1M?colour=red"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?serve=nobody"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?fault=gremlin"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:8388607T"), -ENOMEM);
	CU_ASSERT(strstr(annex_last_error(), "memory") != NULL);
}

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

UNIT_SUITE(emu_ctrl, {"identify", identifying}, {"bad queue pairs", bad_queues},
	   {"queue pairs that are forgotten", forgetting}, {"abort of nothing", aborting_nothing},
	   {"bad head", bad_head}, {"mapping", mapping}, {"bad URIs", bad_uris},
	   {"wrapping", wrapping}, {"full completion queue", full_completion_queue},
	   {"full completion queue, service thread", full_queue_thread}, {"bad tail", bad_tail},
	   {"65536 entries", deepest})

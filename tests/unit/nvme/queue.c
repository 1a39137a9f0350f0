// SPDX-License-Identifier: MIT
/*
 * The queue protocol against a controller that the test plays itself, entry by entry.
 */
#include <pthread.h>
#include <string.h>
#include <annex/provider.h>
#include "nvme/dev.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* A device with no controller behind it: maps anything, counts how often the doorbell rang. */
struct bench {
	struct annex_ctrl ctrl;
	struct annex_dev dev;
	struct nvme_queue q;
	struct annex_qp *qp;
	uint32_t sq_doorbell, cq_doorbell;
	unsigned int rung;
	/* the controller's own side */
	uint32_t sq_head, cq_tail, phase;
};

static int bench_map(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr)
{
	(void)ctrl;
	(void)len;
	*addr = (uint64_t)(uintptr_t)ptr;
	return 0;
}

static int bench_unmap(struct annex_ctrl *ctrl, uint64_t addr, size_t len)
{
	(void)ctrl;
	(void)addr;
	(void)len;
	return 0;
}

static int bench_create(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq,
			uint64_t cq)
{
	(void)ctrl;
	(void)qid;
	(void)depth;
	(void)sq;
	(void)cq;
	return 0;
}

static void bench_rung(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct bench *b = (struct bench *)ctrl;

	CU_ASSERT_EQUAL(qid, 1);
	annex_atomic_add(&b->rung, 1, ANNEX_RELAXED);
}

static const struct annex_ctrl_ops bench_ops = {
	.create = bench_create,
	.map = bench_map,
	.unmap = bench_unmap,
	.rung = bench_rung,
};

static void setup(struct bench *b, uint32_t depth)
{
	memset(b, 0, sizeof(*b));
	b->ctrl.ops = &bench_ops;
	b->dev.ctrl = &b->ctrl;
	b->dev.uri = (char *)"test:";
	b->dev.opts.provider = annex_provider_pages();
	b->dev.opts.timeout_ms = 5000;
	b->dev.max_transfer = 1 << 20;
	b->dev.sgl = true;
	CU_ASSERT_FATAL(!nvme_queue_create(&b->dev, &b->q, 1, depth, 2048));
	b->qp = b->q.qp;
	b->qp->sq_doorbell.reg = &b->sq_doorbell;
	b->qp->cq_doorbell.reg = &b->cq_doorbell;
	CU_ASSERT_EQUAL(nvme_queue_start(&b->dev, &b->q), 0);
	b->phase = 1;
}

static void teardown(struct bench *b)
{
	nvme_queue_destroy(&b->dev, &b->q);
}

/* Fetch the next command, or return false when the doorbell says there is none. */
static bool fetch(struct bench *b, struct annex_sqe *sqe)
{
	if (annex_atomic_load(&b->sq_doorbell, ANNEX_ACQUIRE) == b->sq_head)
		return false;
	*sqe = b->qp->sq[b->sq_head];
	memset(&b->qp->sq[b->sq_head], 0xee, sizeof(*sqe)); /* it must not be needed any more */
	b->sq_head = (b->sq_head + 1) % b->qp->depth;
	return true;
}

static void post_raw(struct bench *b, uint16_t cid, uint16_t status, uint32_t dw0, uint32_t sq_head)
{
	struct annex_cqe *e = &b->qp->cq[b->cq_tail];

	e->dw0 = dw0;
	e->sq_head = (uint16_t)sq_head;
	annex_atomic_store((uint32_t *)(void *)&e->cid,
			   cid | (uint32_t)(status << 1 | b->phase) << 16, ANNEX_RELEASE);
	if (++b->cq_tail == b->qp->depth) {
		b->cq_tail = 0;
		b->phase ^= 1;
	}
}

static void post(struct bench *b, uint16_t cid, uint16_t status, uint32_t dw0)
{
	post_raw(b, cid, status, dw0, b->sq_head);
}

static struct annex_io read_io(uint64_t slba)
{
	struct annex_io io = {
		.opcode = ANNEX_NVM_READ,
		.nsid = 1,
		.slba = slba,
		.nlb = 8,
		.bytes = 4096,
		.addr = 0x10000,
	};

	return io;
}

static void one_command(void)
{
	struct annex_io io = read_io(0x123456789a);
	struct annex_result res;
	struct annex_sqe sqe;
	struct bench b;
	uint64_t token;

	setup(&b, 8);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	CU_ASSERT_EQUAL(b.sq_doorbell, 1);
	CU_ASSERT_EQUAL(b.rung, 1);
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), -EINPROGRESS);
	CU_ASSERT_FATAL(fetch(&b, &sqe));
	CU_ASSERT_EQUAL(sqe.opcode, ANNEX_NVM_READ);
	CU_ASSERT_EQUAL(sqe.flags, 0);
	CU_ASSERT_EQUAL(sqe.nsid, 1);
	CU_ASSERT_EQUAL(sqe.cdw10, 0x3456789a);
	CU_ASSERT_EQUAL(sqe.cdw11, 0x12);
	CU_ASSERT_EQUAL(sqe.cdw12, 7);
	CU_ASSERT_EQUAL(sqe.dptr[0], 0x10000);
	CU_ASSERT_EQUAL(sqe.dptr[1], 0);
	post(&b, sqe.cid, ANNEX_SC_LBA_RANGE | ANNEX_SC_DNR, 77);
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), 0);
	CU_ASSERT_EQUAL(res.status, ANNEX_SC_LBA_RANGE | ANNEX_SC_DNR);
	CU_ASSERT_EQUAL(annex_nvme_errno(res.status), -ERANGE);
	CU_ASSERT_EQUAL(res.dw0, 77);
	CU_ASSERT_EQUAL(b.cq_doorbell, 1);
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), -EINVAL); /* used up */
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, 0xffffff, &res), -EINVAL);
	teardown(&b);
}

/* Fill the queue, complete everything in random order, again and again: every depth wraps. */
static void wrap_around(void)
{
	static const uint32_t depths[] = {2, 3, 5, 64, 1000};
	uint64_t seed = random_seed("wrap");

	for (unsigned int d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
		uint32_t n = depths[d] - 1;
		struct annex_io ios[1000];
		uint64_t tokens[1000];
		uint16_t cids[1000];
		struct annex_sqe sqe;
		struct bench b;

		setup(&b, depths[d]);
		for (unsigned int round = 0; round < 7; round++) {
			for (uint32_t i = 0; i < n; i++)
				ios[i] = read_io(round * 10000 + i);
			CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, n, tokens, 0), (int)n);
			CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 1, tokens, 0), -EAGAIN);
			for (uint32_t i = 0; i < n; i++) {
				CU_ASSERT_FATAL(fetch(&b, &sqe));
				CU_ASSERT_EQUAL(sqe.cdw10, round * 10000 + i);
				cids[i] = sqe.cid;
			}
			CU_ASSERT_FALSE(fetch(&b, &sqe));
			for (uint32_t i = n; i-- > 0;) {
				uint32_t k = (uint32_t)(random_next(&seed) % (i + 1));
				uint16_t cid = cids[k];

				cids[k] = cids[i];
				post(&b, cid, 0, cid + 5u);
			}
			for (uint32_t i = 0; i < n; i++) {
				struct annex_result res = {0};

				CU_ASSERT_EQUAL(annex_qp_poll(b.qp, tokens[i], &res), 0);
				CU_ASSERT_EQUAL(res.dw0, (tokens[i] & 0xffff) + 5);
			}
			CU_ASSERT_EQUAL(b.cq_doorbell, b.cq_tail);
		}
		CU_ASSERT_EQUAL(b.qp->spurious, 0);
		teardown(&b);
	}
}

static void one_doorbell_a_batch(void)
{
	struct annex_io ios[80];
	uint64_t tokens[80];
	struct bench b;

	setup(&b, 128);
	for (unsigned int i = 0; i < 80; i++)
		ios[i] = read_io(i);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 32, tokens, 0), 32);
	CU_ASSERT_EQUAL(b.rung, 1);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 80, tokens, 0), 80);
	CU_ASSERT_EQUAL(b.rung, 4);
	CU_ASSERT_EQUAL(b.sq_doorbell, 112);
	/* 15 identifiers are left: a larger batch is cut, not refused */
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 80, tokens, 0), 15);
	CU_ASSERT_EQUAL(b.sq_doorbell, 127);
	teardown(&b);
}

static void give_up(void)
{
	struct annex_io io = read_io(1);
	struct annex_sqe lost, sqe;
	struct annex_result res;
	uint64_t token, next;
	struct bench b;

	setup(&b, 3);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	CU_ASSERT_EQUAL(annex_qp_wait(b.qp, token, &res, annex_now() + 1000000), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), -EINPROGRESS); /* still valid */
	annex_qp_abandon(b.qp, token);
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), -EINVAL);
	CU_ASSERT_FATAL(fetch(&b, &lost));
	/* the other identifier serves many turns, and the abandoned one is not reused */
	for (unsigned int i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &next, 0), 1);
		CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), -EAGAIN);
		CU_ASSERT_FATAL(fetch(&b, &sqe));
		CU_ASSERT_NOT_EQUAL(sqe.cid, lost.cid);
		post(&b, sqe.cid, 0, 0);
		CU_ASSERT_EQUAL(annex_qp_poll(b.qp, next, &res), 0);
	}
	post(&b, lost.cid, 0, 0); /* the late completion frees it */
	annex_qp_process(b.qp);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, (struct annex_io[]){io, io}, 2, (uint64_t[2]){0}, 0),
			2);
	CU_ASSERT_EQUAL(b.qp->spurious, 0);
	teardown(&b);
}

static void hostile_completions(void)
{
	struct annex_io io = read_io(1);
	struct annex_result res;
	struct annex_sqe sqe;
	uint64_t token;
	struct bench b;

	setup(&b, 8);
	post(&b, 3, 0, 0);      /* never submitted */
	post(&b, 7, 0, 0);      /* one above the last identifier */
	post(&b, 0xffff, 0, 0); /* far outside */
	CU_ASSERT_EQUAL(annex_qp_process(b.qp), 3);
	CU_ASSERT_EQUAL(b.qp->spurious, 3);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	CU_ASSERT_FATAL(fetch(&b, &sqe));
	post(&b, sqe.cid, 0, 1);
	post(&b, sqe.cid, 0, 2); /* the same command twice */
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), 0);
	CU_ASSERT_EQUAL(res.dw0, 1);
	CU_ASSERT_EQUAL(b.qp->spurious, 4);
	/* a head beyond the tail: the queue refuses to go on */
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	CU_ASSERT_FATAL(fetch(&b, &sqe));
	post_raw(&b, sqe.cid, 0, 0, 5);
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), 0);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), -EIO);
	teardown(&b);
	setup(&b, 8);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	post_raw(&b, (uint16_t)token, 0, 0, 8); /* no such entry */
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, token, &res), 0);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), -EIO);
	teardown(&b);
}

/* Reset: every outstanding command ends once, waiting submitters go on afterwards. */
static void sweep(void)
{
	struct annex_io ios[5] = {read_io(0), read_io(1), read_io(2), read_io(3), read_io(4)};
	uint64_t tokens[5], again[7];
	struct annex_result res;
	struct bench b;

	setup(&b, 8);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 5, tokens, 0), 5);
	annex_qp_abandon(b.qp, tokens[4]);
	nvme_queue_close(b.qp, ANNEX_QP_RESET);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 1, again, 0), -EAGAIN);
	nvme_queue_sweep(b.qp);
	CU_ASSERT_EQUAL(nvme_queue_start(&b.dev, &b.q), 0);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(annex_qp_poll(b.qp, tokens[i], &res), 0);
		CU_ASSERT_EQUAL(res.status, ANNEX_SC_ABORTED_BY_HOST);
	}
	CU_ASSERT_EQUAL(annex_qp_poll(b.qp, tokens[4], &res), -EINVAL);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp,
					(struct annex_io[7]){ios[0], ios[0], ios[0], ios[0], ios[0],
							     ios[0], ios[0]},
					7, again, 0),
			7);
	nvme_queue_close(b.qp, ANNEX_QP_DEAD);
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, ios, 1, tokens, annex_deadline_ms(1000)), -ENODEV);
	teardown(&b);
}

/* Data pointers. The list memory of identifier 0 is at the start of qp->lists. */
static const struct annex_io_limits straight;

static void prp_lists(void)
{
	struct annex_seg segs[] = {{0x5200, 0xe00}, {0x9000, 0x2000}, {0xd000, 0x200}};
	struct annex_io io = read_io(0);
	struct annex_sqe sqe;
	uint64_t list[256];

	io.addr = 0x10ffc;
	io.bytes = 4096;
	memset(list, 0xee, sizeof(list)); /* what an earlier command left */
	annex_io_build(&sqe, &io, &straight, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.dptr[0], 0x10ffc);
	CU_ASSERT_EQUAL(sqe.dptr[1], 0x11000);
	io.bytes = 3 * 4096;
	annex_io_build(&sqe, &io, &straight, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.dptr[1], 0x777000);
	CU_ASSERT_EQUAL(list[0], 0x11000);
	CU_ASSERT_EQUAL(list[2], 0x13000);
	CU_ASSERT_EQUAL(list[3], 0);
	io.bytes = 0xe00 + 0x2000 + 0x200;
	io.segs = segs;
	io.nsegs = 3;
	annex_io_build(&sqe, &io, &straight, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.flags, 0);
	CU_ASSERT_EQUAL(sqe.dptr[0], 0x5200);
	CU_ASSERT_EQUAL(list[0], 0x9000);
	CU_ASSERT_EQUAL(list[1], 0xa000);
	CU_ASSERT_EQUAL(list[2], 0xd000);
}

static void sgl_lists(void)
{
	struct annex_seg segs[] = {{0x5001, 0x100}, {0x9003, 0x300}};
	struct annex_io io = read_io(0);
	struct annex_sgl list[16];
	struct annex_sqe sqe;

	io.addr = 0x10001;
	annex_io_build(&sqe, &io, &straight, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.flags, ANNEX_SQE_PSDT_SGL);
	CU_ASSERT_EQUAL(sqe.dptr[0], 0x10001);
	CU_ASSERT_EQUAL(sqe.dptr[1], 4096);
	io.bytes = 0x400;
	io.segs = segs;
	io.nsegs = 2;
	annex_io_build(&sqe, &io, &straight, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.dptr[0], 0x777000);
	CU_ASSERT_EQUAL(sqe.dptr[1], 32 | 0x30ull << 56);
	CU_ASSERT_EQUAL(list[1].addr, 0x9003);
	CU_ASSERT_EQUAL(list[1].len, 0x300);
	CU_ASSERT_EQUAL(list[1].type, 0);
}

/* The controller inserts and strips protection information of namespace 1, and of no other. */
static void protected(void)
{
	struct annex_io_limits limits = {
		.max_transfer = 128 << 10, .list_bytes = 256, .protect = 1};
	struct annex_io io = read_io(0x1234567890);
	struct annex_sqe sqe;
	uint64_t list[32];

	annex_io_build(&sqe, &io, &limits, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.cdw12, 0x30000000 | (io.nlb - 1));
	CU_ASSERT_EQUAL(sqe.cdw14, 0x34567890);
	io.opcode = ANNEX_NVM_WRITE;
	io.flags = ANNEX_IO_FUA;
	annex_io_build(&sqe, &io, &limits, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.cdw12, 0x60000000 | (io.nlb - 1));
	CU_ASSERT_EQUAL(sqe.cdw14, 0x34567890);
	io.opcode = ANNEX_NVM_COMPARE;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EOPNOTSUPP);
	io.nsid = 2;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), 0);
	io = (struct annex_io){.opcode = ANNEX_NVM_WRITE_ZEROES, .nsid = 1, .slba = 7, .nlb = 2};
	annex_io_build(&sqe, &io, &limits, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.cdw12, 0x20000001);
	CU_ASSERT_EQUAL(sqe.cdw14, 7);
	io = (struct annex_io){.opcode = ANNEX_NVM_DSM, .nsid = 1, .nlb = 2, .bytes = 32};
	annex_io_build(&sqe, &io, &limits, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.cdw12 | sqe.cdw14, 0);
	io = (struct annex_io){.opcode = ANNEX_NVM_FLUSH, .nsid = 1, .slba = 7};
	annex_io_build(&sqe, &io, &limits, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.cdw12 | sqe.cdw14, 0);
	io = read_io(7);
	io.nsid = 2;
	annex_io_build(&sqe, &io, &limits, 0, list, 0x777000);
	CU_ASSERT_EQUAL(sqe.cdw12, io.nlb - 1);
	CU_ASSERT_EQUAL(sqe.cdw14, 0);
}

static void malformed(void)
{
	struct annex_io_limits limits = {.list_bytes = 256, .max_transfer = 128 << 10};
	struct annex_seg segs[2] = {{0x1000, 0x1000}, {0x5000, 0x1000}};
	struct annex_io io = read_io(0);

	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), 0);
	io.addr = 0x10001; /* not for PRPs, and there are no SGLs */
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io = read_io(0);
	io.nlb = 0;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io = read_io(0);
	io.bytes = 8 * 1536; /* 8 blocks of no size that exists */
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io.addr = UINT64_MAX - 4095; /* ends where addresses do */
	io.bytes = 4096;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io = read_io(0);
	io.bytes = 8 * 256;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io.nlb = 2;
	io.bytes = 2 * 32768;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io.bytes = 2 * 16384;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), 0);
	io = read_io(0);
	io.nlb = 512;
	io.bytes = 256 << 10;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -E2BIG);
	io.nlb = 16;
	io.bytes = 0x2000;
	io.segs = segs;
	io.nsegs = 2;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), 0);
	segs[0].len = 0xe00; /* ends inside a page, and the sum is wrong */
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	io.nlb = 15;
	io.bytes = 0x1e00;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	limits.sgl = true;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), 0);
	io = read_io(0);
	io.opcode = ANNEX_NVM_FLUSH; /* carries no data */
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -EINVAL);
	limits = (struct annex_io_limits){.list_bytes = 256, .max_transfer = 2 << 20};
	io = read_io(0);
	io.addr = 0x10ffc; /* 32 pages and a bit: one list entry too many */
	io.nlb = 32 * 8;
	io.bytes = 32 * 4096;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), -E2BIG);
	io.addr = 0x10000;
	CU_ASSERT_EQUAL(annex_io_check(&io, &limits), 0);
}

/* A thread that has waited long for an identifier gets the next one, before new threads. */
struct patient {
	struct bench *b;
	uint64_t token;
	int got;
};

static void *wait_long(void *arg)
{
	struct patient *p = arg;
	struct annex_io io = read_io(77);

	p->got = annex_qp_submit(p->b->qp, &io, 1, &p->token, annex_deadline_ms(20000));
	return NULL;
}

static void long_wait(void)
{
	struct annex_io io = read_io(1);
	struct annex_result res;
	struct patient p = {0};
	struct annex_sqe sqe;
	pthread_t thread;
	struct bench b;
	uint64_t token;

	setup(&b, 2); /* one identifier */
	p.b = &b;
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, wait_long, &p));
	while (!annex_atomic_load(&b.qp->starving, ANNEX_RELAXED))
		annex_qp_backoff(20);
	CU_ASSERT_FATAL(fetch(&b, &sqe));
	post(&b, sqe.cid, 0, 0);
	CU_ASSERT_EQUAL(annex_qp_wait(b.qp, token, &res, annex_deadline_ms(20000)), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(p.got, 1);
	CU_ASSERT_EQUAL(b.qp->starving, 0);
	CU_ASSERT_FATAL(fetch(&b, &sqe));
	CU_ASSERT_EQUAL(sqe.cdw10, 77);
	post(&b, sqe.cid, 0, 0);
	CU_ASSERT_EQUAL(annex_qp_wait(b.qp, p.token, &res, annex_deadline_ms(20000)), 0);
	/* while a starving thread waits, new threads get no free identifier */
	b.qp->starving = 1;
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), -EAGAIN);
	b.qp->starving = 0;
	CU_ASSERT_EQUAL(annex_qp_submit(b.qp, &io, 1, &token, 0), 1);
	teardown(&b);
}

/*
 * Many submitters, a controller that completes in random order, and submitters that give up now
 * and then: every command is fetched once, and each token gets its own result.
 */
#define SUBMITTERS 6
#define COMMANDS 3000

struct crowd {
	struct bench b;
	uint64_t seed;
	unsigned char fetched[SUBMITTERS * COMMANDS];
	uint32_t finished, wrong;
	uint32_t abandoned;
};

struct member {
	struct crowd *crowd;
	unsigned int id;
	pthread_t thread;
};

static void *submitter(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	uint64_t rng = c->seed + m->id;

	for (unsigned int i = 0; i < COMMANDS;) {
		unsigned int n = 1 + (unsigned int)(random_next(&rng) % 5);
		struct annex_io ios[5];
		uint64_t tokens[5];
		int got;

		if (n > COMMANDS - i)
			n = COMMANDS - i;
		for (unsigned int k = 0; k < n; k++)
			ios[k] = read_io(m->id * COMMANDS + i + k);
		got = annex_qp_submit(c->b.qp, ios, n, tokens, annex_deadline_ms(20000));
		if (got < 1) {
			annex_atomic_add(&c->wrong, 1, ANNEX_RELAXED);
			break;
		}
		for (int k = 0; k < got; k++) {
			struct annex_result res = {0};

			if (random_next(&rng) % 16 == 0) {
				annex_qp_abandon(c->b.qp, tokens[k]);
				annex_atomic_add(&c->abandoned, 1, ANNEX_RELAXED);
			} else if (annex_qp_wait(c->b.qp, tokens[k], &res,
						 annex_deadline_ms(20000)) ||
				   res.dw0 != ios[k].slba) {
				annex_atomic_add(&c->wrong, 1, ANNEX_RELAXED);
			}
		}
		i += (unsigned int)got;
	}
	annex_atomic_add(&c->finished, 1, ANNEX_RELEASE);
	return NULL;
}

static bool cq_full(struct bench *b)
{
	return (b->cq_tail + 1) % b->qp->depth == annex_atomic_load(&b->cq_doorbell, ANNEX_ACQUIRE);
}

/* Play the controller until all submitters are through and everything is completed. */
static void control(struct crowd *c)
{
	struct annex_sqe held[1024];
	uint64_t rng = c->seed + SUBMITTERS;
	unsigned int n = 0;

	for (;;) {
		bool over = annex_atomic_load(&c->finished, ANNEX_ACQUIRE) == SUBMITTERS;
		struct annex_sqe sqe;

		while (fetch(&c->b, &sqe)) {
			if (sqe.cdw10 >= SUBMITTERS * COMMANDS || c->fetched[sqe.cdw10]++)
				annex_atomic_add(&c->wrong, 1, ANNEX_RELAXED);
			held[n++] = sqe;
		}
		while (n && !cq_full(&c->b) && (over || random_next(&rng) % 8)) {
			unsigned int k = (unsigned int)(random_next(&rng) % n);

			post(&c->b, held[k].cid, 0, held[k].cdw10);
			held[k] = held[--n];
		}
		if (over && !n)
			break;
		if (over)
			annex_qp_process(c->b.qp); /* the other threads have ended */
		else
			annex_qp_backoff(20);
	}
	annex_qp_process(c->b.qp);
}

static void crowd(void)
{
	static const uint32_t depths[] = {2, 3, 7, 64};
	static struct crowd c;
	struct member members[SUBMITTERS];

	for (unsigned int d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
		memset(&c, 0, sizeof(c));
		setup(&c.b, depths[d]);
		c.seed = random_seed("crowd");
		for (unsigned int i = 0; i < SUBMITTERS; i++) {
			members[i] = (struct member){.crowd = &c, .id = i};
			CU_ASSERT_FATAL(
				!pthread_create(&members[i].thread, NULL, submitter, &members[i]));
		}
		control(&c);
		for (unsigned int i = 0; i < SUBMITTERS; i++)
			pthread_join(members[i].thread, NULL);
		CU_ASSERT_EQUAL(c.wrong, 0);
		CU_ASSERT_EQUAL(c.b.qp->spurious, 0);
		for (unsigned int i = 0; i < SUBMITTERS * COMMANDS; i++)
			if (c.fetched[i] != 1)
				c.wrong++;
		CU_ASSERT_EQUAL(c.wrong, 0);
		/* threads that gave up lost no identifier */
		for (uint32_t i = 0; i < depths[d] - 1; i++)
			CU_ASSERT_EQUAL(c.b.qp->reqs[i].state & 7, ANNEX_REQ_FREE);
		teardown(&c.b);
	}
}

UNIT_SUITE(queue, {"one command", one_command}, {"turns wrap at every depth", wrap_around},
	   {"one doorbell a batch", one_doorbell_a_batch}, {"a waiter gives up", give_up},
	   {"hostile completions", hostile_completions}, {"a reset ends every command", sweep},
	   {"PRP lists", prp_lists}, {"SGL lists", sgl_lists},
	   {"protection information", protected}, {"malformed commands", malformed},
	   {"a long wait comes first", long_wait}, {"many submitters", crowd})

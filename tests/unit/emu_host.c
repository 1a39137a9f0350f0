// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "emu_host.h"
#include "unit.h"

static int open_emu(const struct annex_uri *uri, struct annex_ctrl **out)
{
	if (!strcmp(uri->scheme, "unix"))
		return annex_emu_open_unix(uri, out);
	return strcmp(uri->scheme, "mem") ? annex_emu_open_file(uri, out)
					  : annex_emu_open_mem(uri, out);
}

int host_try(const char *uri)
{
	struct annex_uri parsed;
	struct annex_ctrl *ctrl;
	int err = annex_uri_parse(uri, &parsed);

	if (!err)
		err = open_emu(&parsed, &ctrl);
	if (!err)
		ctrl->ops->close(ctrl);
	return err;
}

void host_open(struct host *h, const char *uri)
{
	struct annex_uri parsed;
	uint64_t addr = 0;

	memset(h, 0, sizeof(*h));
	CU_ASSERT_EQUAL_FATAL(annex_uri_parse(uri, &parsed), 0);
	CU_ASSERT_EQUAL_FATAL(open_emu(&parsed, &h->ctrl), 0);
	h->mem = mmap(NULL, HOST_MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(h->mem != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(h->ctrl->ops->map(h->ctrl, h->mem, HOST_MEM, &addr), 0);
	CU_ASSERT_EQUAL_FATAL(addr, host_addr(h->mem));
}

void host_close(struct host *h)
{
	h->ctrl->ops->close(h->ctrl);
	munmap(h->mem, HOST_MEM);
}

void *host_alloc(struct host *h, size_t len)
{
	char *p = h->mem + h->used;

	len = (len + ANNEX_NVME_PAGE - 1) / ANNEX_NVME_PAGE * ANNEX_NVME_PAGE;
	CU_ASSERT_FATAL(h->used + len <= HOST_MEM);
	h->used += len;
	memset(p, 0, len);
	return p;
}

uint64_t host_addr(const void *p)
{
	return (uintptr_t)p;
}

int host_create(struct host *h, uint16_t qid, uint32_t depth)
{
	struct host_queue *q = &h->q[qid];

	*q = (struct host_queue){.qid = qid, .depth = depth, .phase = 1};
	q->sq = host_alloc(h, depth * sizeof(*q->sq));
	q->cq = host_alloc(h, depth * sizeof(*q->cq));
	return h->ctrl->ops->create(h->ctrl, qid, depth, host_addr(q->sq), (uintptr_t)q->cq);
}

int host_destroy(struct host *h, uint16_t qid)
{
	return h->ctrl->ops->destroy(h->ctrl, qid);
}

void host_ready(struct host *h, const char *uri)
{
	host_open(h, uri);
	CU_ASSERT_EQUAL_FATAL(host_create(h, 1, 64), 0);
}

void host_put(struct host *h, uint16_t qid, const struct annex_sqe *sqe)
{
	struct host_queue *q = &h->q[qid];

	q->sq[q->tail] = *sqe;
	q->tail = (q->tail + 1) % q->depth;
}

void host_ring(struct host *h, uint16_t qid)
{
	annex_mmio_write32(h->ctrl->ops->doorbell(h->ctrl, qid, 0), h->q[qid].tail);
	h->ctrl->ops->rung(h->ctrl, qid);
}

void host_submit(struct host *h, uint16_t qid, const struct annex_sqe *sqe)
{
	host_put(h, qid, sqe);
	host_ring(h, qid);
}

bool host_poll(struct host *h, uint16_t qid, struct annex_cqe *out)
{
	struct host_queue *q = &h->q[qid];
	volatile struct annex_cqe *cqe = &q->cq[q->head];
	uint32_t word = annex_atomic_load((volatile uint32_t *)&cqe->cid, ANNEX_ACQUIRE);

	if ((word >> 16 & 1) != q->phase)
		return false;
	*out = *(const struct annex_cqe *)(uintptr_t)cqe;
	if (++q->head == q->depth) {
		q->head = 0;
		q->phase ^= 1;
	}
	annex_mmio_write32(h->ctrl->ops->doorbell(h->ctrl, qid, 1), q->head);
	return true;
}

bool host_wait_ms(struct host *h, uint16_t qid, struct annex_cqe *out, uint64_t ms)
{
	const struct annex_ctrl_ops *ops = h->ctrl->ops;
	uint64_t deadline = annex_deadline_ms(ms);

	for (;;) {
		uint32_t seen = ops->event(h->ctrl, qid);

		if (host_poll(h, qid, out))
			return true;
		ops->assist(h->ctrl, qid);
		if (host_poll(h, qid, out))
			return true;
		if (annex_now() >= deadline)
			return false;
		ops->sleep(h->ctrl, qid, seen, deadline);
	}
}

bool host_wait(struct host *h, uint16_t qid, struct annex_cqe *out)
{
	return host_wait_ms(h, qid, out, HOST_WAIT_MS);
}

uint16_t host_do(struct host *h, uint16_t qid, const struct annex_sqe *sqe, uint32_t *dw0)
{
	static uint16_t cid;
	struct annex_sqe copy = *sqe;
	struct annex_cqe cqe;

	copy.cid = ++cid;
	host_submit(h, qid, &copy);
	if (!host_wait(h, qid, &cqe) || cqe.cid != copy.cid)
		return 0xffff;
	if (dw0)
		*dw0 = cqe.dw0;
	return cqe.status >> 1;
}

struct annex_sqe host_rw(uint8_t opcode, uint64_t slba, uint32_t nlb, const void *prp1,
			 const void *prp2)
{
	struct annex_sqe sqe = {.opcode = opcode, .nsid = 1};

	sqe.dptr[0] = host_addr(prp1);
	sqe.dptr[1] = host_addr(prp2);
	sqe.cdw10 = (uint32_t)slba;
	sqe.cdw11 = (uint32_t)(slba >> 32);
	sqe.cdw12 = nlb - 1;
	return sqe;
}

uint16_t host_io(struct host *h, uint8_t opcode, uint64_t slba, uint32_t nlb, const void *p)
{
	struct annex_sqe sqe = host_rw(opcode, slba, nlb, p, NULL);

	return host_do(h, 1, &sqe, NULL);
}

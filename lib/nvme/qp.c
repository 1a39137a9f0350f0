// SPDX-License-Identifier: MIT
/*
 * The memory of a queue pair, and its life around resets.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "dev.h"

static size_t pages(size_t bytes)
{
	return (bytes + ANNEX_NVME_PAGE - 1) & ~(size_t)(ANNEX_NVME_PAGE - 1);
}

/* The state of a ring that nothing has been put into (see annex/detail/ring.h). */
static int fresh_rings(const struct nvme_queue *q)
{
	struct annex_qp *qp = q->qp;
	size_t bytes = qp->depth * sizeof(*qp->cq);
	int err = 0;

	/* Phase 0: all entries are old. */
	if (q->rings.zero)
		err = q->rings.zero(q->rings.ctx, qp->cq, bytes);
	else
		memset(qp->cq, 0, bytes);
	if (err)
		return err;
	for (uint32_t i = 0; i < qp->depth; i++) {
		qp->sq_seq[i] = 0;
		qp->cq_seq[i] = 0;
	}
	qp->sq_seq[qp->depth - 1] = UINT64_MAX; /* freed one late: not before the head moves */
	qp->sq_ticket = 0;
	qp->sq_tail = 0;
	qp->sq_head = 0;
	qp->cq_claimed = 0;
	/* Atomic for the one who looks from outside the gate (lib/nvme/io.c). */
	annex_atomic_store(&qp->cq_head, 0, ANNEX_RELAXED);
	qp->sq_moving = 0;
	qp->cq_moving = 0;
	qp->starving = 0;
	return 0;
}

static size_t sq_bytes(uint32_t depth)
{
	return pages(depth * sizeof(struct annex_sqe));
}

static size_t cq_bytes(uint32_t depth)
{
	return pages(depth * sizeof(struct annex_cqe));
}

static int alloc_rings(struct annex_dev *dev, struct nvme_queue *q)
{
	uint32_t depth = q->qp->depth;
	void *sq, *cq;
	int err = annex_dev_alloc(dev, dev->opts.sq, sq_bytes(depth), &sq, &q->sq_addr);

	if (err)
		return err;
	q->qp->sq = sq;
	err = annex_dev_alloc(dev, dev->opts.cq, cq_bytes(depth), &cq, &q->cq_addr);
	if (!err)
		q->qp->cq = cq;
	return err;
}

static void free_rings(struct annex_dev *dev, struct nvme_queue *q)
{
	uint32_t depth = q->qp->depth;

	if (q->rings.zero)
		return; /* whose they are, they stay */
	if (q->qp->cq)
		annex_dev_free(dev, dev->opts.cq, q->qp->cq, cq_bytes(depth), q->cq_addr);
	if (q->qp->sq)
		annex_dev_free(dev, dev->opts.sq, q->qp->sq, sq_bytes(depth), q->sq_addr);
}

int nvme_queue_create(struct annex_dev *dev, struct nvme_queue *q, uint16_t qid, uint32_t depth,
		      uint32_t list_bytes)
{
	size_t lists = pages((size_t)depth * list_bytes);
	size_t seqs = 2 * depth * sizeof(uint64_t);
	size_t reqs = depth * sizeof(struct annex_req);
	const struct annex_provider *prov = dev->opts.provider;
	const struct annex_ctrl_ops *ops = dev->ctrl->ops;
	struct annex_qp *qp;
	int err;

	q->mapped = lists;
	q->bytes = q->mapped + pages(sizeof(*qp) + seqs + reqs);
	q->mem = prov->alloc(prov->ctx, q->bytes, ANNEX_NVME_PAGE);
	if (!q->mem)
		return annex_fail(-ENOMEM,
				  "%s: no %zu bytes of %s memory for a queue of %u entries",
				  dev->uri, q->bytes, prov->name, depth);
	err = nvme_map_provided(dev, q->mem, q->mapped, &q->addr);
	if (err) {
		prov->free(prov->ctx, q->mem, q->bytes);
		q->mem = NULL;
		return err;
	}
	qp = (struct annex_qp *)(q->mem + q->mapped);
	q->qp = qp;
	qp->depth = depth;
	qp->lists = q->mem;
	qp->lists_addr = q->addr;
	err = alloc_rings(dev, q);
	if (err) {
		nvme_queue_destroy(dev, q);
		return err;
	}
	qp->sq_seq = (uint64_t *)(qp + 1);
	qp->cq_seq = qp->sq_seq + depth;
	qp->reqs = (struct annex_req *)(qp->cq_seq + depth);
	qp->limits = (struct annex_io_limits){list_bytes, dev->max_transfer, dev->sgl,
					      dev->ctrl->pages, dev->ctrl->npages};
	qp->qid = qid;
	qp->stall_ns = dev->opts.timeout_ms * ANNEX_NSEC_PER_MSEC;
	qp->host = (struct annex_qp_host){dev->ctrl,  ops->rung, ops->assist, ops->event,
					  ops->sleep, ops->read, ops->wake};
	if (!ops->event || !ops->wake)
		qp->host.sleep = NULL; /* they go together */
	qp->state = ANNEX_QP_RESET;
	return fresh_rings(q);
}

void nvme_queue_destroy(struct annex_dev *dev, struct nvme_queue *q)
{
	const struct annex_provider *prov = dev->opts.provider;

	if (!q->mem)
		return;
	if (q->qp->spurious)
		annex_log(ANNEX_LOG_WARNING, "%s: queue %u had %llu completions for no command",
			  dev->uri, q->qp->qid, (unsigned long long)q->qp->spurious);
	free_rings(dev, q);
	/* Memory that a device or a thread may still write is lost rather than used again. */
	if (dev->ctrl->ops->unmap(dev->ctrl, q->addr, q->mapped) || q->qp->active)
		annex_log(ANNEX_LOG_WARNING, "%s: queue %u is still in use; its memory is lost",
			  dev->uri, q->qp->qid);
	else
		prov->free(prov->ctx, q->mem, q->bytes);
	q->mem = NULL;
	q->qp = NULL;
}

bool nvme_queue_pending(const struct annex_qp *qp, uint64_t token)
{
	uint64_t s;

	if ((token & 0xffff) >= qp->depth - 1)
		return false;
	s = annex_atomic_load(&qp->reqs[token & 0xffff].state, ANNEX_ACQUIRE);
	return ANNEX_REQ_MATCHES(s, token) && ANNEX_REQ_STATE(s) == ANNEX_REQ_TAKEN;
}

/*
 * Close the gate and wait until nobody is inside. Those inside see the state in every loop of
 * theirs, so this ends after the few instructions between, unless a thread died there.
 *
 * Return: false when somebody is still inside after the queue's stall limit.
 */
bool nvme_queue_close(struct annex_qp *qp, enum annex_qp_state state)
{
	uint64_t limit = annex_now() + qp->stall_ns;

	annex_atomic_store(&qp->state, (uint32_t)state, ANNEX_SEQ_CST);
	/* Pairs with annex_qp_enter() and, by its acquire, with annex_qp_leave(). */
	for (unsigned int round = 0; annex_atomic_load(&qp->active, ANNEX_SEQ_CST); round++) {
		if (annex_now() >= limit) {
			annex_log(ANNEX_LOG_WARNING, "queue %u: a thread inside does not leave",
				  qp->qid);
			return false;
		}
		annex_qp_backoff(round);
	}
	return true;
}

/*
 * End every outstanding command of a closed queue, once: its owner finds it aborted. The
 * controller must have stopped, since the buffers are the owners' again.
 */
void nvme_queue_sweep(struct annex_qp *qp)
{
	for (uint32_t i = 0; i < qp->depth - 1; i++) {
		uint64_t s = annex_atomic_load(&qp->reqs[i].state, ANNEX_RELAXED);
		uint64_t *owner = NULL;

		if (ANNEX_REQ_STATE(s) == ANNEX_REQ_TAKEN || ANNEX_REQ_STATE(s) == ANNEX_REQ_ORPHAN)
			owner = annex_qp_deliver(qp, (uint16_t)i, ANNEX_SC_ABORTED_BY_HOST, 0);
		annex_qp_wake(qp, &owner, owner != NULL);
	}
}

int nvme_queue_reopen(struct nvme_queue *q)
{
	int err = fresh_rings(q);

	/* Release, and more: the fresh rings are there for whoever finds the gate open. */
	if (!err)
		annex_atomic_store(&q->qp->state, (uint32_t)ANNEX_QP_LIVE, ANNEX_SEQ_CST);
	return err;
}

int annex_dev_move_rings(struct annex_dev *dev, unsigned int index, const struct annex_rings *rings)
{
	struct nvme_queue *q = dev->io + index;
	int err;

	if (index >= dev->nio || !rings->zero || rings->sq_addr % ANNEX_NVME_PAGE ||
	    rings->cq_addr % ANNEX_NVME_PAGE)
		return annex_fail(-EINVAL,
				  "%s: rings of queue pair %u: none, or not in whole pages",
				  dev->uri, index);
	if (!nvme_queue_close(q->qp, ANNEX_QP_RESET))
		return annex_fail(-EBUSY, "%s: queue %u is in use", dev->uri, q->qp->qid);
	/* The controller lets go of them before they are given back. */
	err = nvme_delete_queue(dev, q);
	if (err)
		return err;
	free_rings(dev, q);
	q->rings = *rings;
	q->qp->sq = rings->sq;
	q->qp->cq = rings->cq;
	q->sq_addr = rings->sq_addr;
	q->cq_addr = rings->cq_addr;
	err = nvme_create_queue(dev, q);
	return err ? err : nvme_queue_reopen(q);
}

int annex_qp_submit_sqe(struct annex_qp *qp, const struct annex_sqe *sqe, uint64_t *token,
			uint64_t deadline)
{
	for (;;) {
		struct annex_sqe copy = *sqe;
		uint16_t cid;
		int got = annex_qp_reserve(qp, 1, &cid, deadline);

		if (got < 0)
			return got;
		copy.cid = cid;
		*token = annex_qp_token(qp, cid);
		if (!annex_qp_enqueue(qp, &copy, &cid, 1))
			return 0;
	}
}

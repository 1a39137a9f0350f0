// SPDX-License-Identifier: MIT
/*
 * The life of a queue pair: started, closed, swept, opened again.
 */
#include <string.h>
#include "core/log.h"
#include "dev.h"

/* The state of an empty ring (annex/detail/ring.h). */
int nvme_queue_fresh(const struct nvme_queue *q)
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
	/* Atomic, since submit_some() in io.c reads it outside of the gate. */
	annex_atomic_store(&qp->cq_head, 0, ANNEX_RELAXED);
	qp->sq_moving = 0;
	qp->cq_moving = 0;
	qp->starving = 0;
	return 0;
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
 * Close the gate and wait until no thread is inside. Threads inside check the state in every loop,
 * so this takes a few instructions, unless a thread died there.
 *
 * Return: false when a thread is still inside after the queue's stall limit.
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
 * controller must have stopped, since owners may use their buffers again.
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

int nvme_queue_start(struct annex_dev *dev, struct nvme_queue *q)
{
	int err = dev->ctrl->ops->create(dev->ctrl, q->qp->qid, q->qp->depth, q->sq_addr,
					 q->cq_addr);

	q->created = !err;
	if (!err)
		err = nvme_queue_fresh(q);
	/* Release, and more: a thread that finds the gate open finds the empty rings. */
	if (!err)
		annex_atomic_store(&q->qp->state, (uint32_t)ANNEX_QP_LIVE, ANNEX_SEQ_CST);
	return err;
}

int nvme_queue_stop(struct annex_dev *dev, struct nvme_queue *q)
{
	int err = dev->ctrl->ops->destroy(dev->ctrl, q->qp->qid);

	if (!err)
		q->created = false;
	return err;
}

int annex_qp_submit_sqe(struct annex_qp *qp, const struct annex_sqe *sqe, uint64_t *token,
			uint64_t deadline)
{
	for (;;) {
		struct annex_sqe copy = *sqe;
		uint16_t cid = 0;
		int got = annex_qp_reserve(qp, 1, &cid, deadline);

		if (got < 0)
			return got;
		copy.cid = cid;
		*token = annex_qp_token(qp, cid);
		if (!annex_qp_enqueue(qp, &copy, &cid, 1))
			return 0;
	}
}

// SPDX-License-Identifier: MIT
/*
 * The memory of a queue pair.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "dev.h"

static size_t pages(size_t bytes)
{
	return (bytes + ANNEX_NVME_PAGE - 1) & ~(size_t)(ANNEX_NVME_PAGE - 1);
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
	int err = nvme_alloc_queue(dev, dev->opts.sq, sq_bytes(depth), &sq, &q->sq_addr);

	if (err)
		return err;
	q->qp->sq = sq;
	err = nvme_alloc_queue(dev, dev->opts.cq, cq_bytes(depth), &cq, &q->cq_addr);
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
		nvme_free(dev, dev->opts.cq, q->qp->cq, cq_bytes(depth), q->cq_addr);
	if (q->qp->sq)
		nvme_free(dev, dev->opts.sq, q->qp->sq, sq_bytes(depth), q->sq_addr);
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
	err = nvme_map_queue(dev, q->mem, q->mapped, &q->addr);
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
	qp->limits = (struct annex_io_limits){list_bytes,       dev->max_transfer, dev->sgl,
					      dev->ctrl->pages, dev->ctrl->npages, dev->protect};
	qp->qid = qid;
	qp->stall_ns = dev->opts.timeout_ms * ANNEX_NSEC_PER_MSEC;
	qp->host = (struct annex_qp_host){dev->ctrl,  ops->rung,   ops->assist, ops->event,
					  ops->sleep, ops->status, ops->wake};
	if (!ops->event || !ops->wake)
		qp->host.sleep = NULL; /* they go together */
	qp->state = ANNEX_QP_RESET;
	return nvme_queue_fresh(q);
}

void nvme_queue_destroy(struct annex_dev *dev, struct nvme_queue *q)
{
	KEEP_LAST_ERROR(true);
	const struct annex_provider *prov = dev->opts.provider;

	if (!q->mem)
		return;
	if (q->qp->spurious)
		annex_log(ANNEX_LOG_WARNING, "%s: queue %u had %llu completions for no command",
			  dev->uri, q->qp->qid, (ull)q->qp->spurious);
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
	err = nvme_queue_stop(dev, q);
	if (err)
		return err;
	free_rings(dev, q);
	q->rings = *rings;
	q->qp->sq = rings->sq;
	q->qp->cq = rings->cq;
	q->sq_addr = rings->sq_addr;
	q->cq_addr = rings->cq_addr;
	return nvme_queue_start(dev, q);
}

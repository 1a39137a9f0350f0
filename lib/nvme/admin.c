// SPDX-License-Identifier: MIT
/*
 * Admin commands (NVMe Base 2.0 section 5), one at a time.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "dev.h"

/* Submit and wait. Return: 0 with the status in *res, or why there is none. */
static int admin_run(struct annex_dev *dev, const struct annex_sqe *sqe, struct annex_result *res,
		     uint64_t deadline)
{
	struct annex_qp *qp = dev->admin.qp;
	uint64_t token;
	int err = annex_qp_submit_sqe(qp, sqe, &token, deadline);

	if (err)
		return err;
	err = annex_qp_wait(qp, token, res, deadline);
	if (err)
		annex_qp_abandon(qp, token); /* a reset or the queue's end frees it */
	return err;
}

int nvme_admin(struct annex_dev *dev, const struct annex_sqe *sqe, struct annex_result *res)
{
	struct annex_result own;
	int err = admin_run(dev, sqe, &own, annex_deadline_ms(dev->opts.timeout_ms));

	if (err)
		return annex_fail(err, "%s: admin command 0x%02x: %s", dev->uri, sqe->opcode,
				  err == -ETIMEDOUT ? "no completion in time" : strerror(-err));
	if (res)
		*res = own;
	if (own.status)
		return annex_fail(annex_nvme_errno(own.status),
				  "%s: admin command 0x%02x ended with status 0x%03x", dev->uri,
				  sqe->opcode, own.status & ANNEX_SC_MASK);
	return 0;
}

int nvme_identify(struct annex_dev *dev, enum annex_cns cns, uint32_t nsid, void *data)
{
	const struct annex_admin_ops *admin = dev->ctrl->ops->admin;
	struct annex_sqe sqe = {
		.opcode = ANNEX_ADMIN_IDENTIFY,
		.nsid = nsid,
		.dptr = {dev->scratch_addr, 0},
		.cdw10 = cns,
	};
	int err;

	if (admin)
		return admin->identify(dev->ctrl, cns, nsid, data);
	pthread_mutex_lock(&dev->admin_lock);
	err = nvme_admin(dev, &sqe, NULL);
	if (!err)
		memcpy(data, dev->scratch, ADMIN_SCRATCH);
	pthread_mutex_unlock(&dev->admin_lock);
	return err;
}

int nvme_set_queues(struct annex_dev *dev, unsigned int want, unsigned int *got)
{
	struct annex_sqe sqe = {
		.opcode = ANNEX_ADMIN_SET_FEATURES,
		.cdw10 = ANNEX_FEAT_QUEUES,
		.cdw11 = (want - 1) << 16 | (want - 1),
	};
	struct annex_result res;
	unsigned int sqs, cqs;
	int err;

	if (dev->ctrl->ops->admin) {
		*got = dev->ctrl->ops->admin->queues(dev->ctrl);
		*got = *got < want ? *got : want;
		return 0;
	}
	err = nvme_admin(dev, &sqe, &res);
	if (err)
		return err;
	sqs = (res.dw0 & 0xffff) + 1;
	cqs = (res.dw0 >> 16) + 1;
	*got = sqs < cqs ? sqs : cqs;
	if (*got > want)
		*got = want;
	return 0;
}

static int delete_queue(struct annex_dev *dev, uint16_t qid)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_DELETE_SQ, .cdw10 = qid};
	int err;

	if (dev->ctrl->ops->admin)
		return dev->ctrl->ops->admin->destroy(dev->ctrl, qid);
	err = nvme_admin(dev, &sqe, NULL);
	if (err)
		return err;
	sqe.opcode = ANNEX_ADMIN_DELETE_CQ;
	return nvme_admin(dev, &sqe, NULL);
}

int nvme_delete_queue(struct annex_dev *dev, struct nvme_queue *q)
{
	int err = delete_queue(dev, q->qp->qid);

	if (!err)
		q->created = false;
	return err;
}

static int create_queue(struct annex_dev *dev, const struct nvme_queue *q)
{
	struct annex_sqe sqe = {
		.opcode = ANNEX_ADMIN_CREATE_CQ,
		.dptr = {q->cq_addr, 0},
		.cdw10 = (q->qp->depth - 1) << 16 | q->qp->qid,
		.cdw11 = ANNEX_QUEUE_CONTIGUOUS,
	};
	int err;

	if (dev->ctrl->ops->admin)
		return dev->ctrl->ops->admin->create(dev->ctrl, q->qp->qid, q->qp->depth,
						     q->sq_addr, q->cq_addr);
	err = nvme_admin(dev, &sqe, NULL);
	if (err)
		return err;
	sqe.opcode = ANNEX_ADMIN_CREATE_SQ;
	sqe.dptr[0] = q->sq_addr;
	sqe.cdw11 = (uint32_t)q->qp->qid << 16 | ANNEX_QUEUE_CONTIGUOUS;
	return nvme_admin(dev, &sqe, NULL);
}

int nvme_create_queue(struct annex_dev *dev, struct nvme_queue *q)
{
	int err = create_queue(dev, q);

	q->created = !err;
	return err;
}

int nvme_abort(struct annex_dev *dev, uint16_t sqid, uint16_t cid, uint64_t deadline, bool *aborted)
{
	struct annex_sqe sqe = {
		.opcode = ANNEX_ADMIN_ABORT,
		.cdw10 = (uint32_t)cid << 16 | sqid,
	};
	struct annex_result res;
	int err;

	if (dev->ctrl->ops->admin)
		return dev->ctrl->ops->admin->abort(dev->ctrl, sqid, cid, aborted);
	err = admin_run(dev, &sqe, &res, deadline);
	*aborted = !err && !res.status && !(res.dw0 & 1);
	return err;
}

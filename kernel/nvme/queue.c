// SPDX-License-Identifier: GPL-2.0
/*
 * I/O queue pairs in the owner's memory (NVMe Base 2.0 sections 5.4 to 5.7). Owns the owner's
 * table of queues.
 */
#include <linux/eventfd.h>
#include <linux/interrupt.h>
#include <linux/slab.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"
#include "map.h"
#include "owner.h"
#include "queue.h"
#include "trace.h"

static irqreturn_t queue_completed(int irq, void *data)
{
	struct annex_queue *q = data;

	annex_eventfd_signal(q->event);
	return IRQ_HANDLED;
}

/* Vector 0 is for the admin queue, which is polled; queue Q has vector Q. */
static int queue_request_irq(struct annex_queue *q, int eventfd)
{
	struct annex_ctrl *ctrl = q->ctrl;
	int err;

	if (eventfd < 0)
		return 0;
	if (q->qid >= ctrl->vectors)
		return annex_refuse(ctrl, -EOPNOTSUPP, "queue %u: it has no interrupt", q->qid);
	q->event = eventfd_ctx_fdget(eventfd);
	if (IS_ERR(q->event)) {
		err = PTR_ERR(q->event);
		q->event = NULL;
		return annex_refuse(ctrl, err, "queue %u: %d is no eventfd", q->qid, eventfd);
	}
	q->irq = pci_irq_vector(ctrl->pdev, q->qid);
	err = request_irq(q->irq, queue_completed, 0, dev_name(&ctrl->dev), q);
	if (err)
		q->irq = 0;
	return err;
}

static void queue_put(struct annex_queue *q)
{
	if (q->irq)
		free_irq(q->irq, q);
	if (q->event)
		eventfd_ctx_put(q->event);
	if (q->sq)
		q->sq->users--;
	if (q->cq)
		q->cq->users--;
	kfree(q);
}

static bool queue_overlap(u64 a, u64 a_bytes, u64 b, u64 b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

static u64 queue_sq_bytes(const struct annex_queue *q)
{
	return (u64)q->depth * sizeof(struct nvme_command);
}

static u64 queue_cq_bytes(const struct annex_queue *q)
{
	return (u64)q->depth * sizeof(struct nvme_completion);
}

/* Whether rings of two queue pairs overlap, by device addresses. */
static bool queue_collide(const struct annex_queue *a, const struct annex_queue *b)
{
	return queue_overlap(a->sq_addr, queue_sq_bytes(a), b->sq_addr, queue_sq_bytes(b)) ||
	       queue_overlap(a->sq_addr, queue_sq_bytes(a), b->cq_addr, queue_cq_bytes(b)) ||
	       queue_overlap(a->cq_addr, queue_cq_bytes(a), b->sq_addr, queue_sq_bytes(b)) ||
	       queue_overlap(a->cq_addr, queue_cq_bytes(a), b->cq_addr, queue_cq_bytes(b));
}

/* Look up the device address of one ring, and count the queue in its mapping. */
static int queue_place(struct annex_owner *owner, u32 id, u64 offset, u64 bytes, u32 cmb_flag,
		       struct annex_map **map, u64 *addr)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_map *m = xa_load(&owner->maps, id);
	int err;

	if (!m || !m->span.segs)
		return annex_refuse(ctrl, -ENOENT, "queue: no mapping %u", id);
	if (!IS_ALIGNED(offset, ANNEX_PAGE))
		return annex_refuse(ctrl, -EINVAL, "queue: offset 0x%llx is not aligned", offset);
	if (m->kind == ANNEX_MAP_CMB && !(ctrl->cmb.flags & cmb_flag))
		return annex_refuse(ctrl, -EOPNOTSUPP, "queue: not in this controller's memory");
	err = annex_map_addr(m, offset, bytes, addr);
	if (err)
		return annex_refuse(ctrl, err, "queue: 0x%llx bytes at 0x%llx of mapping %u: %s",
				    bytes, offset, id,
				    err == -EINVAL ? "not inside" : "not contiguous");
	m->users++;
	*map = m;
	return 0;
}

static int queue_check(struct annex_owner *owner, const struct annex_queue *q,
		       const struct annex_ioc_queue *args)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_queue *other;
	unsigned long qid;

	if (!q->qid || q->qid > ctrl->queues)
		return annex_refuse(ctrl, -EINVAL, "queue %u: there are 1 to %u", q->qid,
				    ctrl->queues);
	if (q->depth < 2 || q->depth > NVME_CAP_MQES(ctrl->cap) + 1)
		return annex_refuse(ctrl, -EINVAL, "queue %u: %u entries", q->qid, q->depth);
	if (args->rsvd || args->eventfd < -1)
		return annex_refuse(ctrl, -EINVAL, "queue %u: unknown fields", q->qid);
	xa_for_each(&owner->queues, qid, other) {
		if (other->qid == q->qid)
			return annex_refuse(ctrl, -EEXIST, "queue %u: exists", q->qid);
	}
	return 0;
}

static int queue_check_places(struct annex_owner *owner, const struct annex_queue *q)
{
	struct annex_queue *other;
	unsigned long qid;

	if (queue_overlap(q->sq_addr, queue_sq_bytes(q), q->cq_addr, queue_cq_bytes(q)))
		return annex_refuse(owner->ctrl, -EINVAL, "queue %u: overlaps itself", q->qid);
	xa_for_each(&owner->queues, qid, other) {
		if (queue_collide(q, other))
			return annex_refuse(owner->ctrl, -EINVAL, "queue %u: overlaps queue %u",
					    q->qid, other->qid);
	}
	return 0;
}

static int queue_create_cq(struct annex_ctrl *ctrl, const struct annex_queue *q)
{
	struct nvme_command cmd = {};

	cmd.create_cq.opcode = nvme_admin_create_cq;
	cmd.create_cq.prp1 = cpu_to_le64(q->cq_addr);
	cmd.create_cq.cqid = cpu_to_le16(q->qid);
	cmd.create_cq.qsize = cpu_to_le16(q->depth - 1);
	cmd.create_cq.cq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG |
					     (q->event ? NVME_CQ_IRQ_ENABLED : 0));
	cmd.create_cq.irq_vector = cpu_to_le16(q->event ? q->qid : 0);
	return annex_admin_run(ctrl, &cmd, NULL);
}

static int queue_create_sq(struct annex_ctrl *ctrl, const struct annex_queue *q)
{
	struct nvme_command cmd = {};

	cmd.create_sq.opcode = nvme_admin_create_sq;
	cmd.create_sq.prp1 = cpu_to_le64(q->sq_addr);
	cmd.create_sq.sqid = cpu_to_le16(q->qid);
	cmd.create_sq.qsize = cpu_to_le16(q->depth - 1);
	cmd.create_sq.sq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG);
	cmd.create_sq.cqid = cpu_to_le16(q->qid);
	return annex_admin_run(ctrl, &cmd, NULL);
}

static int queue_delete_one(struct annex_ctrl *ctrl, u8 opcode, u32 qid)
{
	struct nvme_command cmd = {};

	cmd.delete_queue.opcode = opcode;
	cmd.delete_queue.qid = cpu_to_le16(qid);
	return annex_admin_run(ctrl, &cmd, NULL);
}

/*
 * Create both queues. If the controller refuses the submission queue, delete the completion queue.
 * If that fails, or a command ends without a status, reset the controller.
 */
static int queue_create_both(struct annex_owner *owner, const struct annex_queue *q, u32 *status)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	int got = queue_create_cq(ctrl, q);

	if (!got) {
		got = queue_create_sq(ctrl, q);
		if (got > 0 && queue_delete_one(ctrl, nvme_admin_delete_cq, q->qid))
			got = -EIO;
	}
	if (got >= 0) {
		*status = got;
		return got ? annex_refuse(ctrl, -EIO, "queue %u: status 0x%03x", q->qid, got) : 0;
	}
	return annex_queue_reset_after(owner, got);
}

static int queue_prepare(struct annex_owner *owner, struct annex_queue *q,
			 const struct annex_ioc_queue *args)
{
	int err = queue_check(owner, q, args);

	if (err)
		return err;
	err = queue_place(owner, args->sq_map, args->sq_offset, queue_sq_bytes(q),
			  ANNEX_INFO_CMB_SQ, &q->sq, &q->sq_addr);
	if (err)
		return err;
	err = queue_place(owner, args->cq_map, args->cq_offset, queue_cq_bytes(q),
			  ANNEX_INFO_CMB_CQ, &q->cq, &q->cq_addr);
	if (err)
		return err;
	err = queue_check_places(owner, q);
	if (err)
		return err;
	return queue_request_irq(q, args->eventfd);
}

int annex_queue_create(struct annex_owner *owner, struct annex_ioc_queue *args)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_queue *q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	int err;

	if (!q)
		return -ENOMEM;
	q->ctrl = ctrl;
	q->qid = args->qid;
	q->depth = args->depth;
	err = queue_prepare(owner, q, args);
	if (!err)
		err = xa_reserve(&owner->queues, q->qid, GFP_KERNEL_ACCOUNT);
	if (!err)
		err = queue_create_both(owner, q, &args->status);
	trace_annex_queue(&ctrl->dev, q->qid, q->depth, err);
	if (err) {
		xa_release(&owner->queues, args->qid);
		queue_put(q);
		return err;
	}
	xa_store(&owner->queues, q->qid, q, GFP_KERNEL_ACCOUNT); /* reserved: cannot fail */
	atomic64_inc(&ctrl->count.creates);
	return 0;
}

int annex_queue_delete(struct annex_owner *owner, u32 qid)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_queue *q = xa_load(&owner->queues, qid);
	int err;

	if (!q)
		return annex_refuse(ctrl, -ENOENT, "delete: no queue %u", qid);
	err = queue_delete_one(ctrl, nvme_admin_delete_sq, qid);
	if (!err)
		err = queue_delete_one(ctrl, nvme_admin_delete_cq, qid);
	trace_annex_queue_delete(&ctrl->dev, qid, err);
	atomic64_inc(&ctrl->count.deletes);
	if (err)
		return annex_queue_reset_after(owner, -EIO);
	xa_erase(&owner->queues, qid);
	queue_put(q);
	return 0;
}

int annex_queue_abort(struct annex_owner *owner, struct annex_ioc_abort *args)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct nvme_command cmd = {};
	u32 result = 0;
	int status;

	if (args->cid > U16_MAX)
		return annex_refuse(ctrl, -EINVAL, "abort: command %u", args->cid);
	if (!xa_load(&owner->queues, args->qid))
		return annex_refuse(ctrl, -ENOENT, "abort: no queue %u", args->qid);
	cmd.abort.opcode = nvme_admin_abort_cmd;
	cmd.abort.sqid = cpu_to_le16(args->qid);
	cmd.abort.cid = (__force u16)cpu_to_le16(args->cid); /* the header lacks __le16 */
	status = annex_admin_run(ctrl, &cmd, &result);
	args->aborted = !status && !(result & 1);
	if (status < 0)
		return annex_queue_reset_after(owner, status);
	return 0;
}

void annex_queue_forget(struct annex_owner *owner)
{
	struct annex_queue *q;
	unsigned long qid;

	xa_for_each(&owner->queues, qid, q) {
		xa_erase(&owner->queues, qid);
		queue_put(q);
	}
}

int annex_queue_reset(struct annex_owner *owner)
{
	int err = annex_ctrl_reset(owner->ctrl);

	trace_annex_reset(&owner->ctrl->dev, err);
	annex_queue_forget(owner);
	return err;
}

void annex_queue_bring_up(struct annex_ctrl *ctrl)
{
	if (ctrl->owner)
		annex_queue_reset(ctrl->owner);
	else
		annex_ctrl_reset(ctrl);
}

int annex_queue_reset_after(struct annex_owner *owner, int err)
{
	int failed = annex_queue_reset(owner);

	return failed ? failed : err;
}

// SPDX-License-Identifier: MIT
/*
 * Enabling, shutting down and resetting a controller, and recovery from commands that never end
 * (NVMe Base 2.0 sections 3.5, 3.6, 3.7).
 */
#include <errno.h>
#include "core/log.h"
#include "dev.h"

#define ABORT_GRACE_MS 1000u /* for the Abort command, and again for the command it aborts */

static uint32_t reg32(struct annex_dev *dev, uint32_t reg)
{
	return (uint32_t)dev->ctrl->ops->read(dev->ctrl, reg, 4);
}

static void set32(struct annex_dev *dev, uint32_t reg, uint32_t value)
{
	dev->ctrl->ops->write(dev->ctrl, reg, 4, value);
}

bool nvme_gone(struct annex_dev *dev)
{
	return reg32(dev, ANNEX_REG_CSTS) == UINT32_MAX;
}

/* Wait until CSTS & @mask is @value, as long as CAP.TO allows. */
static int wait_status(struct annex_dev *dev, uint32_t mask, uint32_t value, const char *what)
{
	uint32_t ms = ANNEX_CAP_TO_MS(dev->cap);
	uint64_t deadline = annex_deadline_ms(ms ? ms : 500);

	for (unsigned int round = 0;; round++) {
		uint32_t csts = reg32(dev, ANNEX_REG_CSTS);

		if (csts == UINT32_MAX)
			return annex_fail(-ENODEV, "%s: the controller is gone", dev->uri);
		if ((csts & mask) == value)
			return 0;
		if (value && csts & ANNEX_CSTS_CFS)
			return annex_fail(-EIO, "%s: fatal status while waiting for %s", dev->uri,
					  what);
		if (annex_now() >= deadline)
			return annex_fail(-ETIMEDOUT, "%s: no %s in %u ms", dev->uri, what, ms);
		annex_qp_backoff(round);
	}
}

int nvme_disable(struct annex_dev *dev)
{
	uint32_t cc;

	if (dev->ctrl->ops->admin) /* comes back enabled, with no I/O queues */
		return dev->ctrl->ops->admin->reset(dev->ctrl);
	cc = reg32(dev, ANNEX_REG_CC);
	set32(dev, ANNEX_REG_CC, cc & ~(ANNEX_CC_EN | ANNEX_CC_SHN_MASK));
	return wait_status(dev, ANNEX_CSTS_RDY, 0, "end of the reset (CSTS.RDY 0)");
}

int nvme_enable(struct annex_dev *dev)
{
	struct nvme_queue *q = &dev->admin;
	int err;

	if (dev->ctrl->ops->admin)
		return 0;
	set32(dev, ANNEX_REG_AQA, ANNEX_AQA(q->qp->depth, q->qp->depth));
	dev->ctrl->ops->write(dev->ctrl, ANNEX_REG_ASQ, 8, q->sq_addr);
	dev->ctrl->ops->write(dev->ctrl, ANNEX_REG_ACQ, 8, q->cq_addr);
	set32(dev, ANNEX_REG_CC, ANNEX_CC_EN | ANNEX_CC_IOSQES_64 | ANNEX_CC_IOCQES_16);
	err = wait_status(dev, ANNEX_CSTS_RDY, ANNEX_CSTS_RDY, "ready state (CSTS.RDY 1)");
	return err ? err : nvme_queue_reopen(q);
}

void nvme_shutdown(struct annex_dev *dev)
{
	uint32_t cc = reg32(dev, ANNEX_REG_CC);

	if (dev->ctrl->ops->admin || nvme_gone(dev))
		return;
	set32(dev, ANNEX_REG_CC, (cc & ~ANNEX_CC_SHN_MASK) | ANNEX_CC_SHN_NORMAL);
	wait_status(dev, ANNEX_CSTS_SHST_MASK, ANNEX_CSTS_SHST_DONE, "end of the shutdown");
	nvme_disable(dev);
}

/* Return: whether nobody is inside any queue. */
static bool close_all(struct annex_dev *dev, enum annex_qp_state state)
{
	bool closed = !dev->admin.qp || nvme_queue_close(dev->admin.qp, state);

	for (unsigned int i = 0; i < dev->nio; i++)
		closed = nvme_queue_close(dev->io[i].qp, state) && closed;
	return closed;
}

static void sweep_all(struct annex_dev *dev)
{
	if (dev->admin.qp)
		nvme_queue_sweep(dev->admin.qp);
	for (unsigned int i = 0; i < dev->nio; i++)
		nvme_queue_sweep(dev->io[i].qp);
}

static int rebuild(struct annex_dev *dev)
{
	unsigned int n = 0;
	int err = nvme_enable(dev);

	if (!err) /* the number of queues does not survive a reset */
		err = nvme_set_queues(dev, dev->nio, &n);
	if (!err && n < dev->nio)
		err = -EIO;
	for (unsigned int i = 0; !err && i < dev->nio; i++)
		err = nvme_create_queue(dev, &dev->io[i]);
	for (unsigned int i = 0; !err && i < dev->nio; i++)
		err = nvme_queue_reopen(&dev->io[i]);
	return err;
}

/*
 * Reset the controller and build all queues again. Outstanding commands end as aborted, after the
 * controller has stopped: only then are buffers their owners' again. One that does not even stop is
 * dead, and may write until its memory is unmapped.
 */
int nvme_reset(struct annex_dev *dev)
{
	bool closed = close_all(dev, ANNEX_QP_RESET);
	int err = nvme_disable(dev);

	if (closed && !err) {
		sweep_all(dev);
		err = rebuild(dev);
		if (!err) {
			annex_log(
				ANNEX_LOG_WARNING,
				"%s: the controller was reset, and commands under way have failed",
				dev->uri);
			return 0;
		}
	}
	close_all(dev, ANNEX_QP_DEAD);
	nvme_disable(dev);
	sweep_all(dev);
	return annex_fail(-ENODEV, "%s: the controller could not be brought back; it is dead now",
			  dev->uri);
}

/* Abort one command; true when it has ended by that. */
static bool try_abort(struct annex_dev *dev, struct annex_qp *qp, uint64_t token)
{
	bool aborted = false;
	uint64_t deadline = annex_deadline_ms(ABORT_GRACE_MS);

	if (reg32(dev, ANNEX_REG_CSTS) & ANNEX_CSTS_CFS)
		return false; /* set in all ones too */
	nvme_abort(dev, qp->qid, (uint16_t)token, deadline, &aborted);
	if (!aborted)
		return !nvme_queue_pending(qp, token);
	deadline = annex_deadline_ms(ABORT_GRACE_MS);
	for (unsigned int round = 0; nvme_queue_pending(qp, token); round++) {
		if (annex_now() >= deadline || annex_qp_down(qp))
			return false;
		annex_qp_help(qp);
		annex_qp_backoff(round);
	}
	return true;
}

int annex_dev_recover(struct annex_dev *dev, struct annex_qp *qp, uint64_t token)
{
	uint32_t state;
	int err = 0;

	pthread_mutex_lock(&dev->recover_lock);
	state = annex_atomic_load(&qp->state, ANNEX_ACQUIRE);
	if (state == ANNEX_QP_DEAD) {
		err = -ENODEV;
	} else if (state == ANNEX_QP_BROKEN || nvme_queue_pending(qp, token)) {
		if (state == ANNEX_QP_LIVE && try_abort(dev, qp, token))
			annex_log(ANNEX_LOG_WARNING,
				  "%s: queue %u: a command was aborted after %u ms", dev->uri,
				  qp->qid, dev->opts.timeout_ms);
		else
			err = nvme_reset(dev);
	}
	pthread_mutex_unlock(&dev->recover_lock);
	return err;
}

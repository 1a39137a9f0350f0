// SPDX-License-Identifier: MIT
/*
 * Recovery from commands that never end: abort, then reset (NVMe Base 2.0 sections 5.1, 3.7).
 */
#include <errno.h>
#include "core/log.h"
#include "dev.h"

#define ABORT_GRACE_MS 1000u /* for the command that was aborted */

bool nvme_gone(struct annex_dev *dev)
{
	return dev->ctrl->ops->status(dev->ctrl) == UINT32_MAX;
}

/* Return: whether nobody is inside any queue. */
static bool close_all(struct annex_dev *dev, enum annex_qp_state state)
{
	bool closed = true;

	for (unsigned int i = 0; i < dev->nio; i++)
		closed = nvme_queue_close(dev->io[i].qp, state) && closed;
	return closed;
}

static void sweep_all(struct annex_dev *dev)
{
	for (unsigned int i = 0; i < dev->nio; i++)
		nvme_queue_sweep(dev->io[i].qp);
}

static int rebuild(struct annex_dev *dev)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < dev->nio; i++)
		err = nvme_queue_start(dev, &dev->io[i]);
	return err;
}

/*
 * Reset the controller and build all queues again. Outstanding commands end as aborted, after the
 * controller has stopped: only then are buffers their owners' again. One that does not even stop is
 * dead, and may write until its memory is unmapped.
 */
static int reset(struct annex_dev *dev)
{
	bool closed = close_all(dev, ANNEX_QP_RESET);
	int err = dev->ctrl->ops->reset(dev->ctrl);

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
	dev->ctrl->ops->reset(dev->ctrl);
	sweep_all(dev);
	return annex_fail(-ENODEV, "%s: the controller could not be brought back; it is dead now",
			  dev->uri);
}

/* Abort one command; true when it has ended by that. */
static bool try_abort(struct annex_dev *dev, struct annex_qp *qp, uint64_t token)
{
	bool aborted = false;
	uint64_t deadline;

	if (dev->ctrl->ops->status(dev->ctrl) & ANNEX_CSTS_CFS)
		return false; /* set in all ones too */
	dev->ctrl->ops->abort(dev->ctrl, qp->qid, (uint16_t)token, &aborted);
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
			err = reset(dev);
	}
	pthread_mutex_unlock(&dev->recover_lock);
	return err;
}

// SPDX-License-Identifier: MIT
/*
 * Recovery from commands that never end: abort, then reset (NVMe Base 2.0 sections 5.1, 3.7). Also
 * queue pairs that are created again between commands: without an IOMMU, only that proves to
 * annex.ko that no command reaches unmapped memory any more (lib/nvme/memory.c).
 */
#include <errno.h>
#include "core/log.h"
#include "dev.h"

#define ABORT_GRACE_MS 1000u /* for the command that was aborted */
#define DRAIN_MS 1000u       /* for commands in flight, when queue pairs are created again */

bool nvme_gone(struct annex_dev *dev)
{
	return dev->ctrl->ops->status(dev->ctrl) == UINT32_MAX;
}

/* Return: whether no thread is inside any queue. */
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
 * Reset the controller and build all queues again. Outstanding commands end as aborted after the
 * controller has stopped: only then may their owners use the buffers again. A controller that does
 * not stop is dead, and may write until its memory is unmapped.
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
				"%s: the controller was reset, and commands in flight have failed",
				dev->uri);
			return 0;
		}
	}
	close_all(dev, ANNEX_QP_DEAD);
	dev->ctrl->ops->reset(dev->ctrl);
	sweep_all(dev);
	return annex_fail(-ENODEV, "%s: the controller could not be recovered; it is dead now",
			  dev->uri);
}

/* Whether commands are in flight, or identifiers are reserved for some. */
static bool is_busy(const struct annex_qp *qp)
{
	for (uint32_t i = 0; i < qp->depth - 1; i++) {
		uint64_t s = annex_atomic_load(&qp->reqs[i].state, ANNEX_ACQUIRE);

		if (ANNEX_REQ_STATE(s) == ANNEX_REQ_TAKEN || ANNEX_REQ_STATE(s) == ANNEX_REQ_ORPHAN)
			return true;
	}
	return false;
}

/*
 * Keep new commands out, as a starving thread does (ring.h), until the commands in flight have
 * ended. Return: whether this thread holds the queue pair's place of the starving thread.
 */
static bool drain(struct annex_qp *qp, uint64_t deadline)
{
	uint32_t nobody = 0;

	for (unsigned int round = 0; !annex_atomic_cas(&qp->starving, &nobody, 1u, ANNEX_RELAXED);
	     round++) {
		if (annex_now() >= deadline || annex_qp_down(qp))
			return false;
		nobody = 0;
		annex_qp_help(qp);
		annex_qp_backoff(round);
	}
	for (unsigned int round = 0; is_busy(qp); round++) {
		if (annex_now() >= deadline || annex_qp_down(qp))
			break;
		annex_qp_help(qp);
		annex_qp_backoff(round);
	}
	return true;
}

/* Close the gate of a queue pair without commands. A broken one is left to its recovery. */
static bool close_idle(struct annex_qp *qp)
{
	uint32_t live = ANNEX_QP_LIVE;

	if (!annex_atomic_cas(&qp->state, &live, (uint32_t)ANNEX_QP_RESET, ANNEX_SEQ_CST))
		return false;
	if (nvme_queue_close(qp, ANNEX_QP_RESET) && !is_busy(qp))
		return true;
	annex_atomic_store(&qp->state, (uint32_t)ANNEX_QP_LIVE, ANNEX_SEQ_CST);
	return false;
}

/* All or none: a queue pair that stays open keeps the memory. */
static bool close_all_idle(struct annex_dev *dev)
{
	unsigned int n = 0;

	while (n < dev->nio && close_idle(dev->io[n].qp))
		n++;
	if (n == dev->nio)
		return true;
	while (n)
		annex_atomic_store(&dev->io[--n].qp->state, (uint32_t)ANNEX_QP_LIVE, ANNEX_SEQ_CST);
	return false;
}

static int make_anew(struct annex_dev *dev)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < dev->nio; i++)
		err = nvme_queue_stop(dev, &dev->io[i]);
	if (!err)
		err = rebuild(dev);
	return err ? reset(dev) : 0;
}

int nvme_renew(struct annex_dev *dev)
{
	uint32_t ms = dev->opts.timeout_ms / 2 < DRAIN_MS ? dev->opts.timeout_ms / 2 : DRAIN_MS;
	uint64_t deadline = annex_deadline_ms(ms);
	unsigned int drained = 0;
	int err = -EBUSY;

	pthread_mutex_lock(&dev->recover_lock);
	while (drained < dev->nio && drain(dev->io[drained].qp, deadline))
		drained++;
	if (drained && drained == dev->nio && close_all_idle(dev))
		err = make_anew(dev);
	while (err == -EBUSY && drained) /* else they were created again, without this mark */
		annex_atomic_store(&dev->io[--drained].qp->starving, 0u, ANNEX_RELAXED);
	pthread_mutex_unlock(&dev->recover_lock);
	return err;
}

/* Abort one command. Return: whether that has ended it. */
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

/*
 * A command may wait for its turn behind commands of other processes for as long as the
 * controller's heartbeat goes on. Return: whether it has ended.
 */
static bool await_turn(struct annex_dev *dev, struct annex_qp *qp, uint64_t token)
{
	const struct annex_ctrl_ops *ops = dev->ctrl->ops;
	uint32_t seen = ops->beat ? ops->beat(dev->ctrl) : 0, beat = seen;
	uint64_t deadline = annex_deadline_ms(dev->opts.timeout_ms);
	bool told = false;

	for (unsigned int round = 0; beat && nvme_queue_pending(qp, token); round++) {
		beat = ops->beat(dev->ctrl);
		if (beat != seen) {
			if (!told)
				annex_log(ANNEX_LOG_WARNING,
					  "%s: a command has waited for %u ms for its turn behind "
					  "commands of other processes, and goes on waiting",
					  dev->uri, dev->opts.timeout_ms);
			told = true;
			seen = beat;
			deadline = annex_deadline_ms(dev->opts.timeout_ms);
		}
		if (annex_now() >= deadline || annex_qp_down(qp))
			return false;
		annex_qp_help(qp);
		annex_qp_backoff(round);
	}
	return beat;
}

int annex_dev_recover(struct annex_dev *dev, struct annex_qp *qp, uint64_t token)
{
	uint32_t state;
	int err = 0;

	if (dev->fork.child)
		return fork_refuse(dev->uri);
	pthread_mutex_lock(&dev->recover_lock);
	state = annex_atomic_load(&qp->state, ANNEX_ACQUIRE);
	if (state == ANNEX_QP_DEAD) {
		err = -ENODEV;
	} else if (state == ANNEX_QP_BROKEN ||
		   (nvme_queue_pending(qp, token) && !await_turn(dev, qp, token))) {
		state = annex_atomic_load(&qp->state, ANNEX_ACQUIRE);
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

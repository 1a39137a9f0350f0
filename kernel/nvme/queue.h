/* SPDX-License-Identifier: GPL-2.0 */
/*
 * I/O queue pairs in the owner's memory (NVMe Base 2.0 sections 5.4 to 5.7).
 */
#ifndef ANNEX_QUEUE_H
#define ANNEX_QUEUE_H

#include <linux/types.h>

struct annex_ctrl;
struct annex_ioc_abort;
struct annex_ioc_queue;
struct annex_map;
struct annex_owner;
struct eventfd_ctx;

/**
 * struct annex_queue - A queue pair.
 * @ctrl: the controller.
 * @sq: mapping that the submission queue is in.
 * @cq: mapping that the completion queue is in.
 * @sq_addr: device address of the submission queue.
 * @cq_addr: device address of the completion queue.
 * @qid: identifier.
 * @depth: entries of each queue.
 * @event: eventfd that the interrupt signals; NULL: completions are polled.
 * @irq: interrupt number; 0: no interrupt.
 */
struct annex_queue {
	struct annex_ctrl *ctrl;
	struct annex_map *sq, *cq;
	u64 sq_addr, cq_addr;
	u32 qid;
	u32 depth;
	struct eventfd_ctx *event;
	int irq;
};

/* Call these under the controller's lock. */
int annex_queue_create(struct annex_owner *owner, struct annex_ioc_queue *args);
/* annex_queue_delete() - 0; -ENOENT; -EIO: the controller was reset, and all queue pairs ended. */
int annex_queue_delete(struct annex_owner *owner, u32 qid);
int annex_queue_abort(struct annex_owner *owner, struct annex_ioc_abort *args);
/* annex_queue_reset() - annex_ctrl_reset(), and free all queue pairs. */
int annex_queue_reset(struct annex_owner *owner);
/* annex_queue_bring_up() - annex_queue_reset() of the owner, or annex_ctrl_reset() without one. */
void annex_queue_bring_up(struct annex_ctrl *ctrl);
/* annex_queue_reset_after() - Reset after an error. Returns that of the reset, or else @err. */
int annex_queue_reset_after(struct annex_owner *owner, int err);
/* annex_queue_forget() - Free all queue pairs of an owner, after a reset. */
void annex_queue_forget(struct annex_owner *owner);

#endif

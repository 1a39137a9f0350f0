/* SPDX-License-Identifier: MIT */
/*
 * What a controller is to the queue code: registers, mapped memory, and a few hints.
 *
 * The NVMe driver (lib/nvme) sits above this interface, the emulated controllers (lib/emu) and the
 * kernel module's client below it. Data moves through queues in memory only; nothing here carries
 * a command.
 */
#ifndef ANNEX_CORE_CTRL_H
#define ANNEX_CORE_CTRL_H

#include <stddef.h>
#include <stdint.h>

struct annex_ctrl;
struct annex_fault;

/**
 * struct annex_ctrl_ops - One kind of controller. Every function may be called from any thread.
 * @read: read a register, 4 or 8 bytes wide. A controller that is gone reads as all ones.
 * @write: write a register, 4 or 8 bytes wide.
 * @doorbell: the 32-bit word that is the tail doorbell of SQ @qid (@cq 0) or the head doorbell of
 *	CQ @qid (@cq 1), to be written with plain stores; NULL if there is no such queue id.
 * @map: let the controller reach [@ptr, @ptr + @len); *@addr is its device address, contiguous
 *	for the whole range. -EEXIST when it overlaps a mapped range, -ENOMEM, -EFAULT.
 * @unmap: take back what map() gave. -ENOENT when there is no such range, -EBUSY while commands
 *	in flight use it.
 * @rung: the tail doorbell of SQ @qid was written. The controller may carry out what it announces
 *	in this thread. NULL where doorbells are hardware.
 * @assist: lend this thread to the controller for one pass over what concerns queue pair @qid;
 *	never blocks. NULL where the controller needs no help. Who calls @rung or @assist looks
 *	at CQ @qid afterwards: completions posted there meanwhile make no event.
 * @event: the number of the last event on CQ @qid; @sleep waits for the next. NULL: poll only.
 * @sleep: block until CQ @qid may have had an event after @seen, or until @deadline (annex_now()).
 *	May return early.
 * @wake: end the sleep of whoever sleeps on CQ @qid.
 * @inject: add a fault (annex/device.h); NULL where faults cannot be injected.
 * @close: release everything. No other call may be running.
 */
struct annex_ctrl_ops {
	uint64_t (*read)(struct annex_ctrl *ctrl, uint32_t reg, unsigned int width);
	void (*write)(struct annex_ctrl *ctrl, uint32_t reg, unsigned int width, uint64_t value);
	uint32_t *(*doorbell)(struct annex_ctrl *ctrl, uint16_t qid, int cq);
	int (*map)(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr);
	int (*unmap)(struct annex_ctrl *ctrl, uint64_t addr, size_t len);
	void (*rung)(struct annex_ctrl *ctrl, uint16_t qid);
	void (*assist)(struct annex_ctrl *ctrl, uint16_t qid);
	uint32_t (*event)(struct annex_ctrl *ctrl, uint16_t qid);
	void (*sleep)(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline);
	void (*wake)(struct annex_ctrl *ctrl, uint16_t qid);
	int (*inject)(struct annex_ctrl *ctrl, const struct annex_fault *fault);
	void (*close)(struct annex_ctrl *ctrl);
};

/* The first member of every controller. */
struct annex_ctrl {
	const struct annex_ctrl_ops *ops;
};

#endif

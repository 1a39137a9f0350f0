/* SPDX-License-Identifier: MIT */
/*
 * A controller, as the queue code sees it: queue pairs, mapped memory, and a few hints.
 *
 * The NVMe driver (lib/nvme) sits above this interface, the emulated controllers (lib/nvme/emu) and
 * the kernel module's client (lib/nvme/module) below it. Registers and the admin queue are theirs.
 * Data moves through queues in memory only; nothing here carries an I/O command.
 */
#ifndef ANNEX_CORE_CTRL_H
#define ANNEX_CORE_CTRL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/device.h>

struct annex_ctrl;

/**
 * struct annex_ctrl_ops - One kind of controller. Every function may be called from any thread, and
 * ends in bounded time. Errors are negative errnos, with annex_last_error().
 * @status: the register CSTS (Base 3.1.3.6); a controller that is gone reads as all ones.
 * @identify: the Identify command, into 4096 bytes.
 * @missing: bytes of the last block of a namespace that are not stored; NULL: there are none.
 * @create: make queue pair @qid of @depth entries, in memory at device addresses.
 * @destroy: end its commands, and forget it.
 * @abort: the Abort command; *@aborted: the controller says that it did.
 * @beat: a number that changes at least each second while the controller has commands of ours,
 *	which may wait for their turn behind other processes; 0: unknown. NULL: no
 *	controller of this kind tells.
 * @reset: after which there are no queue pairs, and no command is outstanding.
 * @doorbell: the 32-bit word that is the tail doorbell of SQ @qid (@cq 0) or the head doorbell of
 *	CQ @qid (@cq 1), to be written with plain stores; NULL if there is no such queue id.
 * @shadow: its shadow, and the event index in *@event; NULL: it has none. NULL: none has.
 * @map: let the controller reach [@ptr, @ptr + @len); *@addr is its device address, contiguous
 *	for the whole range. -EEXIST when it overlaps a mapped range, -ENOMEM, -EFAULT.
 * @map_sparse: the same, and nothing is pinned; NULL: memory must be.
 * @map_far: the same for memory that no load or store of this process reaches, at @far: data is
 *	moved by @copier. NULL: the controller moves data by itself.
 * @unmap: take back what map() gave. -ENOENT when there is no such range, -EBUSY while commands
 *	in flight use it.
 * @map_dmabuf: let it reach memory behind a dma-buf, which is at @ptr in this process if not NULL.
 * @alloc: zeroed memory of the controller's side, ANNEX_PLACE_HOST or _CMB; NULL: it has none.
 * @free: give such memory back.
 * @rung: the tail doorbell of SQ @qid was written. The controller may carry out the announced
 *	commands in this thread. NULL where doorbells are hardware.
 * @assist: lend this thread to the controller for one pass over the work of queue pair @qid;
 *	never blocks. NULL where the controller needs no help. A caller of @rung or @assist looks
 *	at CQ @qid afterwards: completions posted there meanwhile make no event.
 * @event: the number of the last event on CQ @qid; @sleep waits for the next. NULL: poll only.
 * @sleep: block until CQ @qid may have had an event after @seen, or until @deadline (annex_now()).
 *	May return early.
 * @wake: wake threads that sleep on CQ @qid.
 * @claim: annex_dev_claim(), or annex_dev_claim_shared() if @shared, of blocks that are there;
 *	NULL: the device has one user anyway.
 * @inject: add a fault (annex/device.h); NULL where faults cannot be injected.
 * @forked: in a child of fork(): close descriptors and unmap storage. After it, @rung and
 *	@assist do nothing, and @close releases memory of the process alone; the others are not
 *	called.
 * @close: release everything. No other call may be running. -EBUSY: commands have not ended, and
 *	their memory may still be read or written; the controller is released all the same.
 */
struct annex_ctrl_ops {
	uint32_t (*status)(struct annex_ctrl *ctrl);
	int (*identify)(struct annex_ctrl *ctrl, uint32_t cns, uint32_t nsid, void *data);
	uint32_t (*missing)(struct annex_ctrl *ctrl, uint32_t nsid);
	int (*create)(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq,
		      uint64_t cq);
	int (*destroy)(struct annex_ctrl *ctrl, uint16_t qid);
	int (*abort)(struct annex_ctrl *ctrl, uint16_t qid, uint16_t cid, bool *aborted);
	uint32_t (*beat)(struct annex_ctrl *ctrl);
	int (*reset)(struct annex_ctrl *ctrl);
	uint32_t *(*doorbell)(struct annex_ctrl *ctrl, uint16_t qid, int cq);
	uint32_t *(*shadow)(struct annex_ctrl *ctrl, uint16_t qid, int cq, uint32_t **event);
	int (*map)(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr);
	int (*map_sparse)(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr);
	int (*map_far)(struct annex_ctrl *ctrl, uint64_t far, size_t len,
		       const struct annex_copier *copier, uint64_t *addr);
	int (*unmap)(struct annex_ctrl *ctrl, uint64_t addr, size_t len);
	int (*map_dmabuf)(struct annex_ctrl *ctrl, int fd, uint64_t offset, void *ptr, size_t len,
			  uint64_t *addr);
	int (*alloc)(struct annex_ctrl *ctrl, enum annex_place place, size_t len, void **ptr,
		     uint64_t *addr);
	void (*free)(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t addr);
	void (*rung)(struct annex_ctrl *ctrl, uint16_t qid);
	void (*assist)(struct annex_ctrl *ctrl, uint16_t qid);
	uint32_t (*event)(struct annex_ctrl *ctrl, uint16_t qid);
	void (*sleep)(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline);
	void (*wake)(struct annex_ctrl *ctrl, uint16_t qid);
	int (*claim)(struct annex_ctrl *ctrl, uint32_t nsid, uint64_t first, uint64_t blocks,
		     bool shared);
	int (*inject)(struct annex_ctrl *ctrl, const struct annex_fault *fault);
	void (*forked)(struct annex_ctrl *ctrl);
	int (*close)(struct annex_ctrl *ctrl);
};

/**
 * struct annex_ctrl - The first member of every controller, which is ready for queue pairs.
 * @ops: its kind.
 * @queues: queue pairs that can be had, from identifier 1 on.
 * @depth: the most entries of a queue.
 * @pages: as in struct annex_io_limits.
 * @npages: likewise.
 * @provider: of the memory that it moves data from and to at the least cost; NULL: any is as good.
 * @timeout_ms: how long its user gives a command, once it is open; 0: that was not told.
 * @late: bytes that unmap() took back, and that stay pinned as long as there are the queue pairs
 *	that there were then.
 */
struct annex_ctrl {
	const struct annex_ctrl_ops *ops;
	unsigned int queues;
	uint32_t depth;
	const uint64_t *pages;
	uint64_t npages;
	const struct annex_provider *provider;
	uint32_t timeout_ms;
	uint64_t late;
};

#endif

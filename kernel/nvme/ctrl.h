/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A controller: its registers, its life, and what its parts share.
 *
 * Locks, outermost first: @lock, the caller's mmap_lock, @view.
 */
#ifndef ANNEX_CTRL_H
#define ANNEX_CTRL_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/nvme.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include "call.h"
#include "admin.h"
#include "cmb.h"
#include "shadow.h"

#define ANNEX_PAGE 4096u /* of PRPs, whatever the host's pages are: CC.MPS is 0 */
#define ANNEX_MAX_QUEUES 1024u

struct annex_owner;

/**
 * struct annex_count - What the controller has seen, for sysfs. Only ever counted up.
 */
struct annex_count {
	atomic64_t opens, maps, unmaps, creates, deletes, resets, refusals;
};

/**
 * struct annex_ctrl - One controller.
 * @dev, @cdev: its character device; the last reference to @dev frees all of this.
 * @pdev: the PCI device; not to be touched when @gone.
 * @lock: one ioctl, reset or removal at a time. Never held while user memory is touched, except to
 *	pin it.
 * @view: what user space may have in its page tables: taken for reading to put something in, and
 *	for writing to change what may be. Read under the caller's mmap_lock.
 * @open: whether doorbells and controller memory are what their mappings show (@view).
 * @gone: removed, or dead beyond a reset. Written under @lock and @view.
 * @bar, @bar_bytes: BAR 0.
 * @door_bytes: bytes of doorbells from 0x1000 on, whole pages, none of them anything else's.
 * @sink: shown in place of doorbells and controller memory that are not there.
 * @cap: the CAP register. @queues: I/O queue pairs granted. @vectors: interrupts, one is the admin
 *	queue's. @max_transfer: as in struct annex_ioc_info.
 * @iommu: a domain of translation is between the controller and memory.
 * @resets: how often queue pairs were lost.
 * @wait: sleepers in poll().
 * @owner: who has the file open.
 */
struct annex_ctrl {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	struct mutex lock; /* of all but @view */
	struct rw_semaphore view;
	bool open;
	bool gone;
	void __iomem *bar;
	resource_size_t bar_bytes;
	u32 door_bytes;
	struct page *sink;
	u64 cap;
	u32 queues;
	u32 vectors;
	u32 max_transfer;
	bool iommu;
	u32 resets;
	struct annex_admin admin;
	struct annex_shadow shadow;
	struct annex_cmb cmb;
	wait_queue_head_t wait;
	struct annex_owner *owner;
	struct annex_count count;
};

/* annex_ctrl_start() - Bring a controller up after probe. 0 or a negative errno. */
int annex_ctrl_start(struct annex_ctrl *ctrl);
/* annex_ctrl_stop() - Let it touch no memory any more, whatever it takes. It is gone then. */
void annex_ctrl_stop(struct annex_ctrl *ctrl);
/* annex_ctrl_free() - Free what it used, when its owner's mappings are cut. */
void annex_ctrl_free(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_reset() - Reset: all I/O queues end. -ENODEV when it does not come back; it touches no
 * memory any more then either.
 */
int annex_ctrl_reset(struct annex_ctrl *ctrl);
/* annex_ctrl_csts() - Its status; all ones when it is gone. */
u32 annex_ctrl_csts(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_alone() - Whether its IOMMU group, and so its domain, is not that of other devices
 * too, whose memory an owner could reach. -EPERM, with a line.
 */
int annex_ctrl_alone(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_domain() - Whether what is between the controller and memory lets it reach what is
 * mapped and nothing else. -EPERM, with a line: identity, or one that forgets unmapped pages late.
 */
int annex_ctrl_domain(struct annex_ctrl *ctrl);

/*
 * annex_ctrl_sees() - Whether the controller and the CPU see the same bytes behind an address at
 * any time: queues are polled by both, so a bounce buffer, or caches that are not kept in step,
 * would not do.
 */
bool annex_ctrl_sees(struct annex_ctrl *ctrl, dma_addr_t addr);

/* annex_ctrl_unseen() - Refuse to map what it does not see so: -EOPNOTSUPP, with a line. */
int annex_ctrl_unseen(struct annex_ctrl *ctrl);

#define annex_refuse(ctrl, err, fmt, ...)                                                          \
	({                                                                                         \
		struct annex_ctrl *_ctrl = (ctrl);                                                 \
		annex_refused(&_ctrl->dev, &_ctrl->count.refusals, err, fmt, ##__VA_ARGS__);       \
	})

#endif

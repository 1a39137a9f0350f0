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
#include <linux/io.h>
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
 * struct annex_count - Counters for sysfs.
 * @opens: opened files.
 * @maps: mappings made.
 * @unmaps: mappings removed.
 * @creates: queue pairs created.
 * @deletes: queue pairs deleted.
 * @resets: resets of the controller.
 * @refusals: calls refused.
 */
struct annex_count {
	atomic64_t opens, maps, unmaps, creates, deletes, resets, refusals;
};

/**
 * struct annex_ctrl - A controller.
 * @dev: device of the character device; its last reference frees this structure.
 * @cdev: character device.
 * @pdev: PCI device; not to be touched when @gone.
 * @lock: serialises calls, resets and removal. Never held while user memory is touched, except to
 *	pin it.
 * @view: protects page tables of user space: held for reading to insert a page, for writing to
 *	change what may be inserted. Taken for reading under the caller's mmap_lock.
 * @open: mappings show doorbells and controller memory, and not @sink (@view).
 * @gone: the controller is removed, or dead beyond a reset. Written under @lock and @view.
 * @asleep: it has no power, or does not answer, until annex_ctrl_wake().
 * @bar: mapped BAR 0.
 * @bar_bytes: its size.
 * @door_bytes: bytes of doorbells from 0x1000 on, in pages that hold nothing else.
 * @sink: page that mappings show in place of doorbells and controller memory.
 * @cap: CAP register.
 * @queues: number of I/O queue pairs that the controller grants.
 * @vectors: number of interrupt vectors; the first is the admin queue's.
 * @max_transfer: as in struct annex_ioc_info.
 * @iommu: the controller is in a translating IOMMU domain.
 * @resets: number of times that queue pairs were lost.
 * @admin: admin queue.
 * @shadow: shadow doorbells.
 * @cmb: controller memory.
 * @wait: sleepers in poll().
 * @owner: the open file, or NULL.
 * @count: counters.
 */
struct annex_ctrl {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	struct mutex lock; /* serialises calls */
	struct rw_semaphore view;
	bool open;
	bool gone, asleep;
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
/* annex_ctrl_stop() - Stop all access to memory, by any means. The controller is gone then. */
void annex_ctrl_stop(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_sleep() - Let nobody at it until annex_ctrl_wake(), after which it wants a reset;
 * @reachable: it is shut down.
 */
void annex_ctrl_sleep(struct annex_ctrl *ctrl, bool reachable);
void annex_ctrl_wake(struct annex_ctrl *ctrl);
/* annex_ctrl_free() - Free its queues and pages, when the owner's mappings are cut. */
void annex_ctrl_free(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_reset() - Reset the controller: all I/O queues end. -ENODEV: it does not come back,
 * and is stopped.
 */
int annex_ctrl_reset(struct annex_ctrl *ctrl);
/* annex_ctrl_csts() - The CSTS register; all ones when the controller is gone. */
static inline u32 annex_ctrl_csts(struct annex_ctrl *ctrl)
{
	return ctrl->gone ? U32_MAX : readl(ctrl->bar + NVME_REG_CSTS);
}

/*
 * annex_ctrl_alone() - Check that no other device is in its IOMMU group, and so in its domain,
 * where an owner could reach the memory of that device. -EPERM, with a line.
 */
int annex_ctrl_alone(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_direct() - Check that firmware asks for no memory that the controller reaches whatever
 * the owner maps (IOMMU_RESV_DIRECT, as of an RMRR; not those that are relaxable, which Linux may
 * leave out). -EPERM, with a line; -ENOMEM.
 */
int annex_ctrl_direct(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_domain() - Whether what is between the controller and memory lets it reach what is
 * mapped and nothing else. -EPERM, with a line: identity, or one that forgets unmapped pages late.
 */
int annex_ctrl_domain(struct annex_ctrl *ctrl);

/*
 * annex_ctrl_namespace() - Check what annex_admin_identify() was told of a namespace, which may be
 * none: -EOPNOTSUPP, with a line: it has metadata, or other blocks than the library's.
 */
int annex_ctrl_namespace(struct annex_ctrl *ctrl, u32 nsid);

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

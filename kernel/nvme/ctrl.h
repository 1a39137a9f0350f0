/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A controller: registers, lifetime, and the state that its files share.
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
#include "event.h"
#include "export.h"
#include "space.h"

#define ANNEX_PAGE 4096u /* page size of the controller: CC.MPS is 0 */
#define ANNEX_MAX_QUEUES 1024u

struct annex_map;
struct annex_owner;
struct file;
struct vm_area_struct;

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
 * struct annex_shadow - Shadow doorbells (Doorbell Buffer Config, NVMe Base 2.0 section 5.8).
 * @area: doorbells, and event indices, which the owner and the controller share.
 * @on: the controller supports them.
 */
struct annex_shadow {
	struct annex_area area[2];
	bool on;
};

/**
 * struct annex_hmb - Host memory buffer.
 * @chunk: its parts; NULL: there is none.
 * @n: number of @chunk.
 * @pages: their pages.
 * @list: descriptors of the parts, which the controller can read only.
 */
struct annex_hmb {
	struct annex_area *chunk;
	u32 n, pages;
	struct annex_area list;
};

/**
 * struct annex_sriov - Virtual functions of a controller.
 * @managed: the controller has Virtualization Management.
 * @flexible: the controller's queues and interrupts are divided between them.
 * @claimed: there are virtual functions, or will be: the controller has no owner (@lock).
 * @controller: identifier of the controller.
 * @queues: queue pairs of each function, with the admin queue.
 * @vectors: interrupt vectors of each function.
 * @private_vectors: interrupt vectors that stay with the controller.
 * @all_queues: as @queues of struct annex_ctrl, without virtual functions.
 * @all_vectors: as @vectors of struct annex_ctrl, likewise.
 */
struct annex_sriov {
	bool managed, flexible, claimed;
	u16 controller;
	u16 queues, vectors;
	u32 private_vectors;
	u32 all_queues, all_vectors;
};

/**
 * struct annex_ctrl - A controller.
 * @dev: device of the character device; its last reference frees this structure.
 * @cdev: character device.
 * @pdev: PCI device; must not be accessed when @gone.
 * @lock: serialises calls, resets and removal. Never held while user memory is accessed, except to
 *	pin it. Calls take it by annex_ctrl_lock().
 * @view: protects user page tables: held for reading to insert a page, for writing to change the
 *	pages that faults insert. Taken for reading under the caller's mmap_lock.
 * @open: faults insert doorbells and controller memory rather than @dummy (@view).
 * @gone: the controller was removed, or failed a reset. Written under @lock and @view.
 * @asleep: the controller has no power, or a PCI error cut it off: it is not a bus master until
 *	annex_ctrl_wake() and a reset.
 * @paused: the PCI core is resetting the controller. Written under @lock.
 * @saved: configuration space as probe has set it, without bus mastering.
 * @functions: entry in the list of virtual functions (driver.c).
 * @shaky: jiffies until which the PCI core may reset the device, after an error that was not fatal.
 * @ready_us: longest time in which CSTS.RDY follows CC.EN.
 * @shutdown_us: longest time of a shutdown.
 * @slow_stop: the status must not be read for a while after CC.EN was cleared.
 * @bar: mapped BAR 0.
 * @bar_bytes: size of BAR 0.
 * @door_bytes: bytes of doorbells from 0x1000 on, in pages without other registers.
 * @dummy: page that mappings show in place of doorbells and controller memory.
 * @cap: CAP register.
 * @vs: VS register.
 * @queues: number of I/O queue pairs that the controller grants.
 * @vectors: number of interrupt vectors; the first is the admin queue's.
 * @max_transfer: as in struct annex_ioc_info.
 * @space: its device addresses.
 * @resets: number of times that queue pairs were lost.
 * @admin: admin queue.
 * @shadow: shadow doorbells.
 * @hmb: host memory buffer.
 * @cmb: controller memory.
 * @exports: dma-bufs of controller memory; created and ended under @lock.
 * @sriov: its virtual functions.
 * @event: its asynchronous events.
 * @wait: waiters in poll(), and in annex_ctrl_lock().
 * @owner: the file that was opened for writing, or NULL.
 * @count: counters.
 */
struct annex_ctrl {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	struct mutex lock; /* serialises calls */
	struct rw_semaphore view;
	bool open;
	bool gone, asleep, paused;
	struct pci_saved_state *saved;
	u32 ready_us, shutdown_us;
	bool slow_stop;
	struct list_head functions;
	u64 shaky;
	void __iomem *bar;
	resource_size_t bar_bytes;
	u32 door_bytes;
	struct page *dummy;
	u64 cap;
	u32 vs;
	u32 queues;
	u32 vectors;
	u32 max_transfer;
	struct annex_space space;
	u32 resets;
	struct annex_admin admin;
	struct annex_shadow shadow;
	struct annex_hmb hmb;
	struct annex_cmb cmb;
	struct annex_exports exports;
	struct annex_sriov sriov;
	struct annex_event event;
	wait_queue_head_t wait;
	struct annex_owner *owner;
	struct annex_count count;
};

/* annex_ctrl_lock() - Take @lock, once the PCI core is not resetting the controller. */
static inline void annex_ctrl_lock(struct annex_ctrl *ctrl)
{
	mutex_lock(&ctrl->lock);
	while (ctrl->paused) {
		mutex_unlock(&ctrl->lock);
		wait_event(ctrl->wait, !READ_ONCE(ctrl->paused));
		mutex_lock(&ctrl->lock);
	}
}

/*
 * annex_ctrl_is_shaky() - Whether the PCI core may be about to reset the device. Either answer is
 * right while that changes, so nothing is ordered.
 */
static inline bool annex_ctrl_is_shaky(const struct annex_ctrl *ctrl)
{
	return time_before64(get_jiffies_64(), READ_ONCE(ctrl->shaky));
}

/* annex_ctrl_start() - Bring a controller up after probe. 0 or a negative errno. */
int annex_ctrl_start(struct annex_ctrl *ctrl);
/* annex_ctrl_stop() - Stop all accesses to memory. The controller is gone afterwards. */
void annex_ctrl_stop(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_sleep() - Block all accesses until annex_ctrl_wake(), which must be followed by a
 * reset. A @reachable controller is shut down.
 */
void annex_ctrl_sleep(struct annex_ctrl *ctrl, bool reachable);
void annex_ctrl_wake(struct annex_ctrl *ctrl);
/* annex_ctrl_free() - Free the module's queues and pages, after the owner's mappings. */
void annex_ctrl_free(struct annex_ctrl *ctrl);
/*
 * annex_ctrl_reset() - Reset the controller, which ends all I/O queues. Whatever the result, its
 * commands reach no memory any more. -ENODEV: it failed to become ready, and is stopped; -EAGAIN:
 * it is asleep.
 */
int annex_ctrl_reset(struct annex_ctrl *ctrl);
/* annex_ctrl_csts() - The CSTS register; all ones when the controller is gone. */
static inline u32 annex_ctrl_csts(struct annex_ctrl *ctrl)
{
	return ctrl->gone ? U32_MAX : readl(ctrl->bar + NVME_REG_CSTS);
}

/*
 * annex_ctrl_namespace() - Check the data of annex_admin_identify() for a namespace, which may be
 * inactive. -EOPNOTSUPP, with a line: metadata other than protection information of 8 bytes, or
 * blocks of less than 512 bytes or more than 16 KiB.
 */
int annex_ctrl_namespace(struct annex_ctrl *ctrl, u32 nsid);

/* annex_shadow_init() - Allocate the pages, if @supported. 0 or -ENOMEM. */
int annex_shadow_init(struct annex_ctrl *ctrl, bool supported);
void annex_shadow_exit(struct annex_ctrl *ctrl);
/* annex_shadow_begin() - Clear the pages, and pass them to the controller. 0 or an error. */
int annex_shadow_begin(struct annex_ctrl *ctrl);

/*
 * annex_hmb_init() - Allocate the buffer whose size annex_admin_identify()'s data has. A failure
 * is a line in the log.
 */
void annex_hmb_init(struct annex_ctrl *ctrl);
void annex_hmb_exit(struct annex_ctrl *ctrl);
/*
 * annex_hmb_begin() - Clear the buffer, and pass it to the controller. A controller that refuses it
 * works without: a line, and 0. A negative errno of annex_admin_run().
 */
int annex_hmb_begin(struct annex_ctrl *ctrl);

/*
 * annex_sriov_configure() - Have @n virtual functions, or none, under the device's lock. Return:
 * @n; -EBUSY, with a line: the controller has an owner; -ENOSPC, with a line: too few queues.
 */
int annex_sriov_configure(struct pci_dev *pdev, int n);
/* annex_sriov_begin() - Bring virtual functions online after a reset. 0 or an error. */
int annex_sriov_begin(struct annex_ctrl *ctrl);

/*
 * The view: the mappings of user space. Faults insert doorbells, shadow doorbells and controller
 * memory; new host memory is mapped at once. A reset or a removal removes all but host memory.
 * Faults then insert a dummy page, so that stores of an owner that has not noticed the reset have
 * no effect. Dma-bufs of controller memory end with the pages.
 *
 * annex_view_open() - Let faults insert pages of the controller.
 */
void annex_view_open(struct annex_ctrl *ctrl);
/* annex_view_close() - Remove its pages from all page tables, until annex_view_open(). */
void annex_view_close(struct annex_ctrl *ctrl);
/* annex_view_end() - Remove the pages for good: the controller is gone. */
void annex_view_end(struct annex_ctrl *ctrl);
/* annex_view_forget() - Remove the pages of one mapping of controller memory, and its dma-bufs. */
void annex_view_forget(struct annex_ctrl *ctrl, const struct annex_map *map);
int annex_view_mmap(struct file *file, struct vm_area_struct *vma);

/*
 * annex_share_settle() - Wait until no device has a dma-buf of controller memory mapped, which all
 * have ended, without locks. false, with a line: one still has, after 5 s.
 */
bool annex_share_settle(struct annex_ctrl *ctrl);

extern struct pci_driver annex_ctrl_driver;

#define annex_refuse(ctrl, err, fmt, ...)                                                          \
	({                                                                                         \
		struct annex_ctrl *_ctrl = (ctrl);                                                 \
		annex_refused(&_ctrl->dev, &_ctrl->count.refusals, err, fmt, ##__VA_ARGS__);       \
	})

#endif

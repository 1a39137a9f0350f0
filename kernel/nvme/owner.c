// SPDX-License-Identifier: GPL-2.0
/*
 * Files of a controller and their calls. One that was opened for writing owns the controller, and
 * resets it; others can ask it questions beside the owner.
 */
#include <linux/capability.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/annex.h>
#include "ask.h"
#include "compat.h"
#include "ctrl.h"
#include "map.h"
#include "owner.h"
#include "queue.h"

static bool allow_no_iommu;
module_param(allow_no_iommu, bool, 0444);
MODULE_PARM_DESC(allow_no_iommu,
		 "without an IOMMU let CAP_SYS_RAWIO open controllers, and so reach all memory");

/* The exporter of a dma-buf has moved the memory: reset the controller, then unmap. */
static void owner_revoke(struct work_struct *work)
{
	struct annex_map *map = container_of(work, struct annex_map, moved);
	struct annex_ctrl *ctrl = map->ctrl;

	annex_ctrl_lock(ctrl);
	if (ctrl->owner && map->span.segs) {
		dev_warn_ratelimited(&ctrl->dev, "a dma-buf was taken away: reset\n");
		annex_queue_reset(ctrl->owner);
		annex_map_unmap(map);
	}
	mutex_unlock(&ctrl->lock);
}

/* End the queues of an owner, and unmap its memory. */
static void owner_end(struct annex_owner *owner, struct list_head *maps)
{
	annex_queue_forget(owner);
	annex_map_unmap_all(owner, maps);
}

void annex_owner_evict(struct annex_ctrl *ctrl)
{
	LIST_HEAD(maps);

	mutex_lock(&ctrl->lock);
	annex_ctrl_stop(ctrl);
	if (ctrl->owner)
		owner_end(ctrl->owner, &maps);
	annex_ctrl_free(ctrl);
	mutex_unlock(&ctrl->lock);
	annex_map_free_all(&maps);
}

void annex_owner_pause(struct annex_ctrl *ctrl)
{
	device_lock_assert(&ctrl->pdev->dev);
	mutex_lock(&ctrl->lock);
	WRITE_ONCE(ctrl->paused, true);
	if (!ctrl->gone)
		annex_view_close(ctrl);
	mutex_unlock(&ctrl->lock);
	annex_share_settle(ctrl);
}

void annex_owner_resume(struct annex_ctrl *ctrl)
{
	device_lock_assert(&ctrl->pdev->dev);
	mutex_lock(&ctrl->lock);
	if (!ctrl->gone)
		annex_ctrl_wake(ctrl); /* the reset is also a way out of a failed recovery */
	annex_queue_bring_up(ctrl);
	WRITE_ONCE(ctrl->paused, false);
	mutex_unlock(&ctrl->lock);
	wake_up_all(&ctrl->wait);
}

void annex_owner_sleep(struct annex_ctrl *ctrl, bool reachable)
{
	mutex_lock(&ctrl->lock);
	if (!ctrl->gone)
		annex_ctrl_sleep(ctrl, reachable);
	mutex_unlock(&ctrl->lock);
}

void annex_owner_wake(struct annex_ctrl *ctrl)
{
	mutex_lock(&ctrl->lock);
	if (!ctrl->gone && ctrl->asleep) {
		annex_ctrl_wake(ctrl);
		annex_queue_bring_up(ctrl);
	}
	mutex_unlock(&ctrl->lock);
	wake_up_all(&ctrl->wait);
}

static int owner_may_open(struct annex_ctrl *ctrl)
{
	/* Without isolated MSI a DMA write can raise interrupts of other devices. */
	if (ctrl->space.domain && annex_isolated_msi(&ctrl->pdev->dev))
		return 0;
	if (!allow_no_iommu || !capable(CAP_SYS_RAWIO))
		return annex_refuse(ctrl, -EPERM,
				    "no IOMMU%s: needs allow_no_iommu=1 and CAP_SYS_RAWIO",
				    ctrl->space.domain ? " for interrupts" : "");
	if (security_locked_down(LOCKDOWN_PCI_ACCESS))
		return annex_refuse(ctrl, -EPERM, "no IOMMU, and the kernel is locked down");
	add_taint(TAINT_USER, LOCKDEP_STILL_OK);
	return 0;
}

/* Make a file that was opened for writing the owner. */
static int owner_claim(struct annex_ctrl *ctrl, struct annex_owner *owner)
{
	int err;

	if (ctrl->owner)
		return -EBUSY;
	if (ctrl->asleep)
		return annex_refuse(ctrl, -EAGAIN, "open: it recovers from an error, or sleeps");
	if (ctrl->sriov.claimed)
		return annex_refuse(ctrl, -EBUSY, "open: it has virtual functions");
	if (!annex_exports_idle(&ctrl->exports))
		return annex_refuse(ctrl, -EBUSY, "open: a device still accesses its memory");
	err = owner_may_open(ctrl);
	if (!err)
		err = annex_cmb_clear(ctrl);
	if (err)
		return err;
	clear_page(page_address(ctrl->dummy));
	ctrl->cmb.used = true; /* commands reach all of it, also unmapped parts */
	ctrl->owner = owner;
	atomic64_inc(&ctrl->count.opens);
	return 0;
}

static int owner_open(struct inode *inode, struct file *file)
{
	struct annex_ctrl *ctrl = container_of(inode->i_cdev, struct annex_ctrl, cdev);
	struct annex_owner *owner;
	int err = 0;

	owner = kzalloc(sizeof(*owner), GFP_KERNEL_ACCOUNT);
	if (!owner)
		return -ENOMEM;
	owner->ctrl = ctrl;
	owner->mapping = inode->i_mapping;
	xa_init_flags(&owner->maps, XA_FLAGS_ALLOC1);
	xa_init(&owner->queues);
	annex_ctrl_lock(ctrl);
	if (ctrl->gone)
		err = -ENODEV;
	else if (file->f_mode & FMODE_WRITE)
		err = owner_claim(ctrl, owner);
	if (!err) {
		get_device(&ctrl->dev);
		memcpy(owner->read, ctrl->event.count, sizeof(owner->read));
		file->private_data = owner;
		file->f_mapping = owner->mapping;
	}
	mutex_unlock(&ctrl->lock);
	if (err)
		kfree(owner);
	return err ? err : nonseekable_open(inode, file);
}

static int owner_release(struct inode *inode, struct file *file)
{
	struct annex_owner *owner = file->private_data;
	struct annex_ctrl *ctrl = owner->ctrl;
	LIST_HEAD(maps);

	annex_ctrl_lock(ctrl);
	/* Commands may be in flight, and the admin queue may have been rung. */
	if (annex_owner_owns(owner) && !ctrl->gone && owner->version_checked)
		annex_queue_reset(owner);
	owner_end(owner, &maps);
	if (annex_owner_owns(owner))
		ctrl->owner = NULL;
	mutex_unlock(&ctrl->lock);
	annex_map_free_all(&maps);
	if (file->f_mode & FMODE_WRITE)
		annex_share_settle(ctrl); /* usually importers unmap at once, for the next owner */
	xa_destroy(&owner->maps);
	xa_destroy(&owner->queues);
	kfree(owner);
	put_device(&ctrl->dev);
	return 0;
}

/* A bit for each log page that an event has named, and that this file has not read since. */
static u32 owner_unread(struct annex_owner *owner)
{
	const u32 *count = owner->ctrl->event.count;
	u32 logs = 0;

	/* poll() has no lock: each change of @count is followed by a wakeup. */
	for (unsigned int i = 0; i < ANNEX_EVENT_LOGS; i++)
		if (READ_ONCE(count[i]) != READ_ONCE(owner->read[i]))
			logs |= BIT(i);
	return logs;
}

static __poll_t owner_poll(struct file *file, struct poll_table_struct *wait)
{
	struct annex_owner *owner = file->private_data;

	poll_wait(file, &owner->ctrl->wait, wait);
	if (READ_ONCE(owner->ctrl->gone))
		return EPOLLHUP | EPOLLERR;
	if (READ_ONCE(owner->ctrl->asleep))
		return 0;
	return EPOLLOUT | EPOLLWRNORM | (owner_unread(owner) ? EPOLLPRI : 0);
}

static long owner_info(void *self, void *arg)
{
	struct annex_owner *owner = self;
	struct annex_ioc_info *args = arg;
	struct annex_ctrl *ctrl = owner->ctrl;
	u32 abi = args->abi;

	*args = (struct annex_ioc_info){
		.size = sizeof(*args),
		.abi = ANNEX_ABI,
		.flags = ctrl->cmb.flags | (ctrl->space.domain ? ANNEX_INFO_IOMMU : 0) |
			 (ctrl->shadow.on ? ANNEX_INFO_SHADOW : 0) |
			 (ctrl->admin.requested || ctrl->admin.happened ? ANNEX_INFO_EVENTS : 0),
		.vs = ctrl->vs,
		.cap = ctrl->cap,
		.cmb_bytes = (u64)ctrl->cmb.pages * ANNEX_PAGE,
		.queues = ctrl->queues,
		.max_depth = NVME_CAP_MQES(ctrl->cap) + 1,
		.max_transfer = ctrl->max_transfer,
		.vectors = ctrl->vectors ? ctrl->vectors - 1 : 0,
		.doorbells = ctrl->door_bytes,
	};
	if (abi != ANNEX_ABI)
		return annex_refuse(ctrl, -EPROTONOSUPPORT, "version %u, this is %u", abi,
				    ANNEX_ABI);
	WRITE_ONCE(owner->version_checked, true); /* calls read it without a lock */
	return 0;
}

static long owner_identify(void *self, void *arg)
{
	return annex_ask_identify(self, arg);
}

static long owner_log(void *self, void *arg)
{
	return annex_ask_log(self, arg);
}

static long owner_feature(void *self, void *arg)
{
	return annex_ask_feature(self, arg);
}

static long owner_map(void *self, void *arg)
{
	struct annex_owner *owner = self;
	struct annex_ioc_map *args = arg;
	struct annex_ioc_seg *segs;
	int err = annex_map_create(owner, args, &segs, owner_revoke);

	if (err)
		return err;
	if (copy_to_user(u64_to_user_ptr(args->segs), segs, args->nsegs * sizeof(*segs))) {
		annex_map_remove(owner, args->id);
		err = -EFAULT;
	}
	kvfree(segs);
	return err;
}

/* The caller did not get the identifier. */
static void owner_undo_map(void *self, void *arg)
{
	annex_map_remove(self, ((struct annex_ioc_map *)arg)->id);
}

static long owner_unmap(void *self, void *arg)
{
	return annex_map_remove(self, ((struct annex_ioc_unmap *)arg)->id);
}

static long owner_queue_create(void *self, void *arg)
{
	return annex_queue_create(self, arg);
}

static long owner_queue_delete(void *self, void *arg)
{
	return annex_queue_delete(self, ((struct annex_ioc_qid *)arg)->qid);
}

static long owner_abort(void *self, void *arg)
{
	return annex_queue_abort(self, arg);
}

static long owner_dmabuf(void *self, void *arg)
{
	return annex_share_create(self, arg);
}

/* Also of a controller that is gone. */
static long owner_state(void *self, void *arg)
{
	struct annex_ctrl *ctrl = ((struct annex_owner *)self)->ctrl;
	struct annex_ioc_state *args = arg;

	annex_ctrl_lock(ctrl);
	args->csts = annex_ctrl_csts(ctrl);
	args->resets = ctrl->resets;
	args->unread = owner_unread(self);
	mutex_unlock(&ctrl->lock);
	return 0;
}

static long owner_reset(void *self, void *arg)
{
	return annex_queue_reset(self);
}

static const struct annex_call owner_calls[] = {
	{ANNEX_IOC_INFO, 56, owner_info, .locked = true, .first = true, .reads = true},
	{ANNEX_IOC_IDENTIFY, 24, owner_identify, .reads = true},
	{ANNEX_IOC_MAP, 56, owner_map, owner_undo_map},
	{ANNEX_IOC_UNMAP, 8, owner_unmap},
	{ANNEX_IOC_QUEUE_CREATE, 48, owner_queue_create, .locked = true},
	{ANNEX_IOC_QUEUE_DELETE, 8, owner_queue_delete, .locked = true},
	{ANNEX_IOC_ABORT, 16, owner_abort, .locked = true},
	{ANNEX_IOC_STATE, 16, owner_state, .reads = true},
	{ANNEX_IOC_RESET, 0, owner_reset, .locked = true},
	{ANNEX_IOC_LOG, 40, owner_log, .reads = true},
	{ANNEX_IOC_FEATURE, 24, owner_feature, .locked = true, .reads = true},
	{ANNEX_IOC_DMABUF, 24, owner_dmabuf, .locked = true},
};

static int owner_lock(void *self)
{
	struct annex_ctrl *ctrl = ((struct annex_owner *)self)->ctrl;

	annex_ctrl_lock(ctrl);
	if (!ctrl->gone)
		return 0;
	mutex_unlock(&ctrl->lock);
	return -ENODEV;
}

static void owner_unlock(void *self)
{
	mutex_unlock(&((struct annex_owner *)self)->ctrl->lock);
}

static long owner_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct annex_owner *owner = file->private_data;
	struct annex_ctrl *ctrl = owner->ctrl;
	const struct annex_caller by = {
		.self = owner,
		.file = file,
		.version_checked = &owner->version_checked,
		.lock = owner_lock,
		.unlock = owner_unlock,
		.dev = &ctrl->dev,
		.refusals = &ctrl->count.refusals,
	};

	return annex_call(&by, owner_calls, ARRAY_SIZE(owner_calls), cmd, arg);
}

const struct file_operations annex_owner_ops = {
	.owner = THIS_MODULE,
	.open = owner_open,
	.release = owner_release,
	.unlocked_ioctl = owner_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = annex_view_mmap,
	.poll = owner_poll,
};

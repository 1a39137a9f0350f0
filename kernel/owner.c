// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"
#include "map.h"
#include "owner.h"
#include "queue.h"
#include "trace.h"
#include "view.h"

static bool allow_no_iommu;
module_param(allow_no_iommu, bool, 0444);
MODULE_PARM_DESC(allow_no_iommu,
		 "without an IOMMU let CAP_SYS_RAWIO open controllers, and so reach all memory");

int annex_owner_reset(struct annex_owner *owner)
{
	int err = annex_ctrl_reset(owner->ctrl);

	trace_annex_reset(owner->ctrl, err);
	annex_queue_forget(owner);
	return err;
}

void annex_owner_revoke(struct annex_ctrl *ctrl, struct annex_map *map)
{
	mutex_lock(&ctrl->lock);
	if (ctrl->owner && map->live && !ctrl->gone) {
		dev_warn(&ctrl->dev, "a dma-buf was taken away: reset\n");
		annex_owner_reset(ctrl->owner);
		annex_map_cut(map);
	}
	mutex_unlock(&ctrl->lock);
}

/* Nothing of the owner's reaches the controller, or is reached by it, any more. */
static void end(struct annex_owner *owner, struct list_head *maps)
{
	annex_queue_forget(owner);
	annex_map_cut_all(owner, maps);
}

void annex_owner_evict(struct annex_ctrl *ctrl)
{
	LIST_HEAD(maps);

	mutex_lock(&ctrl->lock);
	annex_ctrl_stop(ctrl);
	if (ctrl->owner)
		end(ctrl->owner, &maps);
	annex_ctrl_free(ctrl);
	mutex_unlock(&ctrl->lock);
	annex_map_drop_all(&maps);
}

void annex_owner_pause(struct annex_ctrl *ctrl)
{
	mutex_lock(&ctrl->lock);
	if (!ctrl->gone)
		annex_view_close(ctrl);
}

void annex_owner_resume(struct annex_ctrl *ctrl)
{
	if (ctrl->owner)
		annex_owner_reset(ctrl->owner);
	else
		annex_ctrl_reset(ctrl);
	mutex_unlock(&ctrl->lock);
}

static int may_open(struct annex_ctrl *ctrl)
{
	bool safe;
	int err = annex_ctrl_domain(ctrl);

	if (!err)
		err = annex_ctrl_alone(ctrl);
	/* Data written to where interrupts are raised must not raise those of others. */
	safe = ctrl->iommu && annex_isolated_msi(&ctrl->pdev->dev);
	if (err || safe)
		return err;
	if (!allow_no_iommu || !capable(CAP_SYS_RAWIO))
		return annex_refuse(ctrl, -EPERM,
				    "no IOMMU%s: needs allow_no_iommu=1 and CAP_SYS_RAWIO",
				    ctrl->iommu ? " for interrupts" : "");
	add_taint(TAINT_USER, LOCKDEP_STILL_OK);
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
	mutex_lock(&ctrl->lock);
	if (ctrl->gone)
		err = -ENODEV;
	else if (ctrl->owner)
		err = -EBUSY;
	else
		err = may_open(ctrl);
	if (!err) {
		ctrl->owner = owner;
		atomic64_inc(&ctrl->count.opens);
		get_device(&ctrl->dev);
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

	mutex_lock(&ctrl->lock);
	/* Commands may be in flight, and the admin queue may have been rung. */
	if (!ctrl->gone && owner->hello)
		annex_owner_reset(owner);
	end(owner, &maps);
	ctrl->owner = NULL;
	mutex_unlock(&ctrl->lock);
	annex_map_drop_all(&maps);
	xa_destroy(&owner->maps);
	xa_destroy(&owner->queues);
	kfree(owner);
	put_device(&ctrl->dev);
	return 0;
}

static __poll_t owner_poll(struct file *file, struct poll_table_struct *wait)
{
	struct annex_owner *owner = file->private_data;

	poll_wait(file, &owner->ctrl->wait, wait);
	return READ_ONCE(owner->ctrl->gone) ? EPOLLHUP | EPOLLERR : 0;
}

static int do_info(struct annex_owner *owner, struct annex_ioc_info *args)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	u32 abi = args->abi;

	*args = (struct annex_ioc_info){
		.size = sizeof(*args),
		.abi = ANNEX_ABI,
		.flags = ctrl->cmb.flags | (ctrl->iommu ? ANNEX_INFO_IOMMU : 0) |
			 (ctrl->shadow.page[0] ? ANNEX_INFO_SHADOW : 0),
		.vs = readl(ctrl->bar + NVME_REG_VS),
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
	owner->hello = true;
	return 0;
}

static int do_identify(struct annex_owner *owner, struct annex_ioc_identify *args, void *data)
{
	int status;

	if (args->cns > NVME_ID_CNS_NS_ACTIVE_LIST)
		return annex_refuse(owner->ctrl, -EINVAL, "identify: cns %u", args->cns);
	status = annex_admin_identify(owner->ctrl, args->cns, args->nsid);
	if (status < 0)
		return annex_owner_reset(owner) ? -ENODEV : status;
	args->status = status;
	memcpy(data, owner->ctrl->admin.data, ANNEX_PAGE);
	return status ? -EIO : 0;
}

/*
 * The calls, under the lock: each takes its arguments in @arg and leaves its results there. @data
 * is a page for those that have more of them.
 */
static int call(struct annex_owner *owner, unsigned int cmd, void *arg, void *data)
{
	struct annex_ctrl *ctrl = owner->ctrl;

	if (ctrl->gone)
		return -ENODEV;
	switch (cmd) {
	case ANNEX_IOC_INFO:
		return do_info(owner, arg);
	case ANNEX_IOC_IDENTIFY:
		return do_identify(owner, arg, data);
	case ANNEX_IOC_QUEUE_CREATE:
		return annex_queue_create(owner, arg);
	case ANNEX_IOC_QUEUE_DELETE:
		return annex_queue_delete(owner, ((struct annex_ioc_qid *)arg)->qid);
	case ANNEX_IOC_ABORT:
		return annex_queue_abort(owner, arg);
	case ANNEX_IOC_RESET:
		return annex_owner_reset(owner);
	}
	return -ENOTTY;
}

/* A controller that is gone has a state too. */
static void do_state(struct annex_ctrl *ctrl, struct annex_ioc_state *args)
{
	mutex_lock(&ctrl->lock);
	args->csts = annex_ctrl_csts(ctrl);
	args->resets = ctrl->resets;
	mutex_unlock(&ctrl->lock);
}

static long do_map(struct annex_owner *owner, struct annex_ioc_map *args)
{
	struct annex_ioc_seg *segs;
	int err = annex_map_create(owner, args, &segs);

	if (err)
		return err;
	if (copy_to_user(u64_to_user_ptr(args->segs), segs, args->nsegs * sizeof(*segs))) {
		annex_map_remove(owner, args->id);
		err = -EFAULT;
	}
	kvfree(segs);
	return err;
}

union args {
	u32 size;
	struct annex_ioc_info info;
	struct annex_ioc_identify identify;
	struct annex_ioc_map map;
	struct annex_ioc_unmap unmap;
	struct annex_ioc_queue queue;
	struct annex_ioc_qid qid;
	struct annex_ioc_abort abort;
	struct annex_ioc_state state;
};

static long carry_out(struct annex_owner *owner, unsigned int cmd, union args *args)
{
	void *data = NULL;
	long err;

	if (cmd == ANNEX_IOC_MAP)
		return do_map(owner, &args->map);
	if (cmd == ANNEX_IOC_UNMAP)
		return annex_map_remove(owner, args->unmap.id);
	if (cmd == ANNEX_IOC_STATE) {
		do_state(owner->ctrl, &args->state);
		return 0;
	}
	if (cmd == ANNEX_IOC_IDENTIFY) {
		data = kmalloc(ANNEX_PAGE, GFP_KERNEL_ACCOUNT);
		if (!data)
			return -ENOMEM;
	}
	mutex_lock(&owner->ctrl->lock);
	err = call(owner, cmd, args, data);
	mutex_unlock(&owner->ctrl->lock);
	if (!err && data && copy_to_user(u64_to_user_ptr(args->identify.data), data, ANNEX_PAGE))
		err = -EFAULT;
	kfree(data);
	return err;
}

static long owner_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct annex_owner *owner = file->private_data;
	struct annex_ctrl *ctrl = owner->ctrl;
	void __user *at = (void __user *)user;
	union args args = {};
	long err;

	if (_IOC_TYPE(cmd) != 'A' || _IOC_NR(cmd) < _IOC_NR(ANNEX_IOC_INFO) ||
	    _IOC_NR(cmd) > _IOC_NR(ANNEX_IOC_RESET) || _IOC_SIZE(cmd) > sizeof(args))
		return -ENOTTY;
	if (_IOC_SIZE(cmd)) {
		if (copy_from_user(&args, at, _IOC_SIZE(cmd)))
			return -EFAULT;
		if (args.size != _IOC_SIZE(cmd))
			return annex_refuse(ctrl, -EINVAL, "call 0x%x: %u bytes", _IOC_NR(cmd),
					    args.size);
	}
	if (!READ_ONCE(owner->hello) && cmd != ANNEX_IOC_INFO)
		return annex_refuse(ctrl, -EPROTO, "call 0x%x before ANNEX_IOC_INFO", _IOC_NR(cmd));
	err = carry_out(owner, cmd, &args);
	/* Failures have results too: a status, a count, a version. */
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(at, &args, _IOC_SIZE(cmd))) {
		if (!err && cmd == ANNEX_IOC_MAP) /* nobody knows its name */
			annex_map_remove(owner, args.map.id);
		err = -EFAULT;
	}
	return err;
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

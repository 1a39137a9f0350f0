// SPDX-License-Identifier: GPL-2.0
/*
 * Identify, Get Log Page and Get Features (NVMe Base 2.0 sections 5.15 to 5.17) for open files.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "ask.h"
#include "owner.h"
#include "queue.h"

#define NO_SIDE_EFFECT BIT(7) /* of a log page: Retain Asynchronous Event */

static const u8 structures[] = {
	0, /* namespace */
	1, /* controller */
	2, /* list of active namespaces */
	3, /* descriptors of a namespace */
	5, /* namespace, of a command set */
	6, /* controller, of a command set */
	8, /* namespace, of any command set */
};

static const u8 logs[] = {
	1, /* errors */
	2, /* SMART */
	3, /* firmware slots */
	5, /* effects of commands */
};

static const u8 features[] = {
	2, /* power management */
	4, /* temperature threshold */
	6, /* volatile write cache */
};

static bool ask_lists(const u8 *list, size_t n, u32 id)
{
	return id <= U8_MAX && memchr(list, id, n);
}

static bool ask_is_recovering(const struct annex_ctrl *ctrl, int status)
{
	return ctrl->asleep || (status == -ENODEV && annex_ctrl_is_shaky(ctrl));
}

/* After a command: a file that is not the owner causes no reset, which ends queue pairs. */
static int ask_result(struct annex_owner *owner, int status, __u32 *told)
{
	if (status < 0 && (annex_owner_owns(owner) || !owner->ctrl->owner))
		return annex_queue_reset_after(owner, status);
	if (status < 0)
		return ask_is_recovering(owner->ctrl, status) ? -EAGAIN : status;
	*told = status;
	return status ? -EIO : 0;
}

/* Take the lock and run a command that reads data. Returns its data, to be freed. */
static void *ask_data(struct annex_owner *owner, struct nvme_command *cmd, __u32 *told,
		      int (*check)(struct annex_ctrl *ctrl, u32 nsid))
{
	struct annex_ctrl *ctrl = owner->ctrl;
	void *data = kmalloc(ANNEX_PAGE, GFP_KERNEL_ACCOUNT);
	int err = -ENODEV;

	if (!data)
		return ERR_PTR(-ENOMEM);
	annex_ctrl_lock(ctrl);
	if (!ctrl->gone)
		err = ask_result(owner, annex_admin_read(ctrl, cmd), told);
	if (!err && check)
		err = check(ctrl, le32_to_cpu(cmd->common.nsid));
	if (!err)
		memcpy(data, ctrl->admin.data.at, ANNEX_PAGE);
	mutex_unlock(&ctrl->lock);
	if (!err)
		return data;
	kfree(data);
	return ERR_PTR(err);
}

static long ask_copy(u64 to, void *data, u32 bytes)
{
	long err;

	if (IS_ERR(data))
		return PTR_ERR(data);
	err = copy_to_user(u64_to_user_ptr(to), data, bytes) ? -EFAULT : 0;
	kfree(data);
	return err;
}

long annex_ask_identify(struct annex_owner *owner, struct annex_ioc_identify *args)
{
	struct nvme_command cmd = {};
	void *data;

	if (!ask_lists(structures, sizeof(structures), args->cns))
		return annex_refuse(owner->ctrl, -EINVAL, "identify: cns %u", args->cns);
	cmd.identify.opcode = nvme_admin_identify;
	cmd.identify.nsid = cpu_to_le32(args->nsid);
	cmd.identify.cns = args->cns;
	data = ask_data(owner, &cmd, &args->status, args->cns ? NULL : annex_ctrl_namespace);
	return ask_copy(args->data, data, ANNEX_PAGE);
}

long annex_ask_log(struct annex_owner *owner, struct annex_ioc_log *args)
{
	struct nvme_command cmd = {};
	u32 events;
	void *data;

	if (!ask_lists(logs, sizeof(logs), args->lid) || args->rsvd)
		return annex_refuse(owner->ctrl, -EINVAL, "log: page 0x%02x", args->lid);
	if (!args->bytes || args->bytes > ANNEX_PAGE || !IS_ALIGNED(args->bytes | args->offset, 4))
		return annex_refuse(owner->ctrl, -EINVAL, "log: 0x%x bytes at 0x%llx", args->bytes,
				    args->offset);
	cmd.get_log_page.opcode = nvme_admin_get_log_page;
	cmd.get_log_page.nsid = cpu_to_le32(args->nsid);
	cmd.get_log_page.lid = args->lid;
	cmd.get_log_page.lsp = NO_SIDE_EFFECT;
	cmd.get_log_page.numdl = cpu_to_le16(args->bytes / 4 - 1);
	cmd.get_log_page.lpol = cpu_to_le32(lower_32_bits(args->offset));
	cmd.get_log_page.lpou = cpu_to_le32(upper_32_bits(args->offset));
	events = annex_event_count(owner->ctrl, args->lid); /* the data may lack later ones */
	data = ask_data(owner, &cmd, &args->status, NULL);
	if (!IS_ERR(data) && args->lid < ANNEX_EVENT_LOGS)
		WRITE_ONCE(owner->read[args->lid], events); /* poll() reads it without a lock */
	return ask_copy(args->data, data, args->bytes);
}

long annex_ask_feature(struct annex_owner *owner, struct annex_ioc_feature *args)
{
	struct nvme_command cmd = {};
	int status;

	if (!ask_lists(features, sizeof(features), args->fid) || args->select > 2)
		return annex_refuse(owner->ctrl, -EINVAL, "feature 0x%02x, select %u", args->fid,
				    args->select);
	cmd.features.opcode = nvme_admin_get_features;
	cmd.features.fid = cpu_to_le32(args->fid | args->select << 8);
	cmd.features.dword11 = cpu_to_le32(args->dw11);
	status = annex_admin_run(owner->ctrl, &cmd, &args->value);
	return ask_result(owner, status, &args->status);
}

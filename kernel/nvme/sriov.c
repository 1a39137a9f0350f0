// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual functions (SR-IOV): each is a controller of its own, for another user, with the
 * namespaces of the same drive. A drive with Virtualization Management divides its queues and
 * interrupts between the physical function and the virtual ones; elsewhere they are fixed.
 *
 * A reset of the physical function takes the virtual functions offline, and the module resets it
 * after each owner. So the physical function has no owner while there are virtual functions.
 */
#include <linux/pci.h>
#include "ctrl.h"

#define VIRT_MANAGEMENT 0x1c /* opcode */
#define CNS_PRIMARY 0x14
#define CNS_SECONDARIES 0x15
#define SECONDARIES 127 /* entries of a list */
#define ENTRY_BYTES 32

enum virt_action {
	VIRT_PRIMARY = 1, /* of the primary controller, after a function level reset */
	VIRT_OFFLINE = 7,
	VIRT_ASSIGN = 8,
	VIRT_ONLINE = 9,
};

/* Kinds of flexible resources: queue pairs, with the admin queue, and interrupt vectors. */
enum virt_kind { VIRT_QUEUES, VIRT_VECTORS };

/* Offsets in Primary Controller Capabilities, of queues; for vectors, add 32 bytes. */
#define PRIMARY_KINDS 4
#define PRIMARY_TOTAL 32
#define PRIMARY_PRIVATE 42
#define PRIMARY_MOST 44
#define PRIMARY_UNIT 46

/* Offsets in an entry of the Secondary Controller List. */
#define ENTRY_CONTROLLER 0
#define ENTRY_FUNCTION 8

static u32 sriov_field(const struct annex_ctrl *ctrl, enum virt_kind kind, unsigned int at)
{
	const void *data = ctrl->admin.data.at + kind * 32 + at;

	return at == PRIMARY_TOTAL ? le32_to_cpup(data) : le16_to_cpup(data);
}

static int sriov_run(struct annex_ctrl *ctrl, enum virt_action action, enum virt_kind kind,
		     u16 controller, u16 n)
{
	struct nvme_command cmd = {};
	int status;

	cmd.common.opcode = VIRT_MANAGEMENT;
	cmd.common.cdw10 = cpu_to_le32(action | kind << 8 | controller << 16);
	cmd.common.cdw11 = cpu_to_le32(n);
	status = annex_admin_run(ctrl, &cmd, NULL);
	if (status > 0)
		return annex_refuse(ctrl, -EIO, "virtual function %u: action %u, %u: status 0x%03x",
				    controller, action, n, status);
	return status;
}

static int sriov_identify(struct annex_ctrl *ctrl, u8 cns)
{
	int status = annex_admin_identify(ctrl, cns, 0);

	return status > 0 ? -EIO : status;
}

/* The share of each of @functions. */
static u16 sriov_share(struct annex_ctrl *ctrl, enum virt_kind kind, u32 functions)
{
	u32 unit = max(sriov_field(ctrl, kind, PRIMARY_UNIT), 1u);
	u32 share = sriov_field(ctrl, kind, PRIMARY_TOTAL) / functions;

	return rounddown(min(share, sriov_field(ctrl, kind, PRIMARY_MOST)), unit);
}

/* Give all flexible resources to the primary controller, or none of them. */
static int sriov_keep(struct annex_ctrl *ctrl, bool all)
{
	u16 controller = ctrl->sriov.controller, queues, vectors;
	int err = sriov_identify(ctrl, CNS_PRIMARY);

	if (err)
		return err;
	queues = all ? sriov_field(ctrl, VIRT_QUEUES, PRIMARY_TOTAL) : 0;
	vectors = all ? sriov_field(ctrl, VIRT_VECTORS, PRIMARY_TOTAL) : 0;
	err = sriov_run(ctrl, VIRT_PRIMARY, VIRT_QUEUES, controller, queues);
	return err ? err : sriov_run(ctrl, VIRT_PRIMARY, VIRT_VECTORS, controller, vectors);
}

static int sriov_plan(struct annex_ctrl *ctrl, u32 functions)
{
	struct annex_sriov *v = &ctrl->sriov;
	int err = sriov_identify(ctrl, CNS_PRIMARY);
	const u8 *data = ctrl->admin.data.at;

	if (err)
		return err;
	v->controller = le16_to_cpup((const __le16 *)data);
	v->flexible = (data[PRIMARY_KINDS] & 3) == 3;
	if (!v->flexible)
		return 0;
	v->queues = sriov_share(ctrl, VIRT_QUEUES, functions);
	v->vectors = sriov_share(ctrl, VIRT_VECTORS, functions);
	v->private_vectors = sriov_field(ctrl, VIRT_VECTORS, PRIMARY_PRIVATE);
	if (functions > SECONDARIES || v->queues < 2 || !v->vectors)
		return annex_refuse(ctrl, -ENOSPC,
				    "%u virtual functions of %u queues (2 needed), %u interrupts",
				    functions, v->queues, v->vectors);
	return sriov_keep(ctrl, false);
}

static int sriov_start_one(struct annex_ctrl *ctrl, u16 controller)
{
	const struct annex_sriov *v = &ctrl->sriov;
	int err = sriov_run(ctrl, VIRT_OFFLINE, 0, controller, 0);

	if (!err && v->flexible)
		err = sriov_run(ctrl, VIRT_ASSIGN, VIRT_QUEUES, controller, v->queues);
	if (!err && v->flexible)
		err = sriov_run(ctrl, VIRT_ASSIGN, VIRT_VECTORS, controller, v->vectors);
	return err ? err : sriov_run(ctrl, VIRT_ONLINE, 0, controller, 0);
}

static int sriov_stop_one(struct annex_ctrl *ctrl, u16 controller)
{
	int err = sriov_run(ctrl, VIRT_OFFLINE, 0, controller, 0);

	if (!err)
		err = sriov_run(ctrl, VIRT_ASSIGN, VIRT_QUEUES, controller, 0);
	return err ? err : sriov_run(ctrl, VIRT_ASSIGN, VIRT_VECTORS, controller, 0);
}

/* Call @fn for the controllers of functions 1 to @functions. */
static int sriov_each(struct annex_ctrl *ctrl, u32 functions,
		      int (*fn)(struct annex_ctrl *ctrl, u16 controller))
{
	u16 controllers[SECONDARIES];
	int err = sriov_identify(ctrl, CNS_SECONDARIES);
	const void *entry = ctrl->admin.data.at;
	unsigned int n = 0;

	if (err)
		return err;
	for (unsigned int left = min_t(u32, *(const u8 *)entry, SECONDARIES); left; left--) {
		u16 function;

		entry += ENTRY_BYTES;
		function = le16_to_cpup(entry + ENTRY_FUNCTION);
		if (function && function <= functions)
			controllers[n++] = le16_to_cpup(entry + ENTRY_CONTROLLER);
	}
	while (n-- && !err)
		err = fn(ctrl, controllers[n]);
	return err;
}

int annex_sriov_begin(struct annex_ctrl *ctrl)
{
	int n = pci_num_vf(ctrl->pdev);

	return n && ctrl->sriov.managed ? sriov_each(ctrl, n, sriov_start_one) : 0;
}

/* Release and take resources by a function level reset, without the lock: the handlers take it. */
static int sriov_reset(struct annex_ctrl *ctrl)
{
	int err = pci_reset_function_locked(ctrl->pdev);

	annex_ctrl_lock(ctrl);
	if (err)
		annex_refuse(ctrl, err, "virtual functions: no function level reset");
	else if (ctrl->gone || ctrl->asleep)
		err = ctrl->gone ? -ENODEV : -EAGAIN;
	mutex_unlock(&ctrl->lock);
	return err;
}

/* Prepare for @functions of them. 1: a function level reset is to follow. */
static int sriov_prepare(struct annex_ctrl *ctrl, u32 functions)
{
	int err = 0;

	annex_ctrl_lock(ctrl);
	if (ctrl->gone || ctrl->asleep)
		err = ctrl->gone ? -ENODEV : -EAGAIN;
	else if (ctrl->owner)
		err = annex_refuse(ctrl, -EBUSY, "virtual functions: a program has it open");
	else if (ctrl->sriov.managed)
		err = sriov_plan(ctrl, functions);
	ctrl->sriov.claimed = !err;
	mutex_unlock(&ctrl->lock);
	return err ? err : ctrl->sriov.managed && ctrl->sriov.flexible;
}

/* The end of virtual functions: their resources are the physical function's again. */
static void sriov_disable(struct annex_ctrl *ctrl)
{
	struct annex_sriov *v = &ctrl->sriov;
	int err = 0, n = pci_num_vf(ctrl->pdev);
	bool reset;

	pci_disable_sriov(ctrl->pdev);
	annex_ctrl_lock(ctrl);
	reset = !ctrl->gone && v->managed && v->flexible;
	if (reset && ctrl->asleep) {
		err = -EAGAIN;
	} else if (reset) {
		err = sriov_each(ctrl, n, sriov_stop_one);
		if (!err)
			err = sriov_keep(ctrl, true);
		ctrl->queues = v->all_queues;
		ctrl->vectors = v->all_vectors;
	}
	mutex_unlock(&ctrl->lock);
	if (!err && reset)
		err = sriov_reset(ctrl);
	if (err)
		dev_err(&ctrl->dev, "its virtual functions' queues stay theirs: error %d\n", err);
	annex_ctrl_lock(ctrl);
	v->claimed = false;
	mutex_unlock(&ctrl->lock);
}

static int sriov_enable(struct annex_ctrl *ctrl, int n)
{
	struct annex_sriov *v = &ctrl->sriov;
	int err = sriov_prepare(ctrl, n);

	v->all_queues = ctrl->queues;
	v->all_vectors = ctrl->vectors;
	if (err > 0)
		err = sriov_reset(ctrl);
	if (!err)
		err = pci_enable_sriov(ctrl->pdev, n);
	annex_ctrl_lock(ctrl);
	if (!err && v->flexible)
		ctrl->vectors = min(ctrl->vectors, v->private_vectors);
	if (!err)
		err = annex_sriov_begin(ctrl);
	mutex_unlock(&ctrl->lock);
	if (err && v->claimed)
		sriov_disable(ctrl);
	return err ? err : n;
}

int annex_sriov_configure(struct pci_dev *pdev, int n)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	device_lock_assert(&pdev->dev);
	if (n)
		return sriov_enable(ctrl, n);
	sriov_disable(ctrl);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Enabling, resetting and stopping a controller (NVMe Base 2.0 sections 3.5 to 3.7).
 */
#include <linux/delay.h>
#include <linux/iopoll.h>
#include "ctrl.h"

#define POLL_US 100
#define SLOW_STOP_MS 2300
#define TO_US (500 * USEC_PER_MSEC)     /* unit of CAP.TO and CRTO */
#define READY_MOST (300 * USEC_PER_SEC) /* for a CRTO that is wrong */
#define SHUTDOWN_MOST (60 * USEC_PER_SEC)
#define OACS_VIRTUALIZATION BIT(7)
#define PI_BYTES 8 /* of protection information with a guard of 16 bits */
#define SMART_WARNINGS GENMASK(4, 0)

/* Unlike annex_ctrl_csts(), also of a controller that is gone. */
static u32 ctrl_read_csts(struct annex_ctrl *ctrl)
{
	return readl(ctrl->bar + NVME_REG_CSTS);
}

/* Wait for CSTS & @mask to become @value. */
static int ctrl_wait_status(struct annex_ctrl *ctrl, u32 mask, u32 value, u32 limit)
{
	u32 csts;
	int err = read_poll_timeout(ctrl_read_csts, csts,
				    csts == U32_MAX || (csts & mask) == value ||
					    (value && csts & NVME_CSTS_CFS),
				    POLL_US, limit, false, ctrl);

	if (csts == U32_MAX)
		return -ENODEV;
	return (csts & mask) == value ? 0 : err ? err : -EIO;
}

static int ctrl_disable(struct annex_ctrl *ctrl)
{
	u32 cc = readl(ctrl->bar + NVME_REG_CC);

	writel(cc & ~(NVME_CC_ENABLE | NVME_CC_SHN_MASK), ctrl->bar + NVME_REG_CC);
	if (ctrl->slow_stop && cc & NVME_CC_ENABLE)
		msleep(SLOW_STOP_MS);
	return ctrl_wait_status(ctrl, NVME_CSTS_RDY, 0, ctrl->ready_us);
}

/* Request queue pairs, again after each reset. The controller may grant fewer. */
static int ctrl_set_queues(struct annex_ctrl *ctrl)
{
	struct nvme_command cmd = {};
	u32 result = 0;
	int status;

	cmd.features.opcode = nvme_admin_set_features;
	cmd.features.fid = cpu_to_le32(NVME_FEAT_NUM_QUEUES);
	cmd.features.dword11 = cpu_to_le32((ctrl->queues - 1) << 16 | (ctrl->queues - 1));
	status = annex_admin_run(ctrl, &cmd, &result);
	if (status)
		return status < 0 ? status : -EIO;
	ctrl->queues = min3((result & 0xffff) + 1, (result >> 16) + 1, ctrl->queues);
	return 0;
}

static int ctrl_enable(struct annex_ctrl *ctrl)
{
	int err = annex_admin_begin(ctrl);

	if (err)
		return err;
	writel(NVME_CC_ENABLE | NVME_CC_CSS_NVM | NVME_CC_IOSQES | NVME_CC_IOCQES,
	       ctrl->bar + NVME_REG_CC);
	err = ctrl_wait_status(ctrl, NVME_CSTS_RDY, NVME_CSTS_RDY, ctrl->ready_us);
	if (err)
		return err;
	annex_cmb_begin(ctrl);
	return ctrl_set_queues(ctrl);
}

/* Request events, again after each reset, if there is an interrupt for them. */
static int ctrl_request_events(struct annex_ctrl *ctrl)
{
	struct nvme_command cmd = {};

	if (!ctrl->event.irq)
		return 0;
	cmd.features.opcode = nvme_admin_set_features;
	cmd.features.fid = cpu_to_le32(NVME_FEAT_ASYNC_EVENT);
	cmd.features.dword11 = cpu_to_le32(SMART_WARNINGS);
	ctrl->admin.request = true;
	/* Errors are also reported by a controller that refuses this. */
	return min(annex_admin_run(ctrl, &cmd, NULL), 0);
}

/* No access reaches memory after this, even from a controller that does not answer. */
static void ctrl_silence(struct annex_ctrl *ctrl)
{
	u16 command;

	pci_clear_master(ctrl->pdev);
	/* The completion of this read follows posted writes that were in flight. */
	pci_read_config_word(ctrl->pdev, PCI_COMMAND, &command);
}

int annex_ctrl_reset(struct annex_ctrl *ctrl)
{
	int err;

	lockdep_assert_held(&ctrl->lock);
	if (ctrl->gone)
		return -ENODEV;
	if (ctrl->asleep) {
		ctrl_silence(ctrl); /* callers free memory that its commands use */
		return -EAGAIN;
	}
	annex_view_close(ctrl);
	ctrl->resets++;
	atomic64_inc(&ctrl->count.resets);
	err = ctrl_disable(ctrl);
	if (!err) {
		/* Not before: a controller that has woken may still have queues. */
		pci_set_master(ctrl->pdev);
		err = ctrl_enable(ctrl);
	}
	if (!err)
		err = annex_shadow_begin(ctrl);
	if (!err)
		err = annex_hmb_begin(ctrl);
	if (!err)
		err = annex_sriov_begin(ctrl);
	if (!err)
		err = ctrl_request_events(ctrl);
	if (!err) {
		annex_view_open(ctrl);
		return 0;
	}
	if (err == -ENODEV && annex_ctrl_is_shaky(ctrl)) {
		annex_ctrl_sleep(ctrl, false);
		return -EAGAIN;
	}
	dev_err(&ctrl->dev, "does not come back from a reset: error %d\n", err);
	ctrl_silence(ctrl);
	annex_view_end(ctrl);
	wake_up_all(&ctrl->wait);
	return -ENODEV;
}

static void ctrl_read_limits(struct annex_ctrl *ctrl)
{
	const struct nvme_id_ctrl *id = ctrl->admin.data.at;
	u32 shift = 12 + NVME_CAP_MPSMIN(ctrl->cap) + id->mdts;

	ctrl->max_transfer = id->mdts && shift < 32 ? 1u << shift : 0;
	ctrl->shutdown_us = clamp_t(u32, le32_to_cpu(id->rtd3e), ctrl->shutdown_us, SHUTDOWN_MOST);
}

/* End of the doorbells: the MSI-X table or pending bit array, or the end of BAR 0. */
static u64 ctrl_doorbell_end(struct annex_ctrl *ctrl)
{
	static const int where[] = {PCI_MSIX_TABLE, PCI_MSIX_PBA};
	u64 end = ctrl->bar_bytes;
	u32 reg;

	if (!ctrl->pdev->msix_cap)
		return end;
	for (unsigned int i = 0; i < ARRAY_SIZE(where); i++) {
		pci_read_config_dword(ctrl->pdev, ctrl->pdev->msix_cap + where[i], &reg);
		if (!(reg & PCI_MSIX_TABLE_BIR))
			end = min_t(u64, end, reg & PCI_MSIX_TABLE_OFFSET);
	}
	return end;
}

static int ctrl_place_doorbells(struct annex_ctrl *ctrl)
{
	u32 stride = 4u << NVME_CAP_STRIDE(ctrl->cap);
	u64 end = ctrl_doorbell_end(ctrl), pairs = 0;

	if (end >= NVME_REG_DBS)
		pairs = round_down(end - NVME_REG_DBS, PAGE_SIZE) / (2 * stride);
	if (pairs < 2) /* admin queue, and one I/O queue pair */
		return annex_refuse(ctrl, -EOPNOTSUPP, "its doorbells share a page with others");
	ctrl->queues = min_t(u64, ctrl->queues, pairs - 1);
	ctrl->door_bytes = PAGE_ALIGN(2 * (ctrl->queues + 1) * stride);
	return 0;
}

static int ctrl_identify(struct annex_ctrl *ctrl, bool *shadow)
{
	const struct nvme_id_ctrl *id = ctrl->admin.data.at;
	int status = annex_admin_identify(ctrl, NVME_ID_CNS_CTRL, 0);

	if (status)
		return status < 0 ? status : -EIO;
	ctrl_read_limits(ctrl);
	*shadow = le16_to_cpu(id->oacs) & NVME_CTRL_OACS_DBBUF_SUPP;
	ctrl->sriov.managed = le16_to_cpu(id->oacs) & OACS_VIRTUALIZATION;
	return 0;
}

/*
 * Commands must transfer blocks of 512 to 16384 bytes and nothing else. The controller can insert
 * and strip metadata that is protection information only (PRACT, NVM 5.2.2.1).
 */
static bool ctrl_transfers_blocks(const struct nvme_lbaf *format, bool protected)
{
	u16 metadata = le16_to_cpu(format->ms);

	return format->ds >= 9 && format->ds <= 14 &&
	       (!metadata || (protected && metadata == PI_BYTES));
}

int annex_ctrl_namespace(struct annex_ctrl *ctrl, u32 nsid)
{
	const struct nvme_id_ns *id = ctrl->admin.data.at;
	/* Bits 6:5 number the formats from 16 on, which are valid if there are so many (NLBAF). */
	u8 low = id->flbas & 15, high = id->nlbaf > 15 ? id->flbas >> 1 & 0x30 : 0;
	const struct nvme_lbaf *format = &id->lbaf[high | low];
	unsigned int other = 0, n = min_t(unsigned int, id->nlbaf + 1, ARRAY_SIZE(id->lbaf));

	if (!id->nsze || ctrl_transfers_blocks(format, id->dps & NVME_NS_DPS_PI_MASK))
		return 0;
	while (other < n && !ctrl_transfers_blocks(&id->lbaf[other], false))
		other++;
	if (other == n)
		return annex_refuse(ctrl, -EOPNOTSUPP,
				    "namespace %u: no format has plain blocks up to 16 KiB", nsid);
	return annex_refuse(ctrl, -EOPNOTSUPP,
			    "namespace %u: format %u (2^%u+%u bytes): nvme format -n %u --lbaf=%u",
			    nsid, high | low, format->ds, le16_to_cpu(format->ms), nsid, other);
}

/* CAP.TO ends at 127.5 s. Controllers that need longer have it in CRTO. */
static void ctrl_read_timeouts(struct annex_ctrl *ctrl)
{
	u32 ready = max_t(u32, NVME_CAP_TIMEOUT(ctrl->cap), 1);

	ctrl->shutdown_us = min_t(u32, ready * TO_US, SHUTDOWN_MOST);
	if (ctrl->cap & NVME_CAP_CRMS_CRWMS)
		ready = max_t(u32, ready, NVME_CRTO_CRWMT(readl(ctrl->bar + NVME_REG_CRTO)));
	ctrl->ready_us = min_t(u64, (u64)ready * TO_US, READY_MOST);
}

static int ctrl_read_cap(struct annex_ctrl *ctrl)
{
	ctrl->cap = readl(ctrl->bar + NVME_REG_CAP);
	ctrl->cap |= (u64)readl(ctrl->bar + NVME_REG_CAP + 4) << 32;
	ctrl->vs = readl(ctrl->bar + NVME_REG_VS);
	if (ctrl->cap == U64_MAX)
		return -ENODEV;
	ctrl_read_timeouts(ctrl);
	if (NVME_CAP_MPSMIN(ctrl->cap) || NVME_CAP_MQES(ctrl->cap) + 1 < ANNEX_ADMIN_DEPTH ||
	    !(NVME_CAP_CSS(ctrl->cap) & NVME_CAP_CSS_NVM))
		return annex_refuse(ctrl, -EOPNOTSUPP,
				    "needs pages of 4 KiB, %u entries and the NVM command set",
				    ANNEX_ADMIN_DEPTH);
	return 0;
}

int annex_ctrl_start(struct annex_ctrl *ctrl)
{
	bool shadow;
	int err = ctrl_read_cap(ctrl);

	if (err)
		return err;
	ctrl->queues = ANNEX_MAX_QUEUES;
	err = ctrl_place_doorbells(ctrl);
	if (err)
		return err;
	err = ctrl_disable(ctrl);
	if (err)
		return err;
	pci_set_master(ctrl->pdev); /* not before: the controller may have been running */
	err = annex_admin_init(ctrl);
	if (err)
		return err;
	err = annex_cmb_init(ctrl);
	if (err)
		return err;
	err = ctrl_enable(ctrl);
	if (err)
		return err;
	err = ctrl_identify(ctrl, &shadow);
	if (err)
		return err;
	annex_hmb_init(ctrl);
	err = ctrl_place_doorbells(ctrl); /* again: for the granted queues only */
	if (err)
		return err;
	err = annex_shadow_init(ctrl, shadow);
	if (err)
		return err;
	err = annex_shadow_begin(ctrl);
	if (err)
		return err;
	err = annex_hmb_begin(ctrl);
	if (err)
		return err;
	err = ctrl_request_events(ctrl);
	if (err)
		return err;
	annex_view_open(ctrl);
	return 0;
}

/* Normal shutdown, so that the controller saves cached data (NVMe Base 2.0 section 3.6). */
static void ctrl_shut_down(struct annex_ctrl *ctrl)
{
	u32 cc;

	if (!ctrl->bar || !pci_device_is_present(ctrl->pdev))
		return;
	cc = readl(ctrl->bar + NVME_REG_CC);
	writel((cc & ~NVME_CC_SHN_MASK) | NVME_CC_SHN_NORMAL, ctrl->bar + NVME_REG_CC);
	if (cc & NVME_CC_ENABLE)
		ctrl_wait_status(ctrl, NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_CMPLT,
				 ctrl->shutdown_us);
	ctrl_disable(ctrl);
	ctrl_silence(ctrl);
}

void annex_ctrl_sleep(struct annex_ctrl *ctrl, bool reachable)
{
	lockdep_assert_held(&ctrl->lock);
	annex_view_close(ctrl);
	WRITE_ONCE(ctrl->asleep, true); /* poll() reads it without the lock */
	ctrl->admin.broken = true;
	if (reachable)
		ctrl_shut_down(ctrl);
	else
		ctrl_silence(ctrl);
	wake_up_all(&ctrl->wait);
}

void annex_ctrl_wake(struct annex_ctrl *ctrl)
{
	lockdep_assert_held(&ctrl->lock);
	WRITE_ONCE(ctrl->asleep, false);
}

void annex_ctrl_stop(struct annex_ctrl *ctrl)
{
	annex_view_end(ctrl);
	ctrl_shut_down(ctrl);
	wake_up_all(&ctrl->wait);
}

void annex_ctrl_free(struct annex_ctrl *ctrl)
{
	annex_hmb_exit(ctrl);
	annex_shadow_exit(ctrl);
	annex_cmb_exit(ctrl);
	annex_admin_exit(ctrl);
}

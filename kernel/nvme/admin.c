// SPDX-License-Identifier: GPL-2.0
/*
 * Admin commands, one at a time.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include "ctrl.h"

#define SQ_BYTES (ANNEX_ADMIN_DEPTH * sizeof(struct nvme_command))
#define CQ_BYTES (ANNEX_ADMIN_DEPTH * sizeof(struct nvme_completion))
#define TIMEOUT_US (5 * USEC_PER_SEC)
#define POLL_US 20
#define REFUSED 0x03 /* an opcode that is reserved (Base figure 138) */

int annex_admin_init(struct annex_ctrl *ctrl)
{
	struct device *dma = &ctrl->pdev->dev;
	struct annex_admin *a = &ctrl->admin;

	a->sq = dma_alloc_coherent(dma, SQ_BYTES, &a->sq_addr, GFP_KERNEL);
	a->cq = dma_alloc_coherent(dma, CQ_BYTES, &a->cq_addr, GFP_KERNEL);
	a->data = dma_alloc_coherent(dma, ANNEX_PAGE, &a->data_addr, GFP_KERNEL);
	return a->sq && a->cq && a->data ? 0 : -ENOMEM;
}

void annex_admin_exit(struct annex_ctrl *ctrl)
{
	struct device *dma = &ctrl->pdev->dev;
	struct annex_admin *a = &ctrl->admin;

	if (a->sq)
		dma_free_coherent(dma, SQ_BYTES, a->sq, a->sq_addr);
	if (a->cq)
		dma_free_coherent(dma, CQ_BYTES, a->cq, a->cq_addr);
	if (a->data)
		dma_free_coherent(dma, ANNEX_PAGE, a->data, a->data_addr);
	a->sq = NULL;
	a->cq = NULL;
	a->data = NULL;
}

static void admin_scrub(struct nvme_command *slot)
{
	memset(slot, 0, sizeof(*slot));
	slot->common.opcode = REFUSED;
}

void annex_admin_begin(struct annex_ctrl *ctrl)
{
	struct annex_admin *a = &ctrl->admin;

	for (unsigned int i = 0; i < ANNEX_ADMIN_DEPTH; i++)
		admin_scrub(&a->sq[i]);
	memset(a->cq, 0, CQ_BYTES);
	a->tail = 0;
	a->head = 0;
	a->phase = 1;
	a->broken = false;
	writel((ANNEX_ADMIN_DEPTH - 1) << 16 | (ANNEX_ADMIN_DEPTH - 1), ctrl->bar + NVME_REG_AQA);
	writel(lower_32_bits(a->sq_addr), ctrl->bar + NVME_REG_ASQ);
	writel(upper_32_bits(a->sq_addr), ctrl->bar + NVME_REG_ASQ + 4);
	writel(lower_32_bits(a->cq_addr), ctrl->bar + NVME_REG_ACQ);
	writel(upper_32_bits(a->cq_addr), ctrl->bar + NVME_REG_ACQ + 4);
}

/* 1: the entry at the head is new; 0: not yet; -ENODEV, -EIO: nothing will come. */
static int admin_look(struct annex_ctrl *ctrl)
{
	struct annex_admin *a = &ctrl->admin;
	u32 csts;

	if ((le16_to_cpu(READ_ONCE(a->cq[a->head].status)) & 1) == a->phase)
		return 1;
	csts = annex_ctrl_csts(ctrl);
	if (csts == U32_MAX)
		return -ENODEV;
	/* Not ready: something else has reset it, and it forgot the command. */
	return csts & NVME_CSTS_CFS || !(csts & NVME_CSTS_RDY) ? -EIO : 0;
}

/* Take the completion at the head, which must be that of command @id. */
static int admin_take(struct annex_ctrl *ctrl, u16 id, u32 *result)
{
	struct annex_admin *a = &ctrl->admin;
	struct nvme_completion cqe;

	dma_rmb(); /* the rest of the entry is read after its phase */
	cqe = a->cq[a->head];
	if (++a->head == ANNEX_ADMIN_DEPTH) {
		a->head = 0;
		a->phase ^= 1;
	}
	writel(a->head, ctrl->bar + NVME_REG_DBS + (4u << NVME_CAP_STRIDE(ctrl->cap)));
	if (cqe.command_id != id || cqe.sq_id)
		return annex_refuse(ctrl, -EIO, "an admin completion for no command of ours");
	if (result)
		*result = le32_to_cpu(cqe.result.u32);
	return le16_to_cpu(cqe.status) >> 1 & 0x7ff;
}

int annex_admin_run(struct annex_ctrl *ctrl, struct nvme_command *cmd, u32 *result)
{
	struct annex_admin *a = &ctrl->admin;
	struct nvme_command *slot = &a->sq[a->tail];
	int got = 0, err;

	lockdep_assert_held(&ctrl->lock);
	if (a->broken)
		return -EIO;
	if (!++a->next) /* 0 is what entries that are not in use have */
		++a->next;
	cmd->common.command_id = a->next;
	*slot = *cmd;
	if (++a->tail == ANNEX_ADMIN_DEPTH)
		a->tail = 0;
	/* writel() makes the entry visible to the controller first. */
	writel(a->tail, ctrl->bar + NVME_REG_DBS);
	err = read_poll_timeout(admin_look, got, got, POLL_US, TIMEOUT_US, false, ctrl);
	if (!err)
		err = got < 0 ? got : admin_take(ctrl, a->next, result);
	admin_scrub(slot);
	if (err < 0) {
		a->broken = true;
		dev_warn_ratelimited(&ctrl->dev, "admin command 0x%02x: error %d\n",
				     cmd->common.opcode, err);
	}
	return err;
}

int annex_admin_identify(struct annex_ctrl *ctrl, u8 cns, u32 nsid)
{
	struct nvme_command cmd = {};

	memset(ctrl->admin.data, 0, ANNEX_PAGE);
	cmd.identify.opcode = nvme_admin_identify;
	cmd.identify.nsid = cpu_to_le32(nsid);
	cmd.identify.cns = cns;
	cmd.identify.dptr.prp1 = cpu_to_le64(ctrl->admin.data_addr);
	return annex_admin_run(ctrl, &cmd, NULL);
}

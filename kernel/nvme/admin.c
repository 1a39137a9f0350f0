// SPDX-License-Identifier: GPL-2.0
/*
 * Admin commands, one at a time, beside one Asynchronous Event Request.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include "ctrl.h"

#define TIMEOUT_US (5 * USEC_PER_SEC)
#define POLL_US 20
#define REFUSED 0x03 /* an opcode that is reserved (Base figure 138) */
#define EVENT_ID 0xfffe
#define TOOK_EVENT 0x800 /* not a status, which has 11 bits */

int annex_admin_init(struct annex_ctrl *ctrl)
{
	struct annex_admin *a = &ctrl->admin;
	int err = annex_area_init(&a->sq, DMA_TO_DEVICE, 0);

	if (!err)
		err = annex_area_init(&a->cq, DMA_FROM_DEVICE, 0);
	if (!err)
		err = annex_area_init(&a->data, DMA_FROM_DEVICE, 0);
	return err;
}

/*
 * Without an IOMMU the pages may be bounced: unmapping copies the data back into the pages, and
 * mapping copies it from there, so they are filled in between. Else a reset allocates nothing, and
 * cannot fail for want of memory.
 */
static void admin_unmap_bounced(struct annex_ctrl *ctrl)
{
	if (ctrl->space.domain)
		return;
	annex_area_unmap(ctrl, &ctrl->admin.sq);
	annex_area_unmap(ctrl, &ctrl->admin.cq);
	annex_area_unmap(ctrl, &ctrl->admin.data);
}

void annex_admin_exit(struct annex_ctrl *ctrl)
{
	annex_area_exit(ctrl, &ctrl->admin.sq);
	annex_area_exit(ctrl, &ctrl->admin.cq);
	annex_area_exit(ctrl, &ctrl->admin.data);
}

static struct nvme_command *admin_slot(struct annex_admin *a, unsigned int i)
{
	return (struct nvme_command *)a->sq.at + i;
}

/*
 * After an owner has rung the doorbell, the controller may fetch an entry at any time. The first
 * word has the opcode, and is valid only while all other words are.
 */
static void admin_fill(struct nvme_command *slot, const struct nvme_command *cmd)
{
	__le32 *to = (__le32 *)slot;

	memcpy(to + 1, (const __le32 *)cmd + 1, sizeof(*cmd) - sizeof(*to));
	dma_wmb(); /* write the rest of the entry before its first word */
	WRITE_ONCE(to[0], *(const __le32 *)cmd);
}

static void admin_scrub(struct nvme_command *slot)
{
	__le32 *to = (__le32 *)slot;

	WRITE_ONCE(to[0], cpu_to_le32(REFUSED));
	dma_wmb(); /* write the reserved opcode before clearing the rest */
	memset(to + 1, 0, sizeof(*slot) - sizeof(*to));
}

int annex_admin_begin(struct annex_ctrl *ctrl)
{
	struct annex_admin *a = &ctrl->admin;
	int err;

	a->broken = true; /* until the pages are mapped */
	admin_unmap_bounced(ctrl);
	for (unsigned int i = 0; i < ANNEX_ADMIN_DEPTH; i++)
		admin_scrub(admin_slot(a, i));
	memset(a->cq.at, 0, PAGE_SIZE);
	err = annex_area_map(ctrl, &a->sq);
	if (!err)
		err = annex_area_map(ctrl, &a->cq);
	if (!err)
		err = annex_area_map(ctrl, &a->data);
	if (err)
		return err;
	a->tail = 0;
	a->head = 0;
	a->phase = 1;
	a->request = false;
	a->requested = false;
	a->broken = false;
	writel((ANNEX_ADMIN_DEPTH - 1) << 16 | (ANNEX_ADMIN_DEPTH - 1), ctrl->bar + NVME_REG_AQA);
	writel(lower_32_bits(a->sq.addr), ctrl->bar + NVME_REG_ASQ);
	writel(upper_32_bits(a->sq.addr), ctrl->bar + NVME_REG_ASQ + 4);
	writel(lower_32_bits(a->cq.addr), ctrl->bar + NVME_REG_ACQ);
	writel(upper_32_bits(a->cq.addr), ctrl->bar + NVME_REG_ACQ + 4);
	return 0;
}

static const struct nvme_completion *admin_head(const struct annex_admin *a)
{
	return (const struct nvme_completion *)a->cq.at + a->head;
}

/* 1: the entry at the head is new; 0: not yet; -ENODEV, -EIO: no completion will come. */
static int admin_look(struct annex_ctrl *ctrl)
{
	struct annex_admin *a = &ctrl->admin;
	u32 csts;

	annex_area_take(ctrl, &a->cq);
	if ((le16_to_cpu(READ_ONCE(admin_head(a)->status)) & 1) == a->phase)
		return 1;
	csts = annex_ctrl_csts(ctrl);
	if (csts == U32_MAX)
		return -ENODEV;
	/* Not ready: the controller was reset meanwhile, and the command is lost. */
	return csts & NVME_CSTS_CFS || !(csts & NVME_CSTS_RDY) ? -EIO : 0;
}

/* An error status, such as too many requests, ends events until the next reset. */
static int admin_take_event(struct annex_admin *a, const struct nvme_completion *cqe)
{
	a->requested = false;
	if (!(le16_to_cpu(cqe->status) >> 1)) {
		a->happened = true;
		a->event = le32_to_cpu(cqe->result.u32);
	}
	return TOOK_EVENT;
}

/* Take the completion at the head, which must be that of command @id, or an event. */
static int admin_take(struct annex_ctrl *ctrl, u16 id, u32 *result)
{
	struct annex_admin *a = &ctrl->admin;
	struct nvme_completion cqe;

	dma_rmb(); /* read the rest of the entry after its phase tag */
	cqe = *admin_head(a);
	if (++a->head == ANNEX_ADMIN_DEPTH) {
		a->head = 0;
		a->phase ^= 1;
	}
	writel(a->head, ctrl->bar + NVME_REG_DBS + (4u << NVME_CAP_STRIDE(ctrl->cap)));
	if (a->requested && cqe.command_id == EVENT_ID && !cqe.sq_id)
		return admin_take_event(a, &cqe);
	if (!id || cqe.command_id != id || cqe.sq_id)
		return annex_refuse(ctrl, -EIO, "an admin completion for no command of ours");
	if (result)
		*result = le32_to_cpu(cqe.result.u32);
	return le16_to_cpu(cqe.status) >> 1 & 0x7ff;
}

static int admin_wait(struct annex_ctrl *ctrl, u32 *result)
{
	int got = 0;
	int err = read_poll_timeout(admin_look, got, got, POLL_US, TIMEOUT_US, false, ctrl);

	if (!err)
		err = got < 0 ? got : admin_take(ctrl, ctrl->admin.next, result);
	return err;
}

static void admin_put(struct annex_admin *a, const struct nvme_command *cmd)
{
	admin_fill(admin_slot(a, a->tail), cmd);
	a->tail = (a->tail + 1) % ANNEX_ADMIN_DEPTH;
}

static void admin_request_event(struct annex_admin *a)
{
	struct nvme_command cmd = {};

	cmd.common.opcode = nvme_admin_async_event;
	cmd.common.command_id = EVENT_ID;
	admin_put(a, &cmd);
	a->request = false;
	a->requested = true;
}

/*
 * The controller fetches commands in order, so the completion of this one proves that it has also
 * fetched the event request, whose entry is not needed any longer.
 */
int annex_admin_run(struct annex_ctrl *ctrl, struct nvme_command *cmd, u32 *result)
{
	struct annex_admin *a = &ctrl->admin;
	unsigned int first = a->tail;
	int err;

	lockdep_assert_held(&ctrl->lock);
	if (a->broken)
		return -EIO;
	if (a->request)
		admin_request_event(a);
	if (++a->next == EVENT_ID) /* nor 0, which unused entries have */
		a->next = 1;
	cmd->common.command_id = a->next;
	admin_put(a, cmd);
	annex_area_give(ctrl, &a->sq);
	/* writel() orders the entries before the doorbell. */
	writel(a->tail, ctrl->bar + NVME_REG_DBS);
	err = admin_wait(ctrl, result);
	if (err == TOOK_EVENT) /* the only one */
		err = admin_wait(ctrl, result);
	for (; first != a->tail; first = (first + 1) % ANNEX_ADMIN_DEPTH)
		admin_scrub(admin_slot(a, first));
	annex_area_give(ctrl, &a->sq);
	if (err < 0) {
		a->broken = true;
		dev_warn_ratelimited(&ctrl->dev, "admin command 0x%02x: error %d\n",
				     cmd->common.opcode, err);
	}
	return err;
}

int annex_admin_drain(struct annex_ctrl *ctrl)
{
	struct annex_admin *a = &ctrl->admin;
	int err;

	lockdep_assert_held(&ctrl->lock);
	do {
		err = admin_look(ctrl);
		if (err > 0)
			err = admin_take(ctrl, 0, NULL);
	} while (err == TOOK_EVENT); /* once */
	a->broken = err < 0;
	return err;
}

int annex_admin_read(struct annex_ctrl *ctrl, struct nvme_command *cmd)
{
	int status;

	if (ctrl->admin.broken) /* the data page may be unmapped */
		return -EIO;
	memset(ctrl->admin.data.at, 0, ANNEX_PAGE);
	annex_area_give(ctrl, &ctrl->admin.data);
	cmd->common.dptr.prp1 = cpu_to_le64(ctrl->admin.data.addr);
	status = annex_admin_run(ctrl, cmd, NULL);
	annex_area_take(ctrl, &ctrl->admin.data);
	return status;
}

int annex_admin_identify(struct annex_ctrl *ctrl, u8 cns, u32 nsid)
{
	struct nvme_command cmd = {};

	cmd.identify.opcode = nvme_admin_identify;
	cmd.identify.nsid = cpu_to_le32(nsid);
	cmd.identify.cns = cns;
	return annex_admin_read(ctrl, &cmd);
}

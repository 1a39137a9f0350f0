// SPDX-License-Identifier: GPL-2.0
/*
 * The mailbox of a memory device (CXL 3.1 section 8.2.8.4). Owns its registers.
 */
#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iopoll.h>
#include <linux/slab.h>
#include "cxl.h"
#include "mbox.h"

#define TIMEOUT_US (2 * USEC_PER_SEC) /* until the device clears the doorbell */
#define POLL_US 20

int annex_mbox_init(struct annex_mbox *mbox, struct device *dev, void __iomem *regs, u32 bytes)
{
	u32 shift = FIELD_GET(CXL_MBOX_CAP_PAYLOAD, readl(regs + CXL_MBOX_CAP));

	if (shift < 8 || shift > 20 || (1u << shift) > bytes - CXL_MBOX_PAYLOAD) {
		dev_err(dev, "a mailbox of 2^%u bytes in 0x%x\n", shift, bytes);
		return -EINVAL;
	}
	mbox->bytes = 1u << shift;
	mbox->in = kzalloc(ANNEX_MBOX_IN, GFP_KERNEL);
	mbox->out = kvzalloc(mbox->bytes, GFP_KERNEL);
	if (!mbox->in || !mbox->out)
		return -ENOMEM;
	mbox->dev = dev;
	mbox->regs = regs;
	return 0;
}

void annex_mbox_end(struct annex_mbox *mbox)
{
	mutex_lock(&mbox->lock);
	mbox->regs = NULL;
	mutex_unlock(&mbox->lock);
}

void annex_mbox_exit(struct annex_mbox *mbox)
{
	kfree(mbox->in);
	kvfree(mbox->out);
}

static bool mbox_is_busy(u32 ctrl)
{
	return ctrl & CXL_MBOX_CTRL_DOORBELL && ctrl != U32_MAX;
}

static int mbox_errno_of(u32 code)
{
	switch (code) {
	case 0:
		return 0;
	case CXL_CODE_INPUT:
		return -EINVAL;
	case CXL_CODE_UNSUPPORTED:
		return -EOPNOTSUPP;
	case CXL_CODE_RETRY:
	case CXL_CODE_BUSY:
		return -EBUSY;
	case CXL_CODE_ADDRESS:
		return -EFAULT;
	}
	return -EIO;
}

static int mbox_read_answer(struct annex_mbox *mbox)
{
	u64 status = readq(mbox->regs + CXL_MBOX_STATUS);
	u32 bytes = FIELD_GET(CXL_MBOX_CMD_BYTES, readq(mbox->regs + CXL_MBOX_CMD));
	int err = mbox_errno_of(FIELD_GET(CXL_MBOX_STATUS_CODE, status));

	if (err)
		return err;
	if (bytes > mbox->bytes)
		return -EPROTO;
	memcpy_fromio(mbox->out, mbox->regs + CXL_MBOX_PAYLOAD, bytes);
	return bytes;
}

static int mbox_run(struct annex_mbox *mbox, u16 opcode, u32 in_bytes)
{
	u32 ctrl = readl(mbox->regs + CXL_MBOX_CTRL);
	int err;

	if (ctrl == U32_MAX)
		return -ENODEV;
	/* A command that timed out may still be running. */
	if (mbox_is_busy(ctrl))
		return -EBUSY;
	memcpy_toio(mbox->regs + CXL_MBOX_PAYLOAD, mbox->in, in_bytes);
	writeq(FIELD_PREP(CXL_MBOX_CMD_OPCODE, opcode) | FIELD_PREP(CXL_MBOX_CMD_BYTES, in_bytes),
	       mbox->regs + CXL_MBOX_CMD);
	writel(CXL_MBOX_CTRL_DOORBELL, mbox->regs + CXL_MBOX_CTRL);
	err = readl_poll_timeout(mbox->regs + CXL_MBOX_CTRL, ctrl, !mbox_is_busy(ctrl), POLL_US,
				 TIMEOUT_US);
	if (ctrl == U32_MAX)
		return -ENODEV;
	return err ? err : mbox_read_answer(mbox);
}

/* Devices need not support all commands, nor list poison for all of their addresses. */
static bool mbox_is_usual(u16 opcode, int err)
{
	return err == -EOPNOTSUPP || (err == -EFAULT && opcode == CXL_OP_GET_POISON);
}

int annex_mbox_run(struct annex_mbox *mbox, u16 opcode, u32 in_bytes)
{
	int err;

	lockdep_assert_held(&mbox->lock);
	if (!mbox->regs)
		return -ENODEV;
	if (in_bytes > min(mbox->bytes, ANNEX_MBOX_IN))
		return -EINVAL;
	err = mbox_run(mbox, opcode, in_bytes);
	if (err < 0 && !mbox_is_usual(opcode, err))
		dev_warn_ratelimited(mbox->dev, "mailbox command 0x%04x: error %d\n", opcode, err);
	return err;
}

int annex_mbox_call(struct annex_mbox *mbox, u16 opcode, const void *in, u32 in_bytes, void *out,
		    u32 out_bytes)
{
	int got;

	mutex_lock(&mbox->lock);
	if (in_bytes)
		memcpy(mbox->in, in, in_bytes);
	got = annex_mbox_run(mbox, opcode, in_bytes);
	if (got >= 0 && (u32)got < out_bytes) {
		dev_warn_ratelimited(mbox->dev, "mailbox command 0x%04x: %d bytes, not 0x%x\n",
				     opcode, got, out_bytes);
		got = -EPROTO;
	} else if (got >= 0 && out_bytes) {
		memcpy(out, mbox->out, out_bytes);
	}
	mutex_unlock(&mbox->lock);
	return got < 0 ? got : 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mailbox of a memory device: one command at a time (CXL 3.1 section 8.2.8.4).
 */
#ifndef ANNEX_MBOX_H
#define ANNEX_MBOX_H

#include <linux/mutex.h>
#include <linux/types.h>

struct device;

#define ANNEX_MBOX_IN 4096u /* largest payload of a command; a device may support less */

/**
 * struct annex_mbox - The primary mailbox.
 * @dev: device, for lines in the kernel's log.
 * @lock: serialises commands, which may take seconds; never taken under the ranges' lock.
 * @regs: mapped registers; NULL: the device is gone.
 * @bytes: size of the payload registers.
 * @in: buffer for a payload to the device (@lock).
 * @out: buffer for a payload from the device (@lock).
 */
struct annex_mbox {
	struct device *dev;
	struct mutex lock; /* serialises commands */
	void __iomem *regs;
	u32 bytes;
	u8 *in, *out;
};

int annex_mbox_init(struct annex_mbox *mbox, struct device *dev, void __iomem *regs, u32 bytes);
/* annex_mbox_end() - The device is removed: commands return -ENODEV from now on. */
void annex_mbox_end(struct annex_mbox *mbox);
/* annex_mbox_exit() - Free the buffers, after the last call. */
void annex_mbox_exit(struct annex_mbox *mbox);
/*
 * annex_mbox_run() - Run a command with @in_bytes of @mbox.in; the answer is in @mbox.out. Under
 * the mailbox's lock. Returns the size of the answer, or -EOPNOTSUPP (unknown command), -EINVAL
 * (invalid input), -EFAULT (invalid address), -EBUSY, -ETIMEDOUT, -EPROTO (impossible answer),
 * -EIO, -ENODEV.
 */
int annex_mbox_run(struct annex_mbox *mbox, u16 opcode, u32 in_bytes);
/* annex_mbox_call() - The same for one command, whose whole answer has at least @out_bytes. */
int annex_mbox_call(struct annex_mbox *mbox, u16 opcode, const void *in, u32 in_bytes, void *out,
		    u32 out_bytes);

#endif

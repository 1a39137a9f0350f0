/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of a CXL component: DVSECs, the register locator, capability arrays. A device with
 * impossible values in them is refused.
 */
#ifndef ANNEX_REGS_H
#define ANNEX_REGS_H

#include <linux/pci.h>
#include "cxl.h"

/**
 * struct annex_regs - Registers of a memory device.
 * @dvsec: offset of the CXL device DVSEC in configuration space.
 * @component: mapped component registers (CXL.cache and CXL.mem capabilities).
 * @phys: physical address of @component.
 * @hdm: offset of the HDM decoder capability in @component.
 * @device: mapped device registers, in which the next three are.
 * @status: device status registers.
 * @mbox: mailbox registers.
 * @memdev: memory device status registers.
 * @mbox_bytes: size of the mailbox registers.
 * @ending: no wait for the device goes on.
 */
struct annex_regs {
	int dvsec;
	void __iomem *component;
	phys_addr_t phys;
	u32 hdm;
	void __iomem *device;
	void __iomem *status;
	void __iomem *mbox;
	void __iomem *memdev;
	u32 mbox_bytes;
	bool ending;
};

/*
 * annex_regs_locate() - Find the register block of a type by the register locator of a device or
 * port. -ENXIO: no such block; -EINVAL: impossible values. Both with a line.
 */
int annex_regs_locate(struct pci_dev *pdev, u8 type, phys_addr_t *at, u64 *bytes);
/*
 * annex_regs_find_hdm() - Find the HDM decoder capability in mapped capabilities (CXL_CM_BYTES).
 * -ENODEV: no such capability; -EINVAL: impossible values; -EOPNOTSUPP: unknown version.
 */
int annex_regs_find_hdm(void __iomem *cm, u32 *offset);
/* annex_regs_init() - Map the registers of a memory device. A negative errno with a line. */
int annex_regs_init(struct pci_dev *pdev, struct annex_regs *regs);
void annex_regs_exit(struct annex_regs *regs);
/*
 * annex_regs_ready() - Wait for memory and mailbox, for as long as the specification allows.
 * -ETIMEDOUT, -EIO (a failed device), -ENODEV (gone, or cancelled).
 */
int annex_regs_ready(struct pci_dev *pdev, struct annex_regs *regs);
/* annex_regs_cancel() - Let annex_regs_ready() end, now and from now on. */
void annex_regs_cancel(struct annex_regs *regs);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a CXL component's registers are: DVSECs, the register locator, capability arrays. A device
 * that says something impossible is refused.
 */
#ifndef ANNEX_REGS_H
#define ANNEX_REGS_H

#include <linux/pci.h>
#include "cxl.h"

/**
 * struct annex_regs - Registers of a memory device.
 * @dvsec: of the device, in configuration space.
 * @component: the capabilities of CXL.mem. @hdm: the HDM decoders' offset in them.
 * @phys: where @component is for the CPU.
 * @device: the device registers; @status, @mbox, @memdev lie in them.
 * @mbox_bytes: of the mailbox's.
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
};

/*
 * annex_regs_locate() - The block of a type by a device's or a port's register locator. -ENXIO:
 * there is none; -EINVAL: it lies. Both with a line.
 */
int annex_regs_locate(struct pci_dev *pdev, u8 type, phys_addr_t *at, u64 *bytes);
/*
 * annex_regs_find_hdm() - The HDM decoder capability in mapped capabilities (CXL_CM_BYTES).
 * -ENODEV: there is none; -EINVAL: not as it has to be; -EOPNOTSUPP: of an unknown version.
 */
int annex_regs_find_hdm(void __iomem *cm, u32 *offset);
/* annex_regs_init() - Map all that a memory device needs. A negative errno with a line. */
int annex_regs_init(struct pci_dev *pdev, struct annex_regs *regs);
void annex_regs_exit(struct annex_regs *regs);
/*
 * annex_regs_ready() - Wait for memory and mailbox, as long as the specification lets them take.
 * -ETIMEDOUT, -EIO (a failed device), -ENODEV (gone).
 */
int annex_regs_ready(struct pci_dev *pdev, struct annex_regs *regs);

#endif

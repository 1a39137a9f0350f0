// SPDX-License-Identifier: GPL-2.0
/*
 * The PCIe DVSEC for CXL Devices (CXL 3.1 section 8.1.3): Mem_Enable and the ranges of firmware.
 * The decoders' lock (range.h) protects both.
 */
#include <linux/bitfield.h>
#include "cxl.h"
#include "hdm.h"

/*
 * Firmware may map the memory by DVSEC ranges, which are used as long as HDM decoding is off (CXL
 * 3.1 section 8.1.3.8). Enabling HDM decoding would make these addresses lead elsewhere.
 */
static int dvsec_check_ranges(struct annex_hdm *hdm)
{
	int at = hdm->regs.dvsec;
	u32 low, high, base[2];
	u64 from, bytes;
	u16 cap;

	if (annex_decoders_on(&hdm->decoders))
		return 0;
	pci_read_config_word(hdm->pdev, at + CXL_DEVICE_CAP, &cap);
	for (unsigned int i = 0; i < FIELD_GET(CXL_DEVICE_CAP_RANGES, cap); i++) {
		pci_read_config_dword(hdm->pdev, at + CXL_DEVICE_SIZE_HIGH(i), &high);
		pci_read_config_dword(hdm->pdev, at + CXL_DEVICE_SIZE_LOW(i), &low);
		pci_read_config_dword(hdm->pdev, at + CXL_DEVICE_BASE_HIGH(i), &base[1]);
		pci_read_config_dword(hdm->pdev, at + CXL_DEVICE_BASE_LOW(i), &base[0]);
		bytes = (u64)high << 32 | (low & CXL_DEVICE_RANGE_MASK);
		from = (u64)base[1] << 32 | (base[0] & CXL_DEVICE_RANGE_MASK);
		if (!bytes)
			continue;
		return annex_hdm_refuse(hdm, -EBUSY,
					"firmware has 0x%llx bytes at 0x%llx by DVSEC range %u",
					bytes, from, i + 1);
	}
	return 0;
}

int annex_dvsec_check(struct annex_hdm *hdm)
{
	int at = hdm->regs.dvsec;
	u16 ctrl, lock;

	pci_read_config_word(hdm->pdev, at + CXL_DEVICE_CTRL, &ctrl);
	if (ctrl & CXL_DEVICE_CTRL_MEM)
		return dvsec_check_ranges(hdm);
	pci_read_config_word(hdm->pdev, at + CXL_DEVICE_LOCK, &lock);
	if (lock & CXL_DEVICE_LOCKED)
		return annex_hdm_refuse(hdm, -EPERM, "firmware has locked it without CXL.mem");
	return 0;
}

void annex_dvsec_enable(struct annex_hdm *hdm)
{
	int at = hdm->regs.dvsec;
	u16 ctrl;

	pci_read_config_word(hdm->pdev, at + CXL_DEVICE_CTRL, &ctrl);
	if (ctrl & CXL_DEVICE_CTRL_MEM)
		return;
	pci_write_config_word(hdm->pdev, at + CXL_DEVICE_CTRL, ctrl | CXL_DEVICE_CTRL_MEM);
	hdm->mem_enabled = true;
}

void annex_dvsec_disable(struct annex_hdm *hdm)
{
	int at = hdm->regs.dvsec;
	u16 ctrl;

	if (!hdm->mem_enabled)
		return;
	hdm->mem_enabled = false;
	pci_read_config_word(hdm->pdev, at + CXL_DEVICE_CTRL, &ctrl);
	if (ctrl != U16_MAX)
		pci_write_config_word(hdm->pdev, at + CXL_DEVICE_CTRL, ctrl & ~CXL_DEVICE_CTRL_MEM);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Controller memory (NVMe Base 2.0 section 8.5). Owns the bitmap of its pages.
 */
#include <linux/bitmap.h>
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/sizes.h>
#include <uapi/annex.h>
#include "ctrl.h"

#define CMB_MOST SZ_1G /* the rest of larger controller memory is not used */
#define CLEAR_STEP SZ_1M
#define CAP_PMRS BIT_ULL(56)
#define PMRMSCL 0xe14
#define PMRMSCU 0xe18

static u32 cmb_flags_of(u32 cmbsz)
{
	u32 flags = 0;

	if (cmbsz & NVME_CMBSZ_SQS)
		flags |= ANNEX_INFO_CMB_SQ;
	if (cmbsz & NVME_CMBSZ_CQS)
		flags |= ANNEX_INFO_CMB_CQ;
	if (cmbsz & NVME_CMBSZ_LISTS)
		flags |= ANNEX_INFO_CMB_LIST;
	if ((cmbsz & NVME_CMBSZ_RDS) && (cmbsz & NVME_CMBSZ_WDS))
		flags |= ANNEX_INFO_CMB_DATA;
	return flags;
}

/* Whether bytes of a BAR contain doorbells, the MSI-X table or its pending bits. */
static bool cmb_has_others(struct annex_ctrl *ctrl, u32 bar, u64 offset, u64 bytes)
{
	struct pci_dev *pdev = ctrl->pdev;
	u64 end = offset + bytes;
	u32 table, pending, n;
	u16 flags;

	if (!bar && offset < NVME_REG_DBS + ctrl->door_bytes)
		return true;
	if (!pdev->msix_cap)
		return false;
	pci_read_config_word(pdev, pdev->msix_cap + PCI_MSIX_FLAGS, &flags);
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_TABLE, &table);
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_PBA, &pending);
	n = (flags & PCI_MSIX_FLAGS_QSIZE) + 1;
	if ((table & PCI_MSIX_TABLE_BIR) == bar && (table & PCI_MSIX_TABLE_OFFSET) < end &&
	    (table & PCI_MSIX_TABLE_OFFSET) + n * PCI_MSIX_ENTRY_SIZE > offset)
		return true;
	return (pending & PCI_MSIX_PBA_BIR) == bar && (pending & PCI_MSIX_PBA_OFFSET) < end &&
	       (pending & PCI_MSIX_PBA_OFFSET) + n / 8 + 8 > offset;
}

/* The persistent memory region is not used. Another driver may have left it enabled. */
static void cmb_close_pmr(struct annex_ctrl *ctrl)
{
	if (!(ctrl->cap & CAP_PMRS))
		return;
	writel(0, ctrl->bar + PMRMSCL);
	writel(0, ctrl->bar + PMRMSCU);
	writel(0, ctrl->bar + NVME_REG_PMRCTL);
}

int annex_cmb_init(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;
	struct annex_cmb *cmb = &ctrl->cmb;
	u64 unit, offset, bytes, end;
	u32 size, loc, bar;

	cmb_close_pmr(ctrl);
	if (NVME_CAP_CMBS(ctrl->cap)) /* CMBLOC and CMBSZ read as zero until CRE is set */
		writel(NVME_CMBMSC_CRE, ctrl->bar + NVME_REG_CMBMSC);
	size = readl(ctrl->bar + NVME_REG_CMBSZ);
	if (!size || size == U32_MAX)
		return 0;
	loc = readl(ctrl->bar + NVME_REG_CMBLOC);
	bar = NVME_CMB_BIR(loc);
	/* 4 KiB << 4 * SZU; 64 GiB is the largest defined unit. */
	if ((size >> NVME_CMBSZ_SZU_SHIFT & NVME_CMBSZ_SZU_MASK) > 6 || bar >= PCI_STD_NUM_BARS)
		return 0;
	unit = 1ull << (12 + 4 * (size >> NVME_CMBSZ_SZU_SHIFT & NVME_CMBSZ_SZU_MASK));
	bytes = unit * (size >> NVME_CMBSZ_SZ_SHIFT & NVME_CMBSZ_SZ_MASK);
	offset = unit * NVME_CMB_OFST(loc);
	end = pci_resource_len(pdev, bar);
	if (!(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) || offset >= end)
		return 0;
	cmb->bytes = bytes;
	bytes = min(bytes, end - offset);
	cmb->visible = bytes;
	bytes = min_t(u64, bytes, CMB_MOST);
	cmb->phys = pci_resource_start(pdev, bar) + offset;
	cmb->bus = pci_bus_address(pdev, bar) + offset;
	if (!IS_ALIGNED(cmb->phys | cmb->bus, ANNEX_PAGE))
		return 0;
	if (cmb_has_others(ctrl, bar, offset, cmb->visible))
		return annex_refuse(ctrl, 0, "its memory is not used: it overlaps other registers");
	cmb->taken = bitmap_zalloc(bytes / ANNEX_PAGE, GFP_KERNEL);
	if (!cmb->taken)
		return -ENOMEM;
	cmb->pages = bytes / ANNEX_PAGE;
	cmb->flags = cmb_flags_of(size);
	cmb->used = true; /* by another driver, or by owners before this one was bound */
	return 0;
}

void annex_cmb_exit(struct annex_ctrl *ctrl)
{
	bitmap_free(ctrl->cmb.taken);
	ctrl->cmb.taken = NULL;
	ctrl->cmb.pages = 0;
}

void annex_cmb_begin(struct annex_ctrl *ctrl)
{
	/*
	 * Use the bus address: the windows of the host bridge are reserved in the controller's
	 * domain, so no mapping can get the same address.
	 */
	if (ctrl->cmb.pages && NVME_CAP_CMBS(ctrl->cap))
		hi_lo_writeq(NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE | ctrl->cmb.bus,
			     ctrl->bar + NVME_REG_CMBMSC);
}

int annex_cmb_take(struct annex_ctrl *ctrl, u32 count, u32 *first)
{
	struct annex_cmb *cmb = &ctrl->cmb;
	unsigned long at = bitmap_find_next_zero_area(cmb->taken, cmb->pages, 0, count, 0);

	if (at >= cmb->pages)
		return -ENOSPC;
	bitmap_set(cmb->taken, at, count);
	*first = at;
	return 0;
}

void annex_cmb_give(struct annex_ctrl *ctrl, u32 first, u32 count)
{
	bitmap_clear(ctrl->cmb.taken, first, count);
}

int annex_cmb_clear(struct annex_ctrl *ctrl)
{
	struct annex_cmb *cmb = &ctrl->cmb;

	for (u64 at = 0; cmb->pages && cmb->used && at < cmb->visible; at += CLEAR_STEP) {
		u64 bytes = min_t(u64, cmb->visible - at, CLEAR_STEP);
		void __iomem *to = ioremap_wc(cmb->phys + at, bytes);

		if (!to)
			return -ENOMEM;
		memset_io(to, 0, bytes);
		iounmap(to);
		cond_resched();
	}
	cmb->used = false;
	return 0;
}

bool annex_cmb_overlaps(const struct annex_ctrl *ctrl, u64 addr, u64 bytes)
{
	const struct annex_cmb *cmb = &ctrl->cmb;

	return addr < cmb->bus + cmb->bytes && cmb->bus < addr + bytes;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Shadow doorbells (NVMe Base 2.0 section 5.8). Owns their two pages.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include "ctrl.h"

int annex_shadow_init(struct annex_ctrl *ctrl, bool supported)
{
	struct annex_shadow *s = &ctrl->shadow;

	/* Each buffer is one page (Base 5.8): do not use them for more doorbells. */
	if (!supported || ctrl->door_bytes > PAGE_SIZE)
		return 0;
	for (unsigned int i = 0; i < 2; i++) {
		s->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!s->page[i])
			goto undo;
		s->addr[i] = dma_map_page(&ctrl->pdev->dev, s->page[i], 0, PAGE_SIZE,
					  DMA_BIDIRECTIONAL);
		if (dma_mapping_error(&ctrl->pdev->dev, s->addr[i])) {
			__free_page(s->page[i]);
			s->page[i] = NULL;
			goto undo;
		}
	}
	return 0;
undo:
	annex_shadow_exit(ctrl);
	return -ENOMEM;
}

void annex_shadow_exit(struct annex_ctrl *ctrl)
{
	struct annex_shadow *s = &ctrl->shadow;

	for (unsigned int i = 0; i < 2; i++) {
		if (!s->page[i])
			continue;
		dma_unmap_page(&ctrl->pdev->dev, s->addr[i], PAGE_SIZE, DMA_BIDIRECTIONAL);
		__free_page(s->page[i]); /* the view has ended: no page table has the page */
		s->page[i] = NULL;
	}
}

int annex_shadow_begin(struct annex_ctrl *ctrl)
{
	struct annex_shadow *s = &ctrl->shadow;
	struct nvme_command cmd = {};
	int status;

	if (!s->page[0])
		return 0;
	clear_page(page_address(s->page[0]));
	clear_page(page_address(s->page[1]));
	cmd.common.opcode = nvme_admin_dbbuf;
	cmd.common.dptr.prp1 = cpu_to_le64(s->addr[0]);
	cmd.common.dptr.prp2 = cpu_to_le64(s->addr[1]);
	status = annex_admin_run(ctrl, &cmd, NULL);
	if (status > 0)
		dev_warn(&ctrl->dev, "no shadow doorbells: status 0x%03x\n", status);
	return status > 0 ? -EIO : status;
}

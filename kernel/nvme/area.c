// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the module's own that the controller can access: the admin queue, shadow doorbells,
 * host memory buffer.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include "compat.h"
#include "ctrl.h"

static const int area_prot[] = {
	[DMA_BIDIRECTIONAL] = IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE,
	[DMA_TO_DEVICE] = IOMMU_READ | IOMMU_CACHE,
	[DMA_FROM_DEVICE] = IOMMU_WRITE | IOMMU_CACHE,
};

static size_t area_bytes(const struct annex_area *area)
{
	return PAGE_SIZE << area->order;
}

int annex_area_init(struct annex_area *area, enum dma_data_direction way, unsigned int order)
{
	/* Smaller ones do as well as a large one that is hard to find. */
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | (order ? __GFP_NORETRY | __GFP_NOWARN : 0);

	area->at = (void *)__get_free_pages(gfp, order);
	area->order = order;
	area->way = way;
	return area->at ? 0 : -ENOMEM;
}

void annex_area_exit(struct annex_ctrl *ctrl, struct annex_area *area)
{
	annex_area_unmap(ctrl, area);
	annex_space_give(&ctrl->space, area->iova);
	free_pages((unsigned long)area->at, area->order);
	*area = (struct annex_area){};
}

static int area_map_own(struct annex_space *space, struct annex_area *area)
{
	phys_addr_t phys = virt_to_phys(area->at);
	size_t bytes = area_bytes(area);
	int err = 0;

	if (!area->iova)
		err = annex_space_take(space, bytes, phys, &area->iova, &area->addr);
	if (!err)
		err = annex_iommu_map(space->domain, area->addr, phys, bytes, area_prot[area->way]);
	area->mapped = !err;
	return err;
}

int annex_area_map(struct annex_ctrl *ctrl, struct annex_area *area)
{
	struct device *dma = &ctrl->pdev->dev;

	if (area->mapped)
		return 0;
	if (ctrl->space.domain)
		return area_map_own(&ctrl->space, area);
	area->addr = dma_map_page(dma, virt_to_page(area->at), 0, area_bytes(area), area->way);
	area->mapped = !dma_mapping_error(dma, area->addr);
	return area->mapped ? 0 : -ENOMEM;
}

void annex_area_unmap(struct annex_ctrl *ctrl, struct annex_area *area)
{
	if (area->mapped && ctrl->space.domain)
		iommu_unmap(ctrl->space.domain, area->addr, area_bytes(area));
	else if (area->mapped)
		dma_unmap_page(&ctrl->pdev->dev, area->addr, area_bytes(area), area->way);
	area->mapped = false;
}

void annex_area_give(struct annex_ctrl *ctrl, struct annex_area *area)
{
	if (!ctrl->space.domain)
		dma_sync_single_for_device(&ctrl->pdev->dev, area->addr, area_bytes(area),
					   area->way);
}

void annex_area_take(struct annex_ctrl *ctrl, struct annex_area *area)
{
	if (!ctrl->space.domain)
		dma_sync_single_for_cpu(&ctrl->pdev->dev, area->addr, area_bytes(area), area->way);
}

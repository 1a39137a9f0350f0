// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the module's own that the controller can access: the admin queue, shadow doorbells.
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

int annex_area_init(struct annex_area *area, enum dma_data_direction way)
{
	area->at = (void *)get_zeroed_page(GFP_KERNEL);
	area->way = way;
	return area->at ? 0 : -ENOMEM;
}

void annex_area_exit(struct annex_ctrl *ctrl, struct annex_area *area)
{
	annex_area_unmap(ctrl, area);
	annex_space_give(&ctrl->space, area->iova);
	free_page((unsigned long)area->at);
	*area = (struct annex_area){};
}

static int area_map_own(struct annex_space *space, struct annex_area *area)
{
	int err = 0;

	if (!area->iova)
		err = annex_space_take(space, PAGE_SIZE, 0, &area->iova, &area->addr);
	if (!err)
		err = annex_iommu_map(space->domain, area->addr, virt_to_phys(area->at), PAGE_SIZE,
				      area_prot[area->way]);
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
	area->addr = dma_map_page(dma, virt_to_page(area->at), 0, PAGE_SIZE, area->way);
	area->mapped = !dma_mapping_error(dma, area->addr);
	return area->mapped ? 0 : -ENOMEM;
}

void annex_area_unmap(struct annex_ctrl *ctrl, struct annex_area *area)
{
	if (area->mapped && ctrl->space.domain)
		iommu_unmap(ctrl->space.domain, area->addr, PAGE_SIZE);
	else if (area->mapped)
		dma_unmap_page(&ctrl->pdev->dev, area->addr, PAGE_SIZE, area->way);
	area->mapped = false;
}

void annex_area_give(struct annex_ctrl *ctrl, struct annex_area *area)
{
	if (!ctrl->space.domain)
		dma_sync_single_for_device(&ctrl->pdev->dev, area->addr, PAGE_SIZE, area->way);
}

void annex_area_take(struct annex_ctrl *ctrl, struct annex_area *area)
{
	if (!ctrl->space.domain)
		dma_sync_single_for_cpu(&ctrl->pdev->dev, area->addr, PAGE_SIZE, area->way);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device addresses by which a controller accesses memory. Behind an IOMMU they belong to a
 * domain of the controller's own, which contains its pages and its owner's memory, and nothing
 * else; the controller's IOMMU group is claimed, as VFIO does it. Without an IOMMU the DMA API
 * gives the addresses, and the controller can access all memory.
 *
 * All functions are called under the controller's lock, or by probe and remove.
 */
#ifndef ANNEX_SPACE_H
#define ANNEX_SPACE_H

#include <linux/dma-direction.h>
#include <linux/iova.h>
#include <linux/types.h>

struct annex_ctrl;
struct annex_ioc_seg;
struct iommu_domain;
struct iommu_group;
struct sg_table;

/**
 * struct annex_space - The device addresses of a controller.
 * @group: IOMMU group, claimed; NULL: no IOMMU.
 * @domain: domain of the controller's own; NULL: no IOMMU.
 * @dma: the group's default domain, in which exporters of dma-bufs map their memory by the DMA API;
 *	NULL if that does not translate addresses.
 * @iova: addresses of @domain that are in use or reserved.
 * @last: last page of @domain's addresses.
 */
struct annex_space {
	struct iommu_group *group;
	struct iommu_domain *domain, *dma;
	struct iova_domain iova;
	unsigned long last;
};

/**
 * struct annex_span - Memory of an owner that the controller can access.
 * @iova: the addresses, contiguous, of the controller's own domain; NULL: of the DMA API.
 * @segs: runs of device addresses.
 * @nsegs: number of @segs.
 */
struct annex_span {
	struct iova *iova;
	struct annex_ioc_seg *segs;
	u32 nsegs;
};

/**
 * struct annex_area - Pages of the module's own that the controller can access.
 * @at: kernel address.
 * @addr: device address, while @mapped.
 * @order: number of pages, contiguous, as a power of two.
 * @way: direction of the controller's accesses.
 * @mapped: the controller can access the pages.
 * @iova: address in the controller's own domain, from the first mapping until the end, so that no
 *	memory of an owner ever gets it.
 */
struct annex_area {
	void *at;
	dma_addr_t addr;
	unsigned int order;
	enum dma_data_direction way;
	bool mapped;
	struct iova *iova;
};

/*
 * annex_space_init() - Claim the IOMMU group, if there is one, and attach a new domain. -EPERM,
 * with a line: the group has other devices, or firmware demands that the device can access memory
 * (an RMRR); -EOPNOTSUPP, with a line: not coherent with the caches; -ENOMEM.
 */
int annex_space_init(struct annex_ctrl *ctrl);
/* annex_space_exit() - Give the group back. The controller has stopped, and all is unmapped. */
void annex_space_exit(struct annex_ctrl *ctrl);

/*
 * annex_space_map() - Map the pages of @table. @like: an address which the device address equals
 * modulo the size of large pages, as far as the memory fills such. 0 or an error, after which
 * annex_space_unmap() is not needed.
 */
int annex_space_map(struct annex_ctrl *ctrl, struct sg_table *table, u64 bytes, u64 like,
		    struct annex_span *span);
/*
 * annex_space_unmap() - Unmap what annex_space_map() has mapped. In a domain of its own the
 * addresses are invalid when this returns.
 */
void annex_space_unmap(struct annex_ctrl *ctrl, struct sg_table *table, struct annex_span *span);
/*
 * annex_space_map_peer() - Map @bytes from @offset on of a dma-buf that its exporter has mapped for
 * the DMA API, in @table.
 */
int annex_space_map_peer(struct annex_ctrl *ctrl, struct sg_table *table, u64 offset, u64 bytes,
			 struct annex_span *span);
void annex_space_unmap_peer(struct annex_ctrl *ctrl, struct annex_span *span);

/* annex_space_take() - Reserve addresses in the domain. -ENOSPC: there are not as many. */
int annex_space_take(struct annex_space *space, u64 bytes, u64 like, struct iova **iova, u64 *addr);
void annex_space_give(struct annex_space *space, struct iova *iova);

/* area.c. annex_area_init() - Allocate pages, zeroed, for accesses of that direction. */
int annex_area_init(struct annex_area *area, enum dma_data_direction way, unsigned int order);
void annex_area_exit(struct annex_ctrl *ctrl, struct annex_area *area);
/* annex_area_map() - Map the pages, unless they are @mapped. 0 or -ENOMEM. */
int annex_area_map(struct annex_ctrl *ctrl, struct annex_area *area);
void annex_area_unmap(struct annex_ctrl *ctrl, struct annex_area *area);
/* annex_area_give() - Make the CPU's stores visible; annex_area_take() - or the controller's. */
void annex_area_give(struct annex_ctrl *ctrl, struct annex_area *area);
void annex_area_take(struct annex_ctrl *ctrl, struct annex_area *area);

#endif

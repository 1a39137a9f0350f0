// SPDX-License-Identifier: GPL-2.0
/*
 * The device addresses of a controller: an IOMMU domain of its own, or the DMA API without an
 * IOMMU.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/memremap.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"

/* Some controllers truncate longer addresses (Amazon's), and longer page tables take longer. */
#define ADDRESSES DMA_BIT_MASK(48)
#define MEMORY (IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE)
#define DEVICE (IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO)
/* Only coherent memory is accepted, which needs no sync; so a page may be mapped twice. */
#define NO_SYNC DMA_ATTR_SKIP_CPU_SYNC

/* Reserve the addresses from @from to @to, which is the last one. */
static int space_reserve(struct annex_space *s, u64 from, u64 to)
{
	if (from >> PAGE_SHIFT > s->last)
		return 0;
	return reserve_iova(&s->iova, from >> PAGE_SHIFT, to >> PAGE_SHIFT) ? 0 : -ENOMEM;
}

/*
 * Regions of interrupts and of firmware. Firmware that demands access to a region would lose it:
 * kernels since 6.6 refuse that, and with 6.1 only some IOMMUs. On Arm the first address of a
 * region of MSIs is where their doorbell is mapped.
 */
static int space_reserve_regions(struct annex_ctrl *ctrl)
{
	struct annex_space *s = &ctrl->space;
	const struct iommu_resv_region *msi = NULL;
	struct iommu_resv_region *region;
	bool fixed = false;
	LIST_HEAD(regions);
	int err = iommu_get_group_resv_regions(s->group, &regions);

	list_for_each_entry(region, &regions, list) {
		if (region->type == IOMMU_RESV_SW_MSI)
			msi = region;
		fixed |= region->type == IOMMU_RESV_MSI;
		if (!err && region->type == IOMMU_RESV_DIRECT)
			err = -EPERM;
		if (!err)
			err = space_reserve(s, region->start, region->start + region->length - 1);
	}
	if (!err && msi && !fixed)
		err = iommu_get_msi_cookie(s->domain, msi->start);
	iommu_put_resv_regions(&ctrl->pdev->dev, &regions);
	return err;
}

/* The lowest range that the bridge passes to memory, among the ranges that end above @from. */
static struct resource_entry *space_next_range(struct pci_host_bridge *bridge, u64 from)
{
	struct resource_entry *w, *next = NULL;

	resource_list_for_each_entry(w, &bridge->dma_ranges) {
		if (w->res->end - w->offset >= from &&
		    (!next || w->res->start - w->offset < next->res->start - next->offset))
			next = w;
	}
	return next;
}

/* Addresses of other devices behind the host bridge, and ranges that do not lead to memory. */
static int space_reserve_bridge(struct annex_ctrl *ctrl)
{
	struct pci_host_bridge *bridge = pci_find_host_bridge(ctrl->pdev->bus);
	struct annex_space *s = &ctrl->space;
	struct resource_entry *w;
	u64 from = 0;
	int err = 0;

	resource_list_for_each_entry(w, &bridge->windows) {
		if (!err && resource_type(w->res) == IORESOURCE_MEM)
			err = space_reserve(s, w->res->start - w->offset, w->res->end - w->offset);
	}
	while (!err && (w = space_next_range(bridge, from))) {
		if (w->res->start - w->offset > from)
			err = space_reserve(s, from, w->res->start - w->offset - 1);
		from = w->res->end - w->offset + 1;
		if (!from)
			return err;
	}
	return !err && from ? space_reserve(s, from, U64_MAX) : err;
}

static int space_attach(struct annex_ctrl *ctrl)
{
	struct annex_space *s = &ctrl->space;
	struct device *dev = &ctrl->pdev->dev;
	const struct iommu_domain_geometry *geometry;
	u64 most;
	int err;

	s->domain = annex_domain_alloc(dev);
	if (IS_ERR_OR_NULL(s->domain)) {
		err = s->domain ? PTR_ERR(s->domain) : -ENOMEM;
		s->domain = NULL;
		return err;
	}
	err = iommu_attach_group(s->domain, s->group);
	if (err)
		goto free;
	err = -EINVAL;
	if (!(s->domain->pgsize_bitmap & PAGE_SIZE)) /* known since the attachment */
		goto detach;
	geometry = &s->domain->geometry;
	most = min3((u64)geometry->aperture_end, dma_get_mask(dev), ADDRESSES);
	s->last = min_not_zero(most, (u64)dev->bus_dma_limit) >> PAGE_SHIFT;
	/* Address 0 is not used. */
	init_iova_domain(&s->iova, PAGE_SIZE,
			 max_t(u64, geometry->aperture_start >> PAGE_SHIFT, 1));
	err = space_reserve_regions(ctrl);
	if (!err)
		err = space_reserve_bridge(ctrl);
	if (!err)
		return 0;
	put_iova_domain(&s->iova);
detach:
	iommu_detach_group(s->domain, s->group);
free:
	iommu_domain_free(s->domain);
	s->domain = NULL;
	return err;
}

/*
 * Devices of a group can access each other without the IOMMU, and an unused drive may have queues
 * in its controller memory. Bridges do not access memory themselves.
 */
static int space_is_other(struct device *dev, void *data)
{
	struct annex_ctrl *ctrl = data;

	return dev != &ctrl->pdev->dev &&
	       !(dev_is_pci(dev) && to_pci_dev(dev)->hdr_type == PCI_HEADER_TYPE_BRIDGE);
}

int annex_space_init(struct annex_ctrl *ctrl)
{
	struct annex_space *s = &ctrl->space;
	struct device *dev = &ctrl->pdev->dev;
	struct iommu_domain *dma = iommu_get_domain_for_dev(dev);
	int err;

	s->group = iommu_group_get(dev);
	if (!s->group)
		return 0;
	if (!device_iommu_capable(dev, IOMMU_CAP_CACHE_COHERENCY) || !dev_is_dma_coherent(dev)) {
		err = annex_refuse(ctrl, -EOPNOTSUPP, "not coherent with the caches");
		goto put;
	}
	/* Only a change of the group's type at this moment could end the domain. */
	s->dma = dma && dma->type & __IOMMU_DOMAIN_PAGING ? dma : NULL;
	err = iova_cache_get();
	if (err)
		goto put;
	err = iommu_group_claim_dma_owner(s->group, ctrl);
	if (!err && iommu_group_for_each_dev(s->group, ctrl, space_is_other)) {
		iommu_group_release_dma_owner(s->group);
		err = -EPERM;
	} else if (!err) {
		err = space_attach(ctrl);
		if (!err)
			return 0;
		iommu_group_release_dma_owner(s->group);
	}
	iova_cache_put();
	/* Kernels differ in their errors, and log a line if there is a region of firmware. */
	if (err != -ENOMEM)
		err = annex_refuse(ctrl, -EPERM, "its IOMMU group has other devices or an RMRR");
put:
	iommu_group_put(s->group);
	s->group = NULL;
	return err;
}

void annex_space_exit(struct annex_ctrl *ctrl)
{
	struct annex_space *s = &ctrl->space;

	if (!s->group)
		return;
	put_iova_domain(&s->iova);
	iommu_detach_group(s->domain, s->group);
	iommu_domain_free(s->domain);
	s->domain = NULL;
	iommu_group_release_dma_owner(s->group);
	iova_cache_put();
	iommu_group_put(s->group);
	s->group = NULL;
}

/* The largest page of the domain that @bytes can contain. */
static u64 space_page(const struct annex_space *s, u64 bytes)
{
	return 1ull << __fls(s->domain->pgsize_bitmap & GENMASK_ULL(__fls(bytes), 0));
}

int annex_space_take(struct annex_space *s, u64 bytes, u64 like, struct iova **iova, u64 *addr)
{
	u64 page = space_page(s, bytes), from;

	*iova = alloc_iova(&s->iova, (bytes + page - PAGE_SIZE) >> PAGE_SHIFT, s->last, false);
	if (!*iova)
		return -ENOMEM;
	from = (*iova)->pfn_lo << PAGE_SHIFT;
	*addr = from + ((like - from) & (page - 1));
	return 0;
}

void annex_space_give(struct annex_space *s, struct iova *iova)
{
	if (iova)
		__free_iova(&s->iova, iova);
}

static int space_refuse_bounced(struct annex_ctrl *ctrl)
{
	return annex_refuse(ctrl, -EOPNOTSUPP, "map: bounced, or not coherent");
}

/* Both the CPU and the controller poll queues, so neither bounce buffers nor caches would work. */
static bool space_is_coherent(struct annex_ctrl *ctrl, dma_addr_t addr)
{
	return ctrl->space.dma || !dma_need_sync(&ctrl->pdev->dev, addr);
}

/* Collect the runs of device addresses of [offset, offset + bytes) of a table that is mapped. */
static int space_read_segs(struct annex_ctrl *ctrl, struct sg_table *table, u64 offset, u64 bytes,
			   struct annex_span *span)
{
	u64 at = 0, end = offset + bytes;
	struct scatterlist *sg;
	unsigned int i;
	u32 n = 0;

	span->segs = kvcalloc(table->nents, sizeof(*span->segs),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!span->segs)
		return -ENOMEM;
	for_each_sgtable_dma_sg(table, sg, i) {
		u64 from = max(at, offset), to = min(at + sg_dma_len(sg), end);
		u64 addr = sg_dma_address(sg) + (from - at);

		at += sg_dma_len(sg);
		if (from >= to)
			continue;
		if (!space_is_coherent(ctrl, addr))
			return space_refuse_bounced(ctrl);
		if (!IS_ALIGNED(addr | (to - from), ANNEX_PAGE))
			return annex_refuse(ctrl, -EOPNOTSUPP,
					    "map: the dma-buf is not in pages of 4 KiB");
		if (n && span->segs[n - 1].addr + span->segs[n - 1].bytes == addr)
			span->segs[n - 1].bytes += to - from;
		else
			span->segs[n++] = (struct annex_ioc_seg){addr, to - from};
	}
	span->nsegs = n;
	return at >= end ? 0 : -EINVAL;
}

static void space_forget(struct annex_space *s, struct annex_span *span)
{
	annex_space_give(s, span->iova);
	span->iova = NULL;
	kvfree(span->segs);
	span->segs = NULL;
	span->nsegs = 0;
}

static void space_unmap_own(struct annex_space *s, struct annex_span *span)
{
	if (span->segs[0].bytes)
		iommu_unmap(s->domain, span->segs[0].addr, span->segs[0].bytes);
}

/* Reserve the addresses of a span in the domain: a single run. */
static int space_begin(struct annex_space *s, u64 bytes, u64 like, struct annex_span *span)
{
	span->segs = kvmalloc(sizeof(*span->segs), GFP_KERNEL_ACCOUNT);
	if (!span->segs)
		return -ENOMEM;
	span->nsegs = 1;
	span->segs[0].bytes = 0; /* mapped bytes */
	return annex_space_take(s, bytes, like, &span->iova, &span->segs[0].addr);
}

static int space_map_own(struct annex_space *s, struct sg_table *table, u64 bytes, u64 like,
			 struct annex_span *span)
{
	int err = space_begin(s, bytes, like, span);
	ssize_t got;

	if (err)
		return err;
	got = annex_iommu_map_sg(s->domain, span->segs[0].addr, table, MEMORY);
	if (got < 0 || got < bytes)
		return got < 0 ? got : -ENOMEM;
	span->segs[0].bytes = bytes;
	return 0;
}

static int space_map_dma(struct annex_ctrl *ctrl, struct sg_table *table, u64 bytes,
			 struct annex_span *span)
{
	struct device *dma = &ctrl->pdev->dev;
	int err = dma_map_sgtable(dma, table, DMA_BIDIRECTIONAL, NO_SYNC);

	/* A mapping that needs bounce buffers can fail because they are too small. */
	if (err)
		return dma_max_mapping_size(dma) == SIZE_MAX ? err : space_refuse_bounced(ctrl);
	err = space_read_segs(ctrl, table, 0, bytes, span);
	if (err)
		dma_unmap_sgtable(dma, table, DMA_BIDIRECTIONAL, NO_SYNC);
	return err;
}

int annex_space_map(struct annex_ctrl *ctrl, struct sg_table *table, u64 bytes, u64 like,
		    struct annex_span *span)
{
	struct annex_space *s = &ctrl->space;
	int err = s->domain ? space_map_own(s, table, bytes, like, span)
			    : space_map_dma(ctrl, table, bytes, span);

	if (err)
		space_forget(s, span);
	return err;
}

void annex_space_unmap(struct annex_ctrl *ctrl, struct sg_table *table, struct annex_span *span)
{
	struct annex_space *s = &ctrl->space;

	if (!span->segs)
		return;
	if (s->domain)
		space_unmap_own(s, span);
	else
		dma_unmap_sgtable(&ctrl->pdev->dev, table, DMA_BIDIRECTIONAL, NO_SYNC);
	space_forget(s, span);
}

/* The host address behind an address of the DMA API. 0: none. */
static phys_addr_t space_resolve(const struct annex_space *s, u64 addr)
{
	return s->dma ? iommu_iova_to_phys(s->dma, addr) : addr;
}

/* The number of bytes from @addr on, @bytes at most, that are contiguous in the host's memory. */
static u64 space_contiguous(const struct annex_space *s, u64 addr, u64 bytes)
{
	phys_addr_t first = space_resolve(s, addr);
	u64 n = s->dma ? PAGE_SIZE : bytes;

	for (; n < bytes && space_resolve(s, addr + n) == first + n; n += PAGE_SIZE)
		if (!(n % SZ_16M))
			cond_resched();
	return n;
}

/* Device memory, as opposed to DRAM and CXL memory. */
static bool space_is_device(phys_addr_t at)
{
	return !pfn_valid(PHYS_PFN(at)) || is_pci_p2pdma_page(pfn_to_page(PHYS_PFN(at)));
}

/* Append the mapping of @bytes at @from in the DMA API's domain to the run. */
static int space_copy(struct annex_space *s, u64 from, u64 bytes, struct annex_ioc_seg *run)
{
	while (bytes) {
		phys_addr_t first = space_resolve(s, from);
		int prot = space_is_device(first) ? DEVICE : MEMORY, err;
		u64 n = space_contiguous(s, from, bytes);

		if (!first)
			return -EFAULT;
		err = annex_iommu_map(s->domain, run->addr + run->bytes, first, n, prot);
		if (err)
			return err;
		run->bytes += n;
		from += n;
		bytes -= n;
		cond_resched();
	}
	return 0;
}

/*
 * The exporter's addresses are of a domain that the controller is not attached to. The host
 * addresses behind them stay the same while the exporter's mapping exists.
 */
static int space_map_peer_own(struct annex_ctrl *ctrl, struct sg_table *table, u64 offset,
			      u64 bytes, struct annex_span *span)
{
	struct annex_space *s = &ctrl->space;
	struct annex_span theirs = {};
	int err;

	/* Without a domain of theirs, addresses are the host's unless the bridge shifts them. */
	if (!s->dma && ctrl->pdev->dev.dma_range_map)
		return annex_refuse(ctrl, -EOPNOTSUPP, "map: the dma-buf's addresses are shifted");
	err = space_read_segs(ctrl, table, offset, bytes, &theirs);
	if (!err)
		err = space_begin(s, bytes, space_resolve(s, theirs.segs[0].addr), span);
	for (u32 i = 0; !err && i < theirs.nsegs; i++)
		err = space_copy(s, theirs.segs[i].addr, theirs.segs[i].bytes, span->segs);
	kvfree(theirs.segs);
	return err;
}

int annex_space_map_peer(struct annex_ctrl *ctrl, struct sg_table *table, u64 offset, u64 bytes,
			 struct annex_span *span)
{
	int err = ctrl->space.domain ? space_map_peer_own(ctrl, table, offset, bytes, span)
				     : space_read_segs(ctrl, table, offset, bytes, span);

	if (err)
		annex_space_unmap_peer(ctrl, span);
	return err;
}

void annex_space_unmap_peer(struct annex_ctrl *ctrl, struct annex_span *span)
{
	struct annex_space *s = &ctrl->space;

	if (span->iova)
		space_unmap_own(s, span);
	space_forget(s, span);
}

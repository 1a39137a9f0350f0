// SPDX-License-Identifier: GPL-2.0
/*
 * A range's cacheable memory as dma-bufs.
 */
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "export.h"
#include "page.h"
#include "piece.h"
#include "range.h"

/*
 * struct range_export - A dma-buf, which is a user of its range.
 * @e: the dma-buf.
 * @range: the range, with a reference.
 * @piece: the piece that has the memory, with a reference; NULL: the range is shared.
 */
struct range_export {
	struct annex_export e;
	struct annex_range *range;
	struct annex_piece *piece;
};

/*
 * A mapping must not use bounce buffers, as no one would sync them. @err: result of the mapping; a
 * lack of bounce buffers makes it fail.
 */
static bool export_bounces(struct device *dev, struct sg_table *sgt, int err)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	struct scatterlist *sg;
	int i;

	if (err)
		return dma_max_mapping_size(dev) != SIZE_MAX;
	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return dev_is_pci(dev) && to_pci_dev(dev)->untrusted;
	for_each_sgtable_dma_sg(sgt, sg, i)
		if (dma_need_sync(dev, sg_dma_address(sg)))
			return true;
	return false;
}

static void export_unmap(struct device *dev, struct sg_table *sgt, enum dma_data_direction dir)
{
	dma_unmap_sgtable(dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
}

static int export_map(struct annex_export *e, struct device *dev, struct sg_table *sgt,
		      enum dma_data_direction dir)
{
	int err = dma_map_sgtable(dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);

	if (!export_bounces(dev, sgt, err))
		return err;
	if (!err)
		export_unmap(dev, sgt, dir);
	dev_notice_ratelimited(dev, "annex: it does not reach CXL memory itself\n");
	return -EOPNOTSUPP;
}

static void export_free(struct range_export *x)
{
	if (x->piece)
		annex_piece_put(x->piece);
	kfree(x);
}

static void export_release(struct annex_export *e)
{
	struct range_export *x = container_of(e, struct range_export, e);
	struct annex_range *r = x->range;

	export_free(x); /* its piece is of the range */
	annex_range_leave(r);
}

static const struct annex_export_type range_memory = {
	.map = export_map,
	.unmap = export_unmap,
	.release = export_release,
	.paged = true,
};

/* Under one lock, which the end of the range and the release of the dma-buf take too. */
static int export_join(struct annex_range *r, struct range_export *x)
{
	int fd = -ENODEV;

	mutex_lock(&r->lock);
	if (annex_range_state(r) == ANNEX_RANGE_LIVE)
		fd = annex_export_create(&x->e);
	if (fd >= 0)
		annex_range_join(r);
	mutex_unlock(&r->lock);
	return fd;
}

int annex_range_export(struct annex_range *r, struct annex_hdm *hdm, struct annex_ioc_dmabuf *args)
{
	struct range_export *x;
	int fd;

	if (!args->bytes || !PAGE_ALIGNED(args->offset | args->bytes) || args->bytes > r->cached ||
	    args->offset > r->cached - args->bytes)
		return annex_hdm_refuse(hdm, -EINVAL, "dma-buf: 0x%llx + 0x%llx of 0x%llx",
					args->offset, args->bytes, r->cached);
	x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	if (!x)
		return -ENOMEM;
	x->range = r;
	x->e = (struct annex_export){
		.type = &range_memory,
		.exports = &r->exports,
		.base = r->base + args->offset,
		.bytes = args->bytes,
	};
	if (!r->shared)
		x->piece = annex_piece_find(r, args->offset, args->bytes);
	if (!r->shared && !x->piece)
		fd = annex_hdm_refuse(hdm, -EACCES, "dma-buf: 0x%llx + 0x%llx in no piece of yours",
				      args->offset, args->bytes);
	else
		fd = export_join(r, x);
	if (fd < 0) {
		export_free(x);
		return fd;
	}
	args->fd = fd;
	return 0;
}

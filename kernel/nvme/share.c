// SPDX-License-Identifier: GPL-2.0
/*
 * An owner's controller memory as dma-bufs, which other devices access by peer-to-peer DMA.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/pci-p2pdma.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"
#include "export.h"
#include "map.h"
#include "owner.h"

#define SETTLE (5 * HZ)

/*
 * struct annex_share - A dma-buf.
 * @e: the dma-buf.
 * @ctrl: the controller, with a reference.
 */
struct annex_share {
	struct annex_export e;
	struct annex_ctrl *ctrl;
};

/* Under the reservation lock: the controller is not removed before the dma-buf has ended. */
static int share_attach(struct annex_export *e, struct dma_buf_attachment *attach)
{
	struct annex_ctrl *ctrl = container_of(e, struct annex_share, e)->ctrl;
	const char *name = dev_name(attach->dev);

	if (attach->dev == &ctrl->pdev->dev)
		return annex_refuse(ctrl, -EOPNOTSUPP, "dma-buf: its own memory needs none");
	if (!attach->peer2peer || !attach->importer_ops->ANNEX_DMABUF_MOVED)
		return annex_refuse(ctrl, -EOPNOTSUPP,
				    "dma-buf: the driver of %s accepts no revocable memory", name);
	if (pci_p2pdma_distance(ctrl->pdev, attach->dev, false) < 0)
		return annex_refuse(ctrl, -EOPNOTSUPP,
				    "dma-buf: the kernel allows no peer-to-peer DMA from %s", name);
	return 0;
}

/* Unmap the first @n entries. */
static void share_unmap_some(struct device *dev, struct sg_table *sgt, unsigned int n,
			     enum dma_data_direction dir)
{
	for (struct scatterlist *sg = sgt->sgl; n; sg = sg_next(sg), n--)
		dma_unmap_resource(dev, sg_dma_address(sg), sg->length, dir,
				   DMA_ATTR_SKIP_CPU_SYNC);
}

static void share_unmap(struct device *dev, struct sg_table *sgt, enum dma_data_direction dir)
{
	share_unmap_some(dev, sgt, sgt->orig_nents, dir);
}

static int share_map(struct annex_export *e, struct device *dev, struct sg_table *sgt,
		     enum dma_data_direction dir)
{
	phys_addr_t at = e->base;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(sgt, sg, i) {
		sg_dma_address(sg) = dma_map_resource(dev, at, sg->length, dir,
						      DMA_ATTR_SKIP_CPU_SYNC);
		sg_dma_len(sg) = sg->length;
		if (dma_mapping_error(dev, sg_dma_address(sg))) {
			share_unmap_some(dev, sgt, i, dir);
			return -ENOMEM;
		}
		at += sg->length;
	}
	return 0;
}

static void share_free(struct annex_share *x)
{
	put_device(&x->ctrl->dev);
	kfree(x);
}

static void share_release(struct annex_export *e)
{
	share_free(container_of(e, struct annex_share, e));
}

static const struct annex_export_type share_type = {
	.attach = share_attach,
	.map = share_map,
	.unmap = share_unmap,
	.release = share_release,
};

static phys_addr_t share_base(const struct annex_map *map)
{
	return map->ctrl->cmb.phys + (u64)map->first * ANNEX_PAGE;
}

static int share_check(struct annex_ctrl *ctrl, const struct annex_map *map, u64 offset, u64 bytes)
{
	if (!bytes || !PAGE_ALIGNED(offset | bytes) || bytes > map->bytes ||
	    offset > map->bytes - bytes)
		return annex_refuse(ctrl, -EINVAL, "dma-buf: 0x%llx + 0x%llx of 0x%llx", offset,
				    bytes, map->bytes);
	if (!IS_ENABLED(CONFIG_PCI_P2PDMA))
		return annex_refuse(ctrl, -EOPNOTSUPP,
				    "dma-buf: the kernel lacks CONFIG_PCI_P2PDMA");
	/* Without an IOMMU importers use the host's addresses. */
	if (ctrl->cmb.phys != ctrl->cmb.bus)
		return annex_refuse(ctrl, -EOPNOTSUPP, "dma-buf: a bridge shifts addresses");
	return ctrl->asleep ? -EAGAIN : 0;
}

int annex_share_create(struct annex_owner *owner, struct annex_ioc_dmabuf *args)
{
	u64 at = args->offset - ANNEX_MMAP_NEW(0), offset = lower_32_bits(at);
	const struct annex_map *map = xa_load(&owner->maps, at >> 32);
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_share *x;
	int fd;

	if (!map || map->kind != ANNEX_MAP_CMB)
		return annex_refuse(ctrl, -ENOENT, "dma-buf: no controller memory at 0x%llx",
				    args->offset);
	fd = share_check(ctrl, map, offset, args->bytes);
	if (fd)
		return fd;
	x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	if (!x)
		return -ENOMEM;
	x->ctrl = ctrl;
	get_device(&ctrl->dev);
	x->e = (struct annex_export){
		.type = &share_type,
		.exports = &ctrl->exports,
		.base = share_base(map) + offset,
		.bytes = args->bytes,
	};
	fd = annex_export_create(&x->e);
	if (fd < 0) {
		share_free(x);
		return fd;
	}
	args->fd = fd;
	return 0;
}

bool annex_share_end(const struct annex_map *map)
{
	return annex_exports_end(&map->ctrl->exports, share_base(map), map->bytes);
}

bool annex_share_settle(struct annex_ctrl *ctrl)
{
	if (annex_exports_settle(&ctrl->exports, SETTLE))
		return true;
	dev_warn(&ctrl->dev, "a device does not unmap a dma-buf that has ended\n");
	return false;
}

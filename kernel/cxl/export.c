// SPDX-License-Identifier: GPL-2.0
/*
 * A range's cacheable memory as dma-bufs. Owns the range's list of dma-bufs.
 */
#include <linux/dma-buf.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-resv.h>
#include <linux/iommu.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "compat.h"
#include "page.h"
#include "piece.h"
#include "range.h"

ANNEX_IMPORT_NS(DMA_BUF);

#define RUN SZ_1G /* most bytes of a scatterlist entry, whose length has 32 bits */

/*
 * struct annex_export - A dma-buf.
 * @list: entry in the range's dma-bufs (the range's lock).
 * @range: the range, with a reference.
 * @piece: the piece that has the memory, with a reference; NULL: the range is shared.
 * @dmabuf: the dma-buf, which owns this structure.
 * @base: first host address.
 * @bytes: size.
 * @ended: the dma-buf cannot be mapped any more (its reservation lock).
 * @maps: number of mappings (its reservation lock); also read without it.
 */
struct annex_export {
	struct list_head list;
	struct annex_range *range;
	struct annex_piece *piece;
	struct dma_buf *dmabuf;
	u64 base, bytes;
	bool ended;
	atomic_t maps;
};

/* The memory does not move, unless its device is removed. */
static int export_pin(struct dma_buf_attachment *attach)
{
	struct annex_export *e = attach->dmabuf->priv;

	return e->ended ? -ENODEV : 0;
}

static void export_unpin(struct dma_buf_attachment *attach)
{
}

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

/* Make entries no larger than the importing device supports. */
static struct sg_table *export_make_table(const struct annex_export *e, struct device *dev)
{
	u32 run = clamp_t(u32, round_down(dma_get_max_seg_size(dev), PAGE_SIZE), PAGE_SIZE, RUN);
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	u64 n = DIV_ROUND_UP_ULL(e->bytes, run), at = 0;
	struct scatterlist *sg;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	if (n > UINT_MAX || sg_alloc_table(sgt, n, GFP_KERNEL)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	for (sg = sgt->sgl; sg; sg = sg_next(sg)) {
		u64 bytes = min_t(u64, e->bytes - at, run);

		sg_set_page(sg, pfn_to_page(PHYS_PFN(e->base + at)), bytes, 0);
		at += bytes;
	}
	return sgt;
}

static void export_free_table(struct sg_table *sgt)
{
	sg_free_table(sgt);
	kfree(sgt);
}

static struct sg_table *export_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct annex_export *e = attach->dmabuf->priv;
	struct sg_table *sgt;
	int err;

	if (e->ended)
		return ERR_PTR(-ENODEV);
	sgt = export_make_table(e, attach->dev);
	if (IS_ERR(sgt))
		return sgt;
	err = dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (export_bounces(attach->dev, sgt, err)) {
		if (!err)
			dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
		dev_notice_ratelimited(attach->dev, "annex: it does not reach CXL memory itself\n");
		err = -EOPNOTSUPP;
	}
	if (err) {
		export_free_table(sgt);
		return ERR_PTR(err);
	}
	atomic_inc(&e->maps);
	return sgt;
}

static void export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct annex_export *e = attach->dmabuf->priv;

	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	export_free_table(sgt);
	/* Order the unmap before the count: annex_export_idle() lets the memory go at 0. */
	smp_mb__before_atomic();
	atomic_dec(&e->maps);
}

static void export_free(struct annex_export *e)
{
	if (e->piece)
		annex_piece_put(e->piece);
	kfree(e);
}

static void export_release(struct dma_buf *dmabuf)
{
	struct annex_export *e = dmabuf->priv;
	struct annex_range *r = e->range;

	mutex_lock(&r->lock);
	list_del(&e->list);
	mutex_unlock(&r->lock);
	export_free(e); /* its piece is of the range */
	annex_range_leave(r);
}

static const struct dma_buf_ops ops = {
	.pin = export_pin,
	.unpin = export_unpin,
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.release = export_release,
};

static int export(struct annex_export *e)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	info.ops = &ops;
	info.size = e->bytes;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = e;
	e->dmabuf = dma_buf_export(&info);
	return PTR_ERR_OR_ZERO(e->dmabuf);
}

/* Export and add to the list under one lock: annex_export_end() goes through the list. */
static int export_join(struct annex_export *e)
{
	struct annex_range *r = e->range;
	int err;

	mutex_lock(&r->lock);
	err = annex_range_state(r) == ANNEX_RANGE_LIVE ? export(e) : -ENODEV;
	if (!err) {
		annex_range_join(r);
		list_add(&e->list, &r->exports);
	}
	mutex_unlock(&r->lock);
	return err;
}

int annex_export_create(struct annex_range *r, struct annex_hdm *hdm,
			struct annex_ioc_hdm_dmabuf *args)
{
	struct annex_export *e;
	int err;

	if (!args->bytes || !PAGE_ALIGNED(args->offset | args->bytes) || args->bytes > r->cached ||
	    args->offset > r->cached - args->bytes)
		return annex_hdm_refuse(hdm, -EINVAL, "dma-buf: 0x%llx + 0x%llx of 0x%llx",
					args->offset, args->bytes, r->cached);
	e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	e->range = r;
	e->base = r->base + args->offset;
	e->bytes = args->bytes;
	if (!r->shared)
		e->piece = annex_piece_find(r, args->offset, args->bytes);
	if (!r->shared && !e->piece)
		err = annex_hdm_refuse(hdm, -EACCES,
				       "dma-buf: 0x%llx + 0x%llx in no piece of yours",
				       args->offset, args->bytes);
	else
		err = export_join(e);
	if (err) {
		export_free(e);
		return err;
	}
	args->fd = dma_buf_fd(e->dmabuf, O_CLOEXEC);
	if (args->fd < 0) {
		err = args->fd;
		dma_buf_put(e->dmabuf); /* frees it, which takes the range's lock */
	}
	return err;
}

void annex_export_end(struct annex_range *r)
{
	struct annex_export *e;

	list_for_each_entry(e, &r->exports, list) {
		dma_resv_lock(e->dmabuf->resv, NULL);
		e->ended = true;
		annex_dmabuf_moved(e->dmabuf);
		dma_resv_unlock(e->dmabuf->resv);
	}
}

bool annex_export_idle(struct annex_range *r)
{
	struct annex_export *e;

	list_for_each_entry(e, &r->exports, list)
		if (atomic_read(&e->maps))
			return false;
	smp_rmb(); /* pairs with export_unmap() */
	return true;
}

unsigned int annex_export_count(struct annex_range *r)
{
	struct annex_export *e;
	unsigned int n = 0;

	list_for_each_entry(e, &r->exports, list)
		n++;
	return n;
}

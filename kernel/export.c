// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a device as dma-bufs. Owns the lists of dma-bufs.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "compat.h"
#include "export.h"

ANNEX_IMPORT_NS(DMA_BUF);

#define RUN SZ_1G /* most bytes of a scatterlist entry, whose length has 32 bits */

/* Unlike the other operations, called without the reservation lock. */
static int export_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct annex_export *e = dmabuf->priv;
	int err = 0;

	dma_resv_lock(dmabuf->resv, NULL);
	if (e->ended)
		err = -ENODEV;
	else if (e->type->attach)
		err = e->type->attach(e, attach);
	dma_resv_unlock(dmabuf->resv);
	return err;
}

/* The memory does not move, unless it ends. */
static int export_pin(struct dma_buf_attachment *attach)
{
	struct annex_export *e = attach->dmabuf->priv;

	return e->ended ? -ENODEV : 0;
}

static void export_unpin(struct dma_buf_attachment *attach)
{
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

		sg_set_page(sg, e->type->paged ? pfn_to_page(PHYS_PFN(e->base + at)) : NULL, bytes,
			    0);
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
	err = e->type->map(e, attach->dev, sgt, dir);
	if (err) {
		export_free_table(sgt);
		return ERR_PTR(err);
	}
	e->maps++;
	atomic_inc(&e->exports->maps);
	return sgt;
}

static void export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct annex_export *e = attach->dmabuf->priv;

	e->type->unmap(attach->dev, sgt, dir);
	export_free_table(sgt);
	e->maps--;
	/* Order the unmap before the count: after 0 the memory is reused. Full barrier. */
	if (atomic_dec_and_test(&e->exports->maps))
		wake_up_all(&e->exports->wait);
}

static void export_release(struct dma_buf *dmabuf)
{
	struct annex_export *e = dmabuf->priv;

	mutex_lock(&e->exports->lock);
	list_del(&e->list);
	mutex_unlock(&e->exports->lock);
	e->type->release(e);
}

static const struct dma_buf_ops ops = {
	.attach = export_attach,
	.pin = export_pin,
	.unpin = export_unpin,
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.release = export_release,
};

void annex_exports_init(struct annex_exports *exports)
{
	mutex_init(&exports->lock);
	INIT_LIST_HEAD(&exports->list);
	atomic_set(&exports->maps, 0);
	init_waitqueue_head(&exports->wait);
}

int annex_export_create(struct annex_export *e)
{
	struct annex_exports *exports = e->exports;
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	info.ops = &ops;
	info.size = e->bytes;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = e;
	mutex_lock(&exports->lock);
	dmabuf = dma_buf_export(&info);
	if (!IS_ERR(dmabuf)) {
		e->dmabuf = dmabuf;
		list_add(&e->list, &exports->list);
	}
	mutex_unlock(&exports->lock);
	if (IS_ERR(dmabuf)) {
		put_unused_fd(fd);
		return PTR_ERR(dmabuf);
	}
	fd_install(fd, dmabuf->file);
	return fd;
}

static bool export_end(struct annex_export *e)
{
	bool mapped;

	dma_resv_lock(e->dmabuf->resv, NULL);
	if (!e->ended)
		annex_dmabuf_moved(e->dmabuf);
	e->ended = true;
	mapped = e->maps;
	dma_resv_unlock(e->dmabuf->resv);
	return mapped;
}

bool annex_exports_end(struct annex_exports *exports, u64 base, u64 bytes)
{
	struct annex_export *e;
	bool mapped = false;

	mutex_lock(&exports->lock);
	list_for_each_entry(e, &exports->list, list)
		if (e->base < base + bytes && base < e->base + e->bytes)
			mapped |= export_end(e);
	mutex_unlock(&exports->lock);
	return mapped;
}

bool annex_exports_idle(struct annex_exports *exports)
{
	return !atomic_read_acquire(&exports->maps); /* pairs with export_unmap() */
}

bool annex_exports_settle(struct annex_exports *exports, long timeout)
{
	return wait_event_timeout(exports->wait, annex_exports_idle(exports), timeout);
}

unsigned int annex_exports_count(struct annex_exports *exports)
{
	struct annex_export *e;
	unsigned int n = 0;

	mutex_lock(&exports->lock);
	list_for_each_entry(e, &exports->list, list)
		n++;
	mutex_unlock(&exports->lock);
	return n;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of another device, by dma-buf. Pins it, so that it does not move while queues use it.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"
#include "map.h"

ANNEX_IMPORT_NS(DMA_BUF);

#define SETTLE (5 * HZ)

/* Called with the exporter's lock held: the work resets the controller without it. */
static void peer_move_notify(struct dma_buf_attachment *attach)
{
	struct annex_map *map = attach->importer_priv;

	schedule_work(&map->moved);
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer = true,
	.ANNEX_DMABUF_MOVED = peer_move_notify,
};

/* Dynamic importers must wait for the exporter's fences themselves. */
static int peer_settle(struct annex_map *map)
{
	long left = dma_resv_wait_timeout(map->dmabuf->resv, DMA_RESV_USAGE_KERNEL, true, SETTLE);

	return left > 0 ? 0 : left ? left : -ETIMEDOUT;
}

static int peer_attach(struct annex_map *map)
{
	struct dma_buf_attachment *a;
	int err;

	a = dma_buf_dynamic_attach(map->dmabuf, &map->ctrl->pdev->dev, &attach_ops, map);
	if (IS_ERR(a))
		return PTR_ERR(a);
	dma_resv_lock(map->dmabuf->resv, NULL);
	err = dma_buf_pin(a);
	if (err)
		goto unlock;
	map->peer = dma_buf_map_attachment(a, DMA_BIDIRECTIONAL);
	err = PTR_ERR_OR_ZERO(map->peer);
	if (err)
		goto unpin;
	err = peer_settle(map);
	if (err)
		goto unmap;
	dma_resv_unlock(map->dmabuf->resv);
	map->attach = a;
	return 0;
unmap:
	dma_buf_unmap_attachment(a, map->peer, DMA_BIDIRECTIONAL);
unpin:
	dma_buf_unpin(a);
unlock:
	dma_resv_unlock(map->dmabuf->resv);
	map->peer = NULL;
	dma_buf_detach(map->dmabuf, a);
	return err;
}

int annex_peer_open(struct annex_map *map, int fd)
{
	int err;

	map->dmabuf = dma_buf_get(fd);
	if (IS_ERR(map->dmabuf)) {
		err = PTR_ERR(map->dmabuf);
		map->dmabuf = NULL;
		return annex_refuse(map->ctrl, err, "map: descriptor %d is no dma-buf", fd);
	}
	if (!(map->dmabuf->file->f_mode & FMODE_WRITE)) /* the controller may write to any memory */
		return annex_refuse(map->ctrl, -EACCES, "map: the dma-buf is read-only");
	if (map->offset + map->bytes > map->dmabuf->size)
		return annex_refuse(map->ctrl, -EINVAL, "map: beyond the end of the dma-buf");
	return 0;
}

int annex_peer_map(struct annex_map *map)
{
	int err = peer_attach(map);

	if (err)
		return annex_refuse(map->ctrl, err, "map: the dma-buf cannot be attached");
	return annex_space_map_peer(map->ctrl, map->peer, map->offset, map->bytes, &map->span);
}

void annex_peer_unmap(struct annex_map *map)
{
	if (map->attach) {
		annex_space_unmap_peer(map->ctrl, &map->span);
		dma_resv_lock(map->dmabuf->resv, NULL);
		dma_buf_unmap_attachment(map->attach, map->peer, DMA_BIDIRECTIONAL);
		dma_buf_unpin(map->attach);
		dma_resv_unlock(map->dmabuf->resv);
		dma_buf_detach(map->dmabuf, map->attach);
		map->attach = NULL;
	}
	if (map->dmabuf)
		dma_buf_put(map->dmabuf);
	map->dmabuf = NULL;
}

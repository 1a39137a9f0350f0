/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that the controller may reach: pinned user memory, new host memory, controller memory, and
 * dma-bufs (ANNEX_IOC_MAP).
 */
#ifndef ANNEX_MAP_H
#define ANNEX_MAP_H

#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct annex_ctrl;
struct annex_owner;
struct annex_ioc_map;
struct annex_ioc_seg;
struct dma_buf;
struct dma_buf_attachment;
struct mm_struct;

/**
 * struct annex_map - A mapping.
 * @list: of mappings on their way out.
 * @ctrl: whose, @mm: whose pages are counted (held).
 * @id, @kind, @bytes: as in struct annex_ioc_map.
 * @users: queues in it (the controller's lock).
 * @pages, @npages: of the host's size, of pinned and new host memory.
 * @charged: pages counted in @mm.
 * @sgt: what the DMA layer made of pinned memory; @peer: of a dma-buf.
 * @addr: of new host memory, for the controller.
 * @dmabuf, @attach, @offset: of a dma-buf. @moved: its owner took it away.
 * @first: of controller memory: its first page.
 * @live: whether the controller can reach it.
 * @segs, @nsegs: what the controller sees.
 */
struct annex_map {
	struct list_head list;
	struct annex_ctrl *ctrl;
	struct mm_struct *mm;
	u32 id;
	u32 kind;
	u64 bytes;
	unsigned int users;
	struct page **pages;
	unsigned long npages, charged;
	struct sg_table sgt;
	struct sg_table *peer;
	dma_addr_t addr;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct work_struct moved;
	u64 offset;
	u32 first;
	bool live;
	struct annex_ioc_seg *segs;
	u32 nsegs;
};

/*
 * annex_map_create() - ANNEX_IOC_MAP, but for what goes to the address in @args->segs: a copy of
 * @args->nsegs that the caller frees, since the mapping may be gone already.
 */
int annex_map_create(struct annex_owner *owner, struct annex_ioc_map *args,
		     struct annex_ioc_seg **segs);
/* annex_map_remove() - ANNEX_IOC_UNMAP. */
int annex_map_remove(struct annex_owner *owner, u32 id);
/*
 * annex_map_cut() - The controller, which has no queues in it, does not reach it any more. Under
 * the lock.
 */
void annex_map_cut(struct annex_map *map);
/*
 * annex_map_cut_all() - The controller, which has no queues, can reach nothing of @owner's any
 * more. Under the lock; what is left of the mappings goes to @list, for annex_map_drop_all()
 * without it.
 */
void annex_map_cut_all(struct annex_owner *owner, struct list_head *list);
void annex_map_drop_all(struct list_head *list);
/*
 * annex_map_addr() - Where the controller sees @bytes from @offset on. -EINVAL: not all inside;
 * -EOPNOTSUPP: not contiguous.
 */
int annex_map_addr(const struct annex_map *map, u64 offset, u64 bytes, u64 *addr);

/* pin.c: user memory. annex_pin() sleeps as long as the caller's page faults do. */
int annex_pin(struct annex_map *map, u64 addr);
int annex_pin_map(struct annex_map *map);
void annex_pin_cut(struct annex_map *map);
void annex_unpin(struct annex_map *map);

/* peer.c: a dma-buf. annex_peer_drop() waits for what the controller's lock is needed for. */
void annex_peer_init(struct annex_map *map);
int annex_peer_map(struct annex_map *map, int fd);
void annex_peer_cut(struct annex_map *map);
void annex_peer_drop(struct annex_map *map);

#endif

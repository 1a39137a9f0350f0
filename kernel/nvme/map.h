/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that the controller may reach: pinned user memory, new host memory, controller memory, and
 * dma-bufs (ANNEX_IOC_MAP).
 */
#ifndef ANNEX_MAP_H
#define ANNEX_MAP_H

#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "space.h"

struct annex_ctrl;
struct annex_owner;
struct annex_ioc_dmabuf;
struct annex_ioc_map;
struct annex_ioc_seg;
struct dma_buf;
struct dma_buf_attachment;
struct mm_struct;
struct user_struct;

/**
 * struct annex_map - A mapping.
 * @list: entry in a list of mappings to be freed.
 * @ctrl: the controller.
 * @user: user that is charged for the pages, with a reference; NULL: no pages are charged.
 * @mm: address space that accounts the pages as pinned, with a reference.
 * @id: as in struct annex_ioc_map, like the next two.
 * @kind: ANNEX_MAP_*.
 * @bytes: size.
 * @users: number of queues in it (the controller's lock).
 * @charged: number of pages charged.
 * @table: pages of pinned and of new host memory.
 * @peer: DMA mapping of a dma-buf.
 * @dmabuf: the dma-buf of ANNEX_MAP_DMABUF.
 * @attach: attachment to it.
 * @moved: work that revokes the mapping after its exporter has moved the memory.
 * @offset: first byte in the dma-buf.
 * @first: first page of controller memory.
 * @span: the device addresses, while the controller can access the memory.
 * @huge: some of its pages are of hugetlbfs.
 * @used: the controller could access the memory, and may have written to it.
 */
struct annex_map {
	struct list_head list;
	struct annex_ctrl *ctrl;
	struct user_struct *user;
	struct mm_struct *mm;
	u32 id;
	u32 kind;
	u64 bytes;
	unsigned int users;
	unsigned long charged;
	struct sg_append_table table;
	struct sg_table *peer;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct work_struct moved;
	u64 offset;
	u32 first;
	struct annex_span span;
	bool huge;
	bool used;
};

/*
 * annex_map_create() - ANNEX_IOC_MAP. @segs: a copy of the @args->nsegs runs, which the caller
 * copies to user space and frees: the mapping may be removed meanwhile. @moved: work function for a
 * dma-buf whose exporter moves the memory.
 */
int annex_map_create(struct annex_owner *owner, struct annex_ioc_map *args,
		     struct annex_ioc_seg **segs, work_func_t moved);
/* annex_map_remove() - ANNEX_IOC_UNMAP. */
int annex_map_remove(struct annex_owner *owner, u32 id);
/*
 * annex_map_unmap() - Unmap memory, without queues in it, from the controller. Under the
 * controller's lock.
 */
void annex_map_unmap(struct annex_map *map);
/*
 * annex_map_unmap_all() - Unmap all memory of @owner, which has no queues, from the controller.
 * Under the controller's lock; the mappings go to @list, for annex_map_free_all() without it.
 */
void annex_map_unmap_all(struct annex_owner *owner, struct list_head *list);
void annex_map_free_all(struct list_head *list);
/*
 * annex_map_addr() - Device address of @bytes from @offset on. -EINVAL: beyond the mapping;
 * -EOPNOTSUPP: not contiguous.
 */
int annex_map_addr(const struct annex_map *map, u64 offset, u64 bytes, u64 *addr);

/* share.c. annex_share_create() - ANNEX_IOC_DMABUF. Under the controller's lock, like the next. */
int annex_share_create(struct annex_owner *owner, struct annex_ioc_dmabuf *args);
/*
 * annex_share_end() - End the dma-bufs of a mapping of controller memory. Return: whether a
 * device still has one mapped.
 */
bool annex_share_end(const struct annex_map *map);

/* annex_map_add() - Append @n pages to @map->table, which @left others will follow. */
static inline int annex_map_add(struct annex_map *map, struct page **pages, unsigned int n,
				unsigned long left)
{
	/* A run has 2 GiB at most, so that a batch may be added to its length. */
	return sg_alloc_append_table_from_pages(&map->table, pages, n, 0, (u64)n << PAGE_SHIFT,
						SZ_2G, left, GFP_KERNEL_ACCOUNT);
}

/* pin.c: user memory. annex_pin() waits for the caller's page faults. */
int annex_pin(struct annex_map *map, u64 addr);
void annex_unpin(struct annex_map *map);

/* peer.c: a dma-buf. annex_peer_open() looks it up, annex_peer_map() attaches it. */
int annex_peer_open(struct annex_map *map, int fd);
int annex_peer_map(struct annex_map *map);
void annex_peer_unmap(struct annex_map *map);

#endif

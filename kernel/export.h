/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a device as dma-bufs. A dma-buf can end before its last reference is gone: then it
 * cannot be attached or mapped any more, and importers are told to unmap it.
 *
 * Locks: @lock of struct annex_exports is inside the device's locks, and outside of the dma-bufs'
 * reservation locks, which importers hold when they map and unmap.
 */
#ifndef ANNEX_EXPORT_H
#define ANNEX_EXPORT_H

#include <linux/atomic.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct annex_export;
struct device;
struct dma_buf;
struct dma_buf_attachment;
struct sg_table;

/**
 * struct annex_exports - The dma-bufs of one memory.
 * @lock: protects @list.
 * @list: dma-bufs, until they are released.
 * @maps: number of their mappings by devices.
 * @wait: woken when a mapping is removed.
 */
struct annex_exports {
	struct mutex lock; /* protects the list */
	struct list_head list;
	atomic_t maps;
	wait_queue_head_t wait;
};

/**
 * struct annex_export_type - A kind of memory.
 * @attach: checks whether an importer can use the memory; or NULL. Like @map, it is not called
 *	after the end of the dma-buf.
 * @map: maps the table's entries, whose lengths are set, for a device.
 * @unmap: unmaps them.
 * @release: frees the structure that contains the export, after its last reference.
 * @paged: the memory has struct pages, to which the entries of tables point.
 */
struct annex_export_type {
	int (*attach)(struct annex_export *e, struct dma_buf_attachment *attach);
	int (*map)(struct annex_export *e, struct device *dev, struct sg_table *table,
		   enum dma_data_direction dir);
	void (*unmap)(struct device *dev, struct sg_table *table, enum dma_data_direction dir);
	void (*release)(struct annex_export *e);
	bool paged;
};

/**
 * struct annex_export - A dma-buf. The first four members are set by the caller.
 * @type: kind of its memory.
 * @exports: the dma-bufs of the same memory.
 * @base: first host address, page aligned.
 * @bytes: size, in whole pages.
 * @list: entry in @exports.
 * @dmabuf: the dma-buf, which owns this structure.
 * @maps: number of mappings (the reservation lock).
 * @ended: it has ended (the reservation lock).
 */
struct annex_export {
	const struct annex_export_type *type;
	struct annex_exports *exports;
	u64 base, bytes;
	struct list_head list;
	struct dma_buf *dmabuf;
	unsigned int maps;
	bool ended;
};

void annex_exports_init(struct annex_exports *exports);
/*
 * annex_export_create() - Make a dma-buf, under a lock that delays the end of the memory. Return:
 * its descriptor; or a negative errno, and the caller frees @e.
 */
int annex_export_create(struct annex_export *e);
/*
 * annex_exports_end() - End the dma-bufs of [@base, @base + @bytes), and tell importers to unmap.
 * Return: whether a device still has one of them mapped.
 */
bool annex_exports_end(struct annex_exports *exports, u64 base, u64 bytes);
/*
 * annex_exports_idle() - Whether no device has a dma-buf mapped. If all have ended, none will map
 * one, and the memory can be reused.
 */
bool annex_exports_idle(struct annex_exports *exports);
/* annex_exports_settle() - Wait until they are idle, @timeout jiffies at most. Whether they are. */
bool annex_exports_settle(struct annex_exports *exports, long timeout);
unsigned int annex_exports_count(struct annex_exports *exports);

#endif

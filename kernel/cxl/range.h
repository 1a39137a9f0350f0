/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range: host memory made of the memory of CXL devices.
 *
 * One mutex, the ranges' lock, protects the lives of devices and ranges, their users, and the
 * decoders that ranges share. It is never taken in a page fault. A fault takes the range's @view,
 * for reading: the view says which pages may be in page tables.
 *
 * Files and dma-bufs hold references to a range. When the last one is gone, or a member is removed,
 * the range ends: no new mapping of its memory is made. When nobody holds a page any more it is
 * cut: its decoders are released. The kernel does not announce that, so delayed work polls for it.
 *
 * All that takes time for each page is done without the ranges' lock: to make pages, go through
 * page tables, look for pages that are held, and take pages away. A member's @making, and @busy,
 * keep others out meanwhile.
 */
#ifndef ANNEX_RANGE_H
#define ANNEX_RANGE_H

#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <uapi/annex.h>
#include "filter.h"
#include "hdm.h"
#include "route.h"

#define ANNEX_RANGE_UNIT SZ_2M /* of its parts: what struct pages are made for */

/* How long the end of a device waits for those who hold pages. */
#define ANNEX_RANGE_REMOVAL (10 * HZ) /* hotplug of the whole machine waits for it */
#define ANNEX_RANGE_SHUTDOWN (2 * HZ)

/**
 * struct annex_range - A range.
 * @refs: references of files and dma-bufs.
 * @live: decoders are committed, struct pages exist, and a reference to the module is held.
 * @stuck: a decoder stays committed: the host addresses are never freed.
 * @end: delayed work that cuts the range once no page is held.
 * @queued: @end is queued.
 * @busy: somebody looks for pages that are held, or cuts the range, without the ranges' lock.
 * @idle: pages, from the first on, that nobody holds any more; of a range that has ended.
 * @pause: jiffies until @end looks again.
 * @n: number of members.
 * @members: the devices, each with a reference.
 * @dpa: first device address in each member.
 * @ids: number of the endpoint decoder of each of the first @committed members.
 * @committed: members whose endpoint decoder is committed.
 * @kind: as in struct annex_ioc_hdm_range, like the next three.
 * @granularity: bytes on one member before the next.
 * @base: first host address.
 * @bytes: its size.
 * @cached: bytes of the cacheable part, which comes first.
 * @wc: bytes of the write-combining part.
 * @uc: bytes of the uncached part.
 * @res: the reserved host addresses.
 * @pgmap: struct pages of the cacheable part.
 * @paged: @pgmap is mapped.
 * @combining: the memory type of the write-combining part is reserved.
 * @gate: the uncached part, and the table of its pieces.
 * @route: the hops between the window and the members.
 * @view: protects the members below.
 * @ended: no page may be put into page tables any more.
 * @bad: bitmap of poisoned pages; bits are only set.
 * @struck: number of times that @bad has grown; also read without the view.
 * @pieces: bitmap of uncached pages that are in use.
 * @users: open files, whose page tables may have pages.
 * @exports: dma-bufs (the ranges' lock).
 */
struct annex_range {
	unsigned int refs;
	bool live, stuck;
	struct delayed_work end;
	bool queued, busy;
	u64 idle;
	unsigned long pause;
	unsigned int n;
	struct annex_hdm *members[ANNEX_HDM_MEMBERS];
	u64 dpa[ANNEX_HDM_MEMBERS];
	u32 ids[ANNEX_HDM_MEMBERS];
	unsigned int committed;
	u32 kind, granularity;
	u64 base, bytes, cached, wc, uc;
	struct resource *res;
	struct dev_pagemap pgmap;
	bool paged;
	bool combining;
	struct annex_gate gate;
	struct annex_route route;
	struct rw_semaphore view;
	bool ended;
	unsigned long *bad;
	u64 struck;
	unsigned long *pieces;
	struct list_head users;
	struct list_head exports;
};

/*
 * struct annex_want - The arguments of ANNEX_IOC_HDM_RANGE, with devices in place of files. @paced:
 * caches may be emptied for it now (caches.h).
 */
struct annex_want {
	u32 kind, granularity;
	u64 bytes, wc, uc;
	unsigned int n;
	struct annex_hdm *members[ANNEX_HDM_MEMBERS];
	bool paced;
};

int annex_ranges_init(void);
/* annex_ranges_exit() - Wait for the last delayed work, when no range is live. */
void annex_ranges_exit(void);
void annex_ranges_lock(void);
void annex_ranges_unlock(void);

/*
 * annex_range_get() - Get a reference to the range of a device, or create the range. Under the
 * ranges' lock, which is let go of meanwhile: while the range before comes to its end, 5 s at most,
 * and while pages are made. Errors as in struct annex_ioc_hdm_range, with a line; or without,
 * -EINTR, and -EAGAIN: it would have to be created, and is not paced.
 */
struct annex_range *annex_range_get(struct annex_hdm *hdm, const struct annex_want *want);
/* annex_range_put() - Give it back, under the ranges' lock, which is let go of meanwhile. */
void annex_range_put(struct annex_range *range);
/*
 * annex_range_evict() - End the range of a device that is removed, or shut down, and wait until it
 * is cut, that is, until nobody holds a page of it, but not longer than @patience. After that it is
 * cut without touching the device. There is no other range of it.
 */
void annex_range_evict(struct annex_hdm *hdm, unsigned long patience);
/* annex_range_verify() - After a reset of a device: end its range if decoders are gone. */
void annex_range_verify(struct annex_hdm *hdm);
/* annex_range_live() - Whether there is a range of a device. */
bool annex_range_live(struct annex_hdm *hdm);
/* annex_range_wake() - Wake the sleepers in poll() of all members. */
void annex_range_wake(struct annex_range *range);

/* annex_range_users() - Number of those from whom unbinding a device would take something. */
unsigned int annex_range_users(struct annex_hdm *hdm);
/* annex_range_decoders() - Write a line for each committed decoder of a device and above it. */
void annex_range_decoders(struct annex_hdm *hdm, struct seq_file *to);

#endif

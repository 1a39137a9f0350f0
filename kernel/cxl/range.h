/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range: host memory made of the memory of CXL devices.
 *
 * One mutex, the ranges' lock, is over all that comes and goes: devices, ranges, who uses them, and
 * the decoders of what they share. It is never taken in a page fault. @view is, for reading: it
 * says what user space may have in its page tables.
 *
 * A range has @refs of files and dma-bufs. When the last is gone, or a member is, it ends: nothing
 * new reaches its memory, and once no page of it is held by anybody it is cut, that is, the
 * decoders are given back. Nothing tells when a page is let go of, so that is looked for.
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

/**
 * struct annex_range - A range.
 * @refs: files, dma-bufs. @live: there are decoders and pages, and the module stays. @end: looks
 *	whether it can be cut, if @queued.
 * @stuck: a decoder stays committed: addresses are never given back.
 * @n, @members: its devices, held. @dpa: where in each one. @ids: by which decoders, of the first
 *	@committed.
 * @kind, @granularity, @base, @bytes: as in struct annex_ioc_hdm_range.
 * @cached, @wc, @uc: bytes of its parts, in this order.
 * @res: its addresses, which are nobody else's. @pgmap: struct pages of the cacheable part.
 * @paged: they are there. @combining: the addresses of @wc are known to be write-combining.
 * @gate: the uncached part, and who has pieces of it, for the device to see.
 * @route: what is between the window and the members.
 * @view: over what follows.
 * @ended: no page of it may be put into page tables any more.
 * @bad: a bit for each page that must not be touched. Once set it stays. @struck: how often there
 *	were new ones; read without the view.
 * @pieces: a bit for each uncached page that is somebody's.
 * @users: open files, and so page tables.
 * @exports: dma-bufs (the ranges' lock).
 */
struct annex_range {
	unsigned int refs;
	bool live, stuck;
	struct delayed_work end;
	bool queued;
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

/* struct annex_want - What ANNEX_IOC_HDM_RANGE asks for, with the devices of its files. */
struct annex_want {
	u32 kind, granularity;
	u64 bytes, wc, uc;
	unsigned int n;
	struct annex_hdm *members[ANNEX_HDM_MEMBERS];
};

int annex_ranges_init(void);
/* annex_ranges_exit() - When no range is live: whatever was on its way out is out. */
void annex_ranges_exit(void);
void annex_ranges_lock(void);
void annex_ranges_unlock(void);

/*
 * annex_range_get() - The range of a device, with one more reference; created if there is none.
 * Under the ranges' lock. Errors as in struct annex_ioc_hdm_range, with a line.
 */
struct annex_range *annex_range_get(struct annex_hdm *hdm, const struct annex_want *want);
void annex_range_put(struct annex_range *range);
/*
 * annex_range_evict() - A device leaves, and so does its range: waits until it is cut, that is, for
 * whoever holds pages of it.
 */
void annex_range_evict(struct annex_hdm *hdm);
/* annex_range_poison() - A device has another list of poison. */
void annex_range_poison(struct annex_hdm *hdm);
/* annex_range_wake() - Whoever polls a file of its devices' looks again. */
void annex_range_wake(struct annex_range *range);

/* What sysfs shows. */
unsigned int annex_range_users(struct annex_hdm *hdm);
int annex_range_show(struct annex_hdm *hdm, char *buf);
int annex_range_decoders(struct annex_hdm *hdm, char *buf);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range: host memory made of the memory of CXL devices.
 *
 * Locks. The ranges' lock protects the list: which range a device is a member of, and which devices
 * are gone. The decoders' lock, range.c's own, protects the decoders that ranges share. Each
 * range has a lock for its users, and a @view for its state and its pages: page faults take the
 * view for reading, and no other lock.
 *
 * States. A range is LIVE once it has pages. It is ENDING when its last user, a file or a dma-buf,
 * is gone, or when a member is removed: no new mapping of its memory is made. Once no page is held,
 * its decoders are released, and it is GONE. The kernel does not announce that a page is free, so
 * delayed work polls for it. States only change in this order.
 */
#ifndef ANNEX_RANGE_H
#define ANNEX_RANGE_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <uapi/annex_hdm.h>
#include "export.h"
#include "filter.h"
#include "hdm.h"
#include "route.h"

#define ANNEX_RANGE_UNIT SZ_2M /* of the parts' sizes: struct pages are made in this unit */

enum annex_range_state {
	ANNEX_RANGE_MAKING,
	ANNEX_RANGE_LIVE,
	ANNEX_RANGE_ENDING,
	ANNEX_RANGE_GONE,
};

/**
 * struct annex_range - A range.
 * @refs: references: one for each user, one for the members together until it is GONE, one for @end
 *	while that is queued.
 * @state: state (the view); annex_range_state() reads it without the view.
 * @lock: protects @nusers. A LIVE range becomes ENDING under it.
 * @nusers: number of files and dma-bufs that use the range.
 * @made: completed when the range is LIVE and its poison is applied, or when it could not be made.
 * @gone: completed when the range is GONE.
 * @end: delayed work that releases an ENDING range once no page is held.
 * @idle: number of pages, from the first on, that are not held any more; of an ENDING range (@end).
 * @pause: jiffies until @end runs again.
 * @n: number of members.
 * @members: the devices, each with a reference.
 * @dpa: first device address in each member.
 * @ids: number of the endpoint decoder of each of the first @committed members.
 * @committed: members whose endpoint decoder is committed (the decoders' lock).
 * @shared: users map the range by the device's file; otherwise only their private pieces.
 * @kind: as in struct annex_ioc_hdm_range, like the next three.
 * @granularity: bytes on one member before the next.
 * @base: first host address.
 * @bytes: size.
 * @cached: bytes of the cacheable part, which comes first.
 * @wc: bytes of the write-combining part.
 * @uc: bytes of the uncached part.
 * @res: the reserved host addresses.
 * @pgmap: struct pages of the cacheable part.
 * @charged: bytes of struct pages that count against the parameter struct_page_percent.
 * @paged: @pgmap is mapped.
 * @combining: the memory type of the write-combining part is reserved.
 * @gate: the uncached part, and the table of its pieces.
 * @route: the hops between the window and the members.
 * @view: protects the members below.
 * @bad: bitmap of poisoned pages; bits are cleared by annex_poison_clear() only.
 * @poison_count: number of times that bits of @bad were set; also read without the view.
 * @taken: bitmap of pages in pieces, and of the packet filter.
 * @pieces: pieces.
 * @spaces: address spaces of open files, whose mappings may have pages (page.c).
 * @exports: dma-bufs; created and ended under @lock.
 */
struct annex_range {
	struct kref refs;
	enum annex_range_state state;
	struct mutex lock; /* protects the users */
	unsigned int nusers;
	struct completion made, gone;
	struct delayed_work end;
	u64 idle;
	unsigned long pause;
	unsigned int n;
	struct annex_hdm *members[ANNEX_HDM_MEMBERS];
	u64 dpa[ANNEX_HDM_MEMBERS];
	u32 ids[ANNEX_HDM_MEMBERS];
	unsigned int committed;
	bool shared;
	u32 kind, granularity;
	u64 base, bytes, cached, wc, uc;
	struct resource *res;
	struct dev_pagemap pgmap;
	u64 charged;
	bool paged;
	bool combining;
	struct annex_gate gate;
	struct annex_route route;
	struct rw_semaphore view;
	unsigned long *bad;
	u64 poison_count;
	unsigned long *taken;
	struct list_head pieces;
	struct list_head spaces;
	struct annex_exports exports;
};

/*
 * struct annex_want - The arguments of ANNEX_IOC_HDM_RANGE, with devices in place of files.
 * @paced: the caller may flush caches now (annex_caches_pace()).
 */
struct annex_want {
	u32 kind, granularity;
	u64 bytes, wc, uc;
	unsigned int n;
	struct annex_hdm *members[ANNEX_HDM_MEMBERS];
	bool paced;
};

/* annex_ranges_init() - Make the work queue. */
int annex_ranges_init(void);
/* annex_ranges_exit() - Wait for the last delayed work, after the last range. */
void annex_ranges_exit(void);
void annex_ranges_lock(void);
void annex_ranges_unlock(void);

/* annex_range_state() - The state; a reader of LIVE sees all earlier stores. */
static inline enum annex_range_state annex_range_state(const struct annex_range *r)
{
	return smp_load_acquire(&r->state); /* pairs with annex_range_set() */
}

/*
 * annex_range_alloc() - Allocate a range in the state MAKING, with one user and one reference, both
 * for the caller. @end: function of the delayed work. NULL: no memory.
 */
struct annex_range *annex_range_alloc(const struct annex_want *want, work_func_t end);
void annex_range_put(struct annex_range *r);
/* annex_range_of() - The range of a device, with a reference; NULL: none, or it is MAKING. */
struct annex_range *annex_range_of(struct annex_hdm *hdm);
/* annex_range_set() - Set the state, under the view. */
void annex_range_set(struct annex_range *r, enum annex_range_state state);
/* annex_range_join() - Add a user, with a reference, under the range's lock. -ENODEV: not LIVE. */
int annex_range_join(struct annex_range *r);
/*
 * annex_range_leave() - Remove a user, with its reference. The last one ends the range, and waits
 * for one attempt to release it.
 */
void annex_range_leave(struct annex_range *r);
/* annex_range_try_end() - Queue the work of a range that ends, without delay. */
void annex_range_try_end(struct annex_range *r);
/*
 * annex_range_try_again() - Called by the work: queue it again after a pause, and pass on its
 * reference. false: the work is queued already.
 */
bool annex_range_try_again(struct annex_range *r);
/*
 * annex_range_reserve() - Reserve host addresses and commit decoders for a new range. Errors as in
 * struct annex_ioc_hdm_range, with a line; the caller undoes them by annex_range_release().
 */
int annex_range_reserve(struct annex_range *r, const struct annex_want *want);
/*
 * annex_range_release() - Release the decoders, the host addresses and the module reference.
 * @stuck: a decoder is known to stay committed. If one does, addresses and module are kept.
 */
void annex_range_release(struct annex_range *r, bool stuck);
/* annex_range_lost() - Whether the device's decoder no longer holds the range's addresses. */
bool annex_range_lost(struct annex_range *r, struct annex_hdm *hdm);
/* annex_range_forget() - Do not access the registers of a device any more: it is removed. */
void annex_range_forget(struct annex_hdm *hdm);
/* annex_range_wake() - Wake the waiters in poll() of all members. */
void annex_range_wake(struct annex_range *r);
/* annex_range_decoders() - Print a line for each committed decoder of a device and above it. */
void annex_range_decoders(struct annex_hdm *hdm, struct seq_file *to);

/*
 * caches.c: CPU caches of addresses that lead to other memory from now on. In a virtual machine
 * they need no flush: its CXL memory is the hypervisor's memory, which decoders do not move.
 *
 * annex_caches_check() - Check that caches can be flushed, need no flush, or that the parameter
 * allow_stale_caches is set. 0 or -EOPNOTSUPP, with a line.
 */
int annex_caches_check(struct annex_hdm *hdm);
/* annex_caches_flush() - Write back and invalidate cached lines of [@base, @base + @bytes). */
void annex_caches_flush(u64 base, u64 bytes);
/*
 * annex_caches_pace() - Wait, without locks, until a caller without CAP_SYS_ADMIN may flush caches.
 * A flush stalls all programs, so all users together may cause only a few a second. 0 or -EINTR
 * (killed).
 */
int annex_caches_pace(void);

#endif

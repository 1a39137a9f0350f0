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
 * is gone, or when a member is removed: no new mapping of its memory is made. Once nobody holds a
 * page any more its decoders are released, and it is GONE. The kernel does not announce that a page
 * is free, so delayed work polls for it. The states follow each other in one direction.
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
#include <uapi/annex.h>
#include "filter.h"
#include "hdm.h"
#include "route.h"

#define ANNEX_RANGE_UNIT SZ_2M /* of its parts: what struct pages are made for */

enum annex_range_state {
	ANNEX_RANGE_MAKING,
	ANNEX_RANGE_LIVE,
	ANNEX_RANGE_ENDING,
	ANNEX_RANGE_GONE,
};

/**
 * struct annex_range - A range.
 * @refs: references: one of each user, one of its members together until it is GONE, one of @end
 *	while that is queued.
 * @state: its state (the view); also read without, by annex_range_state().
 * @lock: protects @nusers and @exports. A LIVE range becomes ENDING under it.
 * @nusers: number of files and dma-bufs that use the range.
 * @made: completed when the range is LIVE and its poison is known, or when it could not be made.
 * @gone: completed when the range is GONE.
 * @end: delayed work that releases an ENDING range once no page is held.
 * @idle: pages, from the first on, that nobody holds any more; of an ENDING range (@end).
 * @pause: jiffies until @end looks again.
 * @n: number of members.
 * @members: the devices, each with a reference.
 * @dpa: first device address in each member.
 * @ids: number of the endpoint decoder of each of the first @committed members.
 * @committed: members whose endpoint decoder is committed (the decoders' lock).
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
 * @bad: bitmap of poisoned pages; bits are only set.
 * @struck: number of times that @bad has grown; also read without the view.
 * @uncached: bitmap of uncached pages that are in use.
 * @pieces: pieces of the uncached part.
 * @users: open files, whose page tables may have pages.
 * @exports: dma-bufs (@lock).
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
	u32 kind, granularity;
	u64 base, bytes, cached, wc, uc;
	struct resource *res;
	struct dev_pagemap pgmap;
	bool paged;
	bool combining;
	struct annex_gate gate;
	struct annex_route route;
	struct rw_semaphore view;
	unsigned long *bad;
	u64 struck;
	unsigned long *uncached;
	struct list_head pieces;
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

/* annex_ranges_init() - Make the work queue. */
int annex_ranges_init(void);
/* annex_ranges_exit() - Wait for the last delayed work, when no range is live. */
void annex_ranges_exit(void);
void annex_ranges_lock(void);
void annex_ranges_unlock(void);

/* annex_range_state() - The state; a reader of LIVE sees all earlier stores. */
static inline enum annex_range_state annex_range_state(const struct annex_range *r)
{
	return smp_load_acquire(&r->state); /* pairs with annex_range_set() */
}

/*
 * annex_range_alloc() - A range in the state MAKING, with one user and one reference, the caller's.
 * @end: function of its work. NULL: no memory.
 */
struct annex_range *annex_range_alloc(const struct annex_want *want, work_func_t end);
void annex_range_put(struct annex_range *r);
/* annex_range_of() - The range of a device that is made, with a reference; or NULL. */
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
/* annex_range_try_end() - Queue the work of a range that ends, at once. */
void annex_range_try_end(struct annex_range *r);
/*
 * annex_range_try_again() - In the work: queue it again, after a pause, with its reference.
 * false: it is queued already.
 */
bool annex_range_try_again(struct annex_range *r);
/*
 * annex_range_reserve() - Take host addresses and commit decoders for a new range. Errors as in
 * struct annex_ioc_hdm_range, with a line, and leave it to annex_range_release().
 */
int annex_range_reserve(struct annex_range *r, const struct annex_want *want);
/*
 * annex_range_release() - Release the decoders, the host addresses and the module. @stuck: a
 * decoder is known to stay committed. Then, and if one refuses, addresses and module are kept.
 */
void annex_range_release(struct annex_range *r, bool stuck);
/* annex_range_lost() - Whether the device's decoder of the range is not committed any more. */
bool annex_range_lost(struct annex_range *r, struct annex_hdm *hdm);
/* annex_range_forget() - Touch the registers of a device that is removed no more. */
void annex_range_forget(struct annex_hdm *hdm);
/* annex_range_wake() - Wake the sleepers in poll() of all members. */
void annex_range_wake(struct annex_range *r);
/* annex_range_decoders() - Write a line for each committed decoder of a device and above it. */
void annex_range_decoders(struct annex_hdm *hdm, struct seq_file *to);

#endif

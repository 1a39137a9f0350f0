/* SPDX-License-Identifier: MIT */
/*
 * The parts of a space.
 *
 * Programs use @base, where a page is absent until it has been shown (userfaultfd). Transfers use
 * @alias. Both are private memory, between which pages move (pool.h).
 *
 * If the kernel cannot move pages, both are mappings of a file in memory. At @alias a page is then
 * mapped only while it is moved, so that no page counts twice, and processors copy from and to the
 * file. A page of the file is allocated on its first write, and freed by punching a hole: the
 * file's pages are the device tier.
 *
 * If userfaultfd is refused, a page that is not shown has no access rights at @base, and a clean
 * page is read-only: accesses are detected by SIGSEGV (guard.h).
 *
 * With opts.frames, @base is addresses of a GPU instead (frames.h), where accesses are not
 * detected: there is no @file, no @alias and no userfaultfd, and programs announce the tensors that
 * they use.
 */
#ifndef ANNEX_MIGRATE_SPACE_H
#define ANNEX_MIGRATE_SPACE_H

#include <pthread.h>
#include <annex/frames.h>
#include <annex/mem.h>
#include "core/fork.h"
#include "link.h"
#include "runs.h"

#define NO_TIER UINT8_MAX

#define NO_TENSOR UINT32_MAX /* in an order */
#define SHARED_PAGES 16u     /* pages of a tensor that small tensors share */
#define SMALL 64u            /* bytes of a place in them */
#define PLACES (SHARED_PAGES * ANNEX_MEM_PAGE / SMALL)
#define SIZES 64u /* lists of kept tensors, by a hash of their size */

/* A page that is neither in the device tier nor below is all zeroes. */
#define PAGE_DEVICE 1u  /* it is in the device tier */
#define PAGE_BELOW 2u   /* there is a valid copy in @tier at @loc */
#define PAGE_BUSY 4u    /* a job moves it */
#define PAGE_SHOWN 8u   /* it is mapped for programs */
#define PAGE_CLEAN 16u  /* a write to it faults */
#define PAGE_WANTED 32u /* a program waits for it */
#define PAGE_FENCED 64u /* an access to it is a SIGSEGV */

/**
 * struct page - Location of a page.
 * @tensor: number of its tensor, from 1; 0: none.
 * @loc: with PAGE_BELOW: page number in @tier.
 * @crc: checksum of the copy below, if the space has checksums.
 * @tier: with PAGE_BELOW: tier of the copy.
 * @flags: PAGE_*.
 */
struct page {
	uint32_t tensor;
	uint32_t loc;
	uint32_t crc;
	uint8_t tier;
	uint8_t flags;
};

/**
 * struct tensor - Neighbouring pages that were allocated together.
 * @name: its name, or NULL.
 * @moves: moves that are not done.
 * @serial: serial number among all tensors of the space.
 * @first: its first page.
 * @n: number of its pages; 0: the entry is free.
 * @hand: the page at which reclaim continues.
 * @stays: until this time, in ns, it is not evicted: a device had pinned one of its pages.
 * @holds: number of holds.
 * @writers: number of holds that may write it undetected.
 * @flights: number of holds by kernels in streams; it is freed only after these have ended.
 * @jobs: number of jobs that move its pages.
 * @resident: number of its pages in the device tier.
 * @leaving: of these, pages being evicted.
 * @older: index of the tensor that was used, or kept, before it.
 * @newer: index of the tensor after it.
 * @parts: number of live small tensors that share it.
 * @fill: number of places allocated to small tensors so far.
 * @next: index of the next shared tensor with free places.
 * @previous: index of the previous one.
 * @starts: a bit for each place at which a small tensor begins.
 * @taken: a bit for each allocated place.
 * @shared: small tensors share it.
 * @dirty: a place has been freed, which may not be zero.
 * @shut: a page of it could not be brought in: no more small tensors share it.
 * @any: it was allocated with undefined contents.
 * @live: it has not been freed.
 * @kept: it has been freed, or was made @ahead, and its pages wait for the next @any of its size.
 * @ahead: no program has had it yet: its pages are being made.
 */
struct tensor {
	char *name;
	struct annex_move *moves;
	uint64_t serial, stays;
	uint32_t first, n;
	uint32_t hand;
	uint32_t holds, writers, flights, jobs;
	uint32_t resident, leaving;
	uint32_t older, newer;
	uint32_t parts, fill, next, previous;
	uint64_t starts[PLACES / 64], taken[PLACES / 64];
	bool shared, dirty, shut, any, live, kept, ahead;
};

/**
 * struct tier - A tier below the device tier.
 * @own: map of its pages, if it is memory.
 * @runs: map of its pages: @own, or that of its storage.
 * @arena: its memory, or NULL on storage.
 * @store: its storage, or NULL.
 * @lane: the space's lane of its link.
 * @job_pages: most pages of one transfer.
 * @used: number of pages that the space has in it.
 * @failed: number of consecutive failed writes: until @rest it is chosen last, or not at all.
 * @round: number of failures; failures of jobs that were made together count once.
 * @rest: end of this time, in ns.
 * @err: the last failure, a negative errno.
 * @victim: name of the tensor of that failure.
 * @present: the space has this tier.
 */
struct tier {
	struct runs own, *runs;
	uint8_t *arena;
	struct annex_store *store;
	struct lane lane;
	uint32_t job_pages;
	uint32_t used;
	uint32_t failed, round;
	uint64_t rest;
	int err;
	char victim[ANNEX_MEM_NAME];
	bool present;
};

struct frame_table;
struct pool;

/* struct order - Ends of a list of tensors by age, by index. */
struct order {
	uint32_t oldest, newest;
};

/**
 * struct annex_space - A space. Locks of links and stores are taken after its own: finish.h.
 * @lock: protects all members that change.
 * @idle: signalled when @jobs is 0, and when @trims becomes 0.
 * @fork: a child must not use its copy.
 * @opts: the options.
 * @pool: private memory; NULL: @file, or @frames.
 * @file: the memory.
 * @uffd: reports accesses to @base to @handler.
 * @transfers: reports accesses to @alias to @helper, if accesses by the kernel are detected.
 * @bell: ends both threads.
 * @base: mapping for programs.
 * @alias: mapping for devices.
 * @guard: reports accesses to @base to @handler if there is no @uffd.
 * @watch: mechanism that detects accesses.
 * @track: writes to clean pages are detected.
 * @frames: frames of a GPU, one for each @frame_pages of the space.
 * @frame_pages: pages of a frame.
 * @job_pages: most pages of one transfer, unless a tier has a lower limit.
 * @n_pages: number of pages.
 * @pages: the page table.
 * @addresses: map of the pages that are in no tensor.
 * @tensors: the tensors.
 * @n_tensors: number of entries of @tensors.
 * @tensor_room: capacity of @tensors.
 * @spare_room: capacity of @spare.
 * @open: the first tensor with free places for small ones.
 * @spare: free entries of @tensors.
 * @n_spare: number of @spare.
 * @used: live tensors, by their last use.
 * @kept: freed tensors whose pages are kept, by the time of the free, hashed by size.
 * @drop: the list whose oldest tensor is dropped next.
 * @jobs: number of jobs that have not ended.
 * @trims: number of threads that free frames.
 * @serials: number of tensors so far.
 * @device: pages charged to the device tier.
 * @kept_pages: of these, pages of @kept.
 * @budget: limit of @device.
 * @leaving: pages being evicted from the device tier.
 * @promised: pages to be evicted when kernels in streams have ended.
 * @launched: number of kernels in streams that have not ended, and will release their holds.
 * @with_copy: pages of the device tier that have a copy below.
 * @hand: page at which the next search for one begins.
 * @waiting: jobs that wait for room.
 * @now: time in ns of the latest annex_room_made().
 * @ended: jobs that ended without a link; empty when @lock is free: annex_jobs_settle().
 * @tiers: the tiers.
 * @copies: links to the tiers that are memory; the first one is only for a GPU's frames.
 * @next_store: storage for the next eviction, in turns.
 * @handler: thread that handles page faults.
 * @helper: thread that handles page faults of transfers.
 * @pinned: tiers that a GPU has pinned.
 * @handles: @handler was started.
 * @helps: @helper was started.
 * @makes: the link that makes pages was started.
 * @closing: the space is being destroyed: nothing new begins.
 * @user_only: accesses by the kernel are not detected, so a prefetch also makes pages of zeroes.
 * @exceeded: the warning that held tensors exceed the device tier was logged.
 * @stats: the counters.
 */
struct annex_space {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct fork_watch fork;
	struct annex_space_opts opts;
	struct pool *pool;
	int file, uffd, transfers, bell;
	uint8_t *base, *alias;
	struct guard *guard;
	enum annex_watch watch;
	bool track;
	struct frame_table *frames;
	uint32_t frame_pages, job_pages;
	uint32_t n_pages;
	struct page *pages;
	struct runs addresses;
	struct tensor *tensors;
	uint32_t n_tensors, tensor_room, spare_room, open;
	uint32_t *spare, n_spare;
	struct order used, kept[SIZES];
	uint32_t drop;
	uint64_t jobs, trims, serials, now;
	uint32_t device, kept_pages, budget, leaving, promised, launched, with_copy, hand;
	struct job_list waiting, ended;
	struct tier tiers[ANNEX_TIERS];
	struct link copies[ANNEX_TIER_SSD];
	uint32_t next_store;
	pthread_t handler, helper;
	bool pinned[ANNEX_TIER_SSD];
	bool handles, helps, makes, closing, user_only, exceeded;
	struct annex_space_stats stats;
};

static inline struct tensor *tensor_of(const struct annex_space *s, uint32_t page)
{
	return &s->tensors[s->pages[page].tensor - 1];
}

/* Current size of the device tier in bytes. */
uint64_t annex_space_budget(struct annex_space *s);

static inline uint64_t pages_bytes(uint32_t n)
{
	return (uint64_t)n * ANNEX_MEM_PAGE;
}

#endif

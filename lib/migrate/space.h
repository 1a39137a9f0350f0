/* SPDX-License-Identifier: MIT */
/*
 * The parts of a space.
 *
 * The address range is a file in memory, mapped twice. Programs use @base; there a page is absent
 * until it has been shown (userfaultfd). Devices use @alias, where a page is mapped while it is
 * moved, and no longer: so none counts twice. Processors copy from and to the file. A page of it is
 * taken from the system when it is first written, and given back when a hole is punched: the file's
 * pages are the device tier.
 *
 * Where userfaultfd is refused, a page that is not shown has no access rights at @base, and a page
 * that is clean can be read only: a SIGSEGV tells of a touch (guard.h).
 *
 * With opts.frames, @base is addresses of a GPU instead (frames.h), where nobody sees who touches
 * what: there is no @file, no @alias and no userfaultfd, and programs say beforehand what they use.
 */
#ifndef ANNEX_MIGRATE_SPACE_H
#define ANNEX_MIGRATE_SPACE_H

#include <pthread.h>
#include <annex/frames.h>
#include <annex/mem.h>
#include "link.h"
#include "runs.h"

#define NO_TIER UINT8_MAX

#define NO_TENSOR UINT32_MAX /* in an order */
#define SHARED_PAGES 16u     /* that small tensors are given places in together */
#define SMALL 64u            /* bytes of such a place */
#define PLACES (SHARED_PAGES * ANNEX_MEM_PAGE / SMALL)
#define SIZES 64u /* lists of kept tensors, by a hash of their size */

/* Of a page that is neither in the device tier nor below, all bytes are zero. */
#define PAGE_DEVICE 1u  /* it is in the device tier */
#define PAGE_BELOW 2u   /* there is a copy in @tier at @loc that is as good */
#define PAGE_BUSY 4u    /* a job moves it */
#define PAGE_SHOWN 8u   /* programs see it */
#define PAGE_CLEAN 16u  /* a write to it faults */
#define PAGE_WANTED 32u /* a program waits for it */
#define PAGE_FENCED 64u /* a touch of it is a SIGSEGV */

/**
 * struct page - Where a page is.
 * @tensor: number of its tensor, from 1; 0: none.
 * @loc: of PAGE_BELOW: page number in the tier.
 * @crc: of the copy below, where the space has checksums.
 * @tier: of PAGE_BELOW.
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
 * @moves: requests that are not done.
 * @serial: its number among all that there ever were.
 * @first: its first page.
 * @n: its pages; 0: the entry is free.
 * @hand: the page that reclaiming goes on with.
 * @holds: how often it is held, to stay.
 * @writers: of these, holders that may write it, unseen.
 * @flights: of @holds, those of kernels in streams: also when it is freed they must have ended.
 * @jobs: that move its pages.
 * @resident: its pages in the device tier.
 * @leaving: of these, pages on their way out.
 * @older: the tensor that was used, or kept, before it, by index.
 * @newer: the tensor after it.
 * @parts: of pages that small tensors share: how many of them live.
 * @fill: places given out to small tensors.
 * @next: of those with places that are free, by index. @previous: likewise.
 * @starts: a bit for each place where a small tensor begins.
 * @taken: a bit for each place that one has.
 * @dirty: a place has been given back, which may not be zero.
 * @shared: small tensors share it.
 * @any: its bytes were anything when it was made.
 * @live: it has not been freed.
 * @kept: it has been freed, or was made @ahead, and its pages wait for the next @any of its size.
 * @ahead: no program has had it: its pages are being made.
 */
struct tensor {
	char *name;
	struct annex_move *moves;
	uint64_t serial;
	uint32_t first, n;
	uint32_t hand;
	uint32_t holds, writers, flights, jobs;
	uint32_t resident, leaving;
	uint32_t older, newer;
	uint32_t parts, fill, next, previous;
	uint64_t starts[PLACES / 64], taken[PLACES / 64];
	bool shared, dirty, any, live, kept, ahead;
};

/**
 * struct tier - One below the device tier.
 * @own: its pages, in memory.
 * @runs: its pages, wherever they are kept.
 * @arena: its memory, or NULL on storage.
 * @store: its storage, or NULL.
 * @lane: the space's part of its link.
 * @job_pages: the most of one transfer.
 * @used: pages that the space has in it.
 * @failed: writes to it that have failed in a row: until @rest it is chosen last, or not at all.
 * @round: counted failures; those of jobs that were made together count once.
 * @rest: a time in ns.
 * @err: the last failure, a negative errno.
 * @victim: the tensor that it was of.
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

/* struct order - Tensors by age, by index. */
struct order {
	uint32_t oldest, newest;
};

/**
 * struct annex_space - A space. Links' and stores' locks are taken after its own: finish.h.
 * @lock: orders all that changes in it.
 * @idle: signalled when @jobs is 0, also when @trims becomes so.
 * @file: the memory.
 * @uffd: tells @handler of touches of @base.
 * @guard: tells @handler of touches of @base instead, where there is no @uffd.
 * @transfers: tells @helper of touches of @alias, if those by the kernel are heard of.
 * @bell: ends both threads.
 * @watch: how touches are heard of.
 * @track: writes to clean pages are seen.
 * @frames: of a GPU, one for each @frame_pages of the space.
 * @job_pages: the most of one transfer, unless a tier has it lower.
 * @addresses: pages that are in no tensor.
 * @open: the first tensor with places for small ones.
 * @spare: entries of @tensors that are free.
 * @used: tensors that live, by their use.
 * @kept: those whose pages wait, by the time when they were freed. @drop: the list of which the
 * oldest is dropped next.
 * @jobs: that have not ended.
 * @trims: threads that give frames back.
 * @serials: tensors that there ever were.
 * @device: pages charged to the device tier.
 * @kept_pages: of these, pages of @kept.
 * @budget: pages that it may have.
 * @leaving: pages on their way out of it.
 * @promised: pages that are to leave when kernels in streams have ended.
 * @launched: kernels in streams that have not ended: what they hold is held no longer soon.
 * @with_copy: pages of it that have a copy below. @hand: where the next search for one begins.
 * @waiting: jobs that wait for room.
 * @ended: jobs that ended without a link; empty when @lock is free: annex_jobs_settle().
 * @copies: links to the tiers that are memory; the first is of a GPU's frames alone.
 * @pinned: tiers that a GPU has pinned.
 * @makes: the link that makes pages was started.
 * @closing: nothing begins any more.
 * @user_only: touches by the kernel are not heard of, so a prefetch brings zeroes, too.
 * @exceeded: it was logged that more is held than the device tier is to have.
 */
struct annex_space {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct annex_space_opts opts;
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
	uint64_t jobs, trims, serials;
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

/* The device tier, as it is now. */
uint64_t annex_space_budget(struct annex_space *s);

static inline uint64_t pages_bytes(uint32_t n)
{
	return (uint64_t)n * ANNEX_MEM_PAGE;
}

#endif

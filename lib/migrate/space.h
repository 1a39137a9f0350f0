/* SPDX-License-Identifier: MIT */
/*
 * What a space is made of.
 *
 * The address range is a file in memory, mapped twice. Programs use @base; there a page is absent
 * until it has been shown (userfaultfd). Devices use @alias, where a page is mapped while it is
 * moved, and no longer: so none counts twice. Processors copy from and to the file. A page of it is
 * taken from the system when it is first written, and given back when a hole is punched: the file's
 * pages are the device tier.
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

#define NO_TENSOR UINT32_MAX /* in the order of use */
#define SHARED_PAGES 16u     /* that small tensors are given places in together */
#define SMALL 64u            /* bytes, to which these places are aligned */

/*
 * What is known of a page.
 * DEVICE: it is in the device tier. BELOW: there is a copy in @tier at @loc that is as good.
 *Neither: all zeroes. BUSY: a job moves it. SHOWN: programs see it. CLEAN: and cannot write it
 *unnoticed. WANTED: a program waits for it. FENCED: who touches it has a SIGSEGV.
 */
#define PAGE_DEVICE 1u
#define PAGE_BELOW 2u
#define PAGE_BUSY 4u
#define PAGE_SHOWN 8u
#define PAGE_CLEAN 16u
#define PAGE_WANTED 32u
#define PAGE_FENCED 64u

/**
 * struct page - @tensor: number of the one that it belongs to, from 1; 0: none. @tier, @loc: of
 * BELOW: page number in the tier. @crc: of the copy below, where the space has checksums.
 */
struct page {
	uint32_t tensor;
	uint32_t loc;
	uint32_t crc;
	uint8_t tier;
	uint8_t flags;
};

/**
 * struct tensor - Pages @first to @first + @n.
 * @serial: of all that there ever were. @moves: that are not done. @hand: where reclaiming goes on.
 * @holds: who wants it to stay; @writers: of them who may write it, unseen. @jobs: that move it.
 * @resident: pages in the device tier; @leaving: of them on their way out.
 * @older, @newer: the tensors that were used before and after it, by index.
 * @parts: of pages that small tensors share: how many live; @fill: bytes given out; @starts: a bit
 * for each place where one begins.
 * @shared: it is such. @live: it has not been freed. With no @n there is none.
 */
struct tensor {
	char *name;
	struct annex_move *moves;
	uint64_t serial;
	uint32_t first, n;
	uint32_t hand;
	uint32_t holds, writers, jobs;
	uint32_t resident, leaving;
	uint32_t older, newer;
	uint32_t parts, fill;
	uint64_t starts[SHARED_PAGES * ANNEX_MEM_PAGE / SMALL / 64];
	bool shared, live;
};

/**
 * struct tier - One below the device tier.
 * @arena: its memory, or NULL on storage. @store: then it. @lane: what this space has on its link.
 * @job_pages: the most of one transfer.
 * @failed: the last transfers to it have, so many: until @rest it is chosen last, or not at all.
 * @err: how, of tensor @victim. @round: how often that was counted.
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

struct frame;

/**
 * struct annex_space - @lock orders all that changes in it. Links' and stores' locks come after it.
 * @idle: @jobs is 0. @watch: how touches are heard of. @track: writes to clean pages are seen.
 * @frames: of a GPU, one for each @frame_pages of the space.
 * @uffd: tells @handler of touches of @base; @transfers: tells @helper of those of @alias; @bell:
 * both end.
 * @spare: entries of @tensors that are free; @open: the one that small tensors go to.
 * @device: pages charged to the device tier, @budget of them are allowed; @leaving: of them on
 * their way out. @waiting: jobs that wait for room. @ended: jobs that need no link to end:
 * annex_jobs_settle(). @closing: nothing begins any more.
 * @exceeded: it was said that more is held than the device tier is to have.
 */
struct annex_space {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct annex_space_opts opts;
	int file, uffd, transfers, bell;
	uint8_t *base, *alias;
	enum annex_watch watch;
	bool track;
	struct frame *frames;
	uint32_t frame_pages;
	uint32_t n_pages;
	struct page *pages;
	struct runs addresses;
	struct tensor *tensors;
	uint32_t n_tensors, tensor_room, open;
	uint32_t *spare, n_spare;
	uint32_t oldest, newest;
	uint64_t jobs, serials;
	uint32_t device, budget, leaving;
	struct job_list waiting, ended;
	struct tier tiers[ANNEX_TIERS];
	struct link copies[ANNEX_TIER_SSD];
	uint32_t next_store;
	pthread_t handler, helper;
	bool pinned[ANNEX_TIER_SSD];
	bool handles, helps, closing, user_only, exceeded;
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

/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_STORE_H
#define ANNEX_MIGRATE_STORE_H

#include <annex/device.h>
#include "core/fork.h"
#include "link.h"
#include "runs.h"

/**
 * struct annex_store - A device that spaces evict to.
 * @link: its link.
 * @lock: protects @runs and @users.
 * @fork: a child must not use its copy.
 * @runs: map of its pages.
 * @dev: the device.
 * @opts: the options.
 * @block: bytes of a block of the device.
 * @users: number of spaces that use the store.
 * @buffers: bounce buffers of JOB_PAGES pages, for memory that the device cannot reach.
 * @buffers_at: their device address.
 * @free_buffers: map of the buffers.
 * @silent: commands that timed out since the device last completed one.
 * @rest: with many of these, other transfers fail until this time, in ns.
 * @works: @link was started.
 */
struct annex_store {
	struct link link;
	pthread_mutex_t lock;
	struct fork_watch fork;
	struct runs runs;
	struct annex_dev *dev;
	struct annex_store_opts opts;
	uint32_t block, users, silent;
	uint64_t rest;
	uint8_t *buffers;
	uint64_t buffers_at;
	struct runs free_buffers;
	bool works;
};

/*
 * Begin to use a store in a space: map its ARENAS, with their @bytes, for the device, or allocate
 * bounce buffers. @cxl: the range of its CXL memory, or NULL.
 */
int annex_store_join(struct annex_store *store, struct lane *lane, struct annex_hdm *cxl,
		     uint8_t *const *arenas, const uint64_t *bytes);
/* Return: false: the device may still write to the arenas, which must not be freed. */
bool annex_store_leave(struct annex_store *store, struct lane *lane, const uint64_t *bytes);

#endif

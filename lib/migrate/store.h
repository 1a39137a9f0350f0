/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_STORE_H
#define ANNEX_MIGRATE_STORE_H

#include <annex/device.h>
#include "link.h"
#include "runs.h"

/**
 * struct annex_store - A device that spaces evict to.
 * @lock: for @runs and @users.
 * @runs: free pages of the device.
 * @block: bytes of a block of the device.
 * @users: spaces that use the store.
 * @buffers: bounce buffers of JOB_PAGES pages, for memory that the device cannot reach.
 * @buffers_at: their device address.
 */
struct annex_store {
	struct link link;
	pthread_mutex_t lock;
	struct runs runs;
	struct annex_dev *dev;
	struct annex_store_opts opts;
	uint32_t block, users;
	uint8_t *buffers;
	uint64_t buffers_at;
	struct runs free_buffers;
	bool works;
};

/*
 * A space begins to use it: the device maps its arenas, @bytes each by tier, or gets buffers. Its
 * CXL memory is in the range @cxl, or it has none: NULL.
 */
int annex_store_join(struct annex_store *store, struct lane *lane, struct annex_hdm *cxl,
		     uint8_t *const *arenas, const uint64_t *bytes);
/* Return: false: the device may still write to them, so they must stay. */
bool annex_store_leave(struct annex_store *store, struct lane *lane, const uint64_t *bytes);

#endif

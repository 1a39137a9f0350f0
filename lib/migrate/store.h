/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_STORE_H
#define ANNEX_MIGRATE_STORE_H

#include <annex/device.h>
#include "link.h"
#include "runs.h"

/**
 * struct annex_store - @lock: of @runs and @users.
 * @buffers: JOB_PAGES pages each, for memory that the device cannot reach; @buffers_at: where it
 * finds them.
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
 * A space begins to use it: the device learns where its arenas, @bytes each by tier, are, or gets
 * buffers. @cxl: the range that its CXL memory is in, or NULL.
 */
int annex_store_join(struct annex_store *store, struct lane *lane, struct annex_hdm *cxl,
		     uint8_t *const *arenas, const uint64_t *bytes);
/* Return: false: the device may still write to them, so they must stay. */
bool annex_store_leave(struct annex_store *store, struct lane *lane, const uint64_t *bytes);

#endif

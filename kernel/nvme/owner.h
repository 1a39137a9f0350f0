/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has a controller open: its mappings and queue pairs, and the calls on its file.
 */
#ifndef ANNEX_OWNER_H
#define ANNEX_OWNER_H

#include <linux/fs.h>
#include <linux/xarray.h>

struct annex_ctrl;
struct annex_map;

/**
 * struct annex_owner - An open file.
 * @mapping: whose page tables show the controller.
 * @maps: by identifier; written under the controller's lock and its view. @next: where the search
 *	for a free one begins.
 * @queues: by identifier; under the controller's lock.
 * @greeted: versions have been compared.
 */
struct annex_owner {
	struct annex_ctrl *ctrl;
	struct address_space *mapping;
	struct xarray maps, queues;
	u32 next;
	bool greeted;
};

extern const struct file_operations annex_owner_ops;

/* Reset the controller, whose queue pairs are gone then. Under its lock. 0 or -ENODEV. */
int annex_owner_reset(struct annex_owner *owner);
/* annex_owner_evict() - The controller leaves: nothing of its owner's is in use any more. */
void annex_owner_evict(struct annex_ctrl *ctrl);
/*
 * annex_owner_pause() - The PCI core resets the controller: calls wait, and doorbells go nowhere,
 * until annex_owner_resume() has brought it up again, without its queue pairs.
 */
void annex_owner_pause(struct annex_ctrl *ctrl);
void annex_owner_resume(struct annex_ctrl *ctrl);
/* annex_owner_revoke() - Memory of another device's is taken away. */
void annex_owner_revoke(struct annex_ctrl *ctrl, struct annex_map *map);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open file of a controller. The one that was opened for writing is its owner, with mappings and
 * queue pairs.
 */
#ifndef ANNEX_OWNER_H
#define ANNEX_OWNER_H

#include <linux/fs.h>
#include <linux/xarray.h>
#include "ctrl.h"

/**
 * struct annex_owner - An open file.
 * @ctrl: the controller.
 * @mapping: address space whose mappings show the controller.
 * @maps: mappings by identifier; written under the controller's lock and its view.
 * @queues: queue pairs by identifier (the controller's lock).
 * @next: identifier at which the search for a free one begins.
 * @read: as @count of struct annex_event, when the file last read that log page.
 * @version_checked: the ABI versions have been compared.
 */
struct annex_owner {
	struct annex_ctrl *ctrl;
	struct address_space *mapping;
	struct xarray maps, queues;
	u32 next;
	u32 read[ANNEX_EVENT_LOGS];
	bool version_checked;
};

extern const struct file_operations annex_owner_ops;

/* annex_owner_owns() - Whether it was opened for writing. Under the controller's lock. */
static inline bool annex_owner_owns(const struct annex_owner *owner)
{
	return owner->ctrl->owner == owner;
}

/* annex_owner_evict() - Stop a controller that is being removed, and end its owner's queues. */
void annex_owner_evict(struct annex_ctrl *ctrl);
/*
 * annex_owner_pause() - Before the PCI core resets the controller: remove doorbells, and have calls
 * wait until annex_owner_resume() has brought it up again without its queue pairs. The PCI core
 * holds the device's lock meanwhile, so no other callback of the driver runs.
 */
void annex_owner_pause(struct annex_ctrl *ctrl);
void annex_owner_resume(struct annex_ctrl *ctrl);
/*
 * annex_owner_sleep() - Block calls and doorbells of a controller that loses power, or (not
 * @reachable) does not answer, until annex_owner_wake() brings it up without its queue pairs.
 */
void annex_owner_sleep(struct annex_ctrl *ctrl, bool reachable);
void annex_owner_wake(struct annex_ctrl *ctrl);

#endif

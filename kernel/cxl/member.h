/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices as members of ranges: a device is a member of one range at most, from the moment that the
 * range is being made until it is gone.
 */
#ifndef ANNEX_MEMBER_H
#define ANNEX_MEMBER_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct annex_hdm;
struct annex_range;
struct annex_want;

/* How long the end of a device waits for holders of pages. */
#define ANNEX_MEMBER_REMOVAL (10 * HZ) /* hotplug of the whole machine waits for it */
#define ANNEX_MEMBER_SHUTDOWN (2 * HZ)

/*
 * annex_member_join() - Join the range of a device, or create it: the caller is a user of it then,
 * until annex_range_leave(). Waits while another one is being made, and 5 s at most for the end of
 * the one before. Errors as in struct annex_ioc_hdm_range, with a line; or without, -EINTR, and
 * -EAGAIN: it would have to be created, and is not paced.
 */
struct annex_range *annex_member_join(struct annex_hdm *hdm, const struct annex_want *want);
/*
 * annex_member_evict() - End the range of a device that is removed, or shut down, and wait until it
 * is gone, that is, until nobody holds a page of it, but not longer than @patience. After that it
 * is released without touching the device. There is no other range of it.
 */
void annex_member_evict(struct annex_hdm *hdm, unsigned long patience);
/* annex_member_verify() - After a reset of a device: end its range if decoders are gone. */
void annex_member_verify(struct annex_hdm *hdm);
/* annex_member_busy() - Whether a device is a member of a range. */
bool annex_member_busy(struct annex_hdm *hdm);
/* annex_member_users() - Number of those from whom unbinding a device would take something. */
unsigned int annex_member_users(struct annex_hdm *hdm);

#endif

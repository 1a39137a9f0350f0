/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices as members of ranges. A device is a member of one range at most, from the making of the
 * range until it is GONE.
 */
#ifndef ANNEX_MEMBER_H
#define ANNEX_MEMBER_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct annex_hdm;
struct annex_range;
struct annex_want;

/* How long a removal or shutdown waits for held pages. */
#define ANNEX_MEMBER_REMOVAL (10 * HZ) /* PCI hotplug of the machine waits for it */
#define ANNEX_MEMBER_SHUTDOWN (2 * HZ)

/*
 * annex_member_join() - Join the range of a device, or create it. The caller becomes a user of the
 * range, until annex_range_leave(). Waits while another range is being made, and 5 s at most for
 * the end of the one before. Errors as in struct annex_ioc_hdm_range, with a line; without a line
 * also -EINTR, and -EAGAIN: the range would have to be created, and @want is not paced.
 */
struct annex_range *annex_member_join(struct annex_hdm *hdm, const struct annex_want *want);
/*
 * annex_member_evict() - End the range of a device that is removed or shut down, and wait until it
 * is GONE, which takes until no page is held, for @patience at most. Afterwards the range is
 * released without accessing the device. The device gets no other range.
 */
void annex_member_evict(struct annex_hdm *hdm, unsigned long patience);
/*
 * annex_member_verify() - After a reset of a device: end its range if decoders changed. @cut: no
 * load or store reaches the device, so end it without the device.
 */
void annex_member_verify(struct annex_hdm *hdm, bool cut);
/* annex_member_busy() - Whether a device is a member of a range. */
bool annex_member_busy(struct annex_hdm *hdm);
/*
 * annex_member_users() - Number of open files and dma-bufs of a device, plus one if pages of an
 * ENDING range are held.
 */
unsigned int annex_member_users(struct annex_hdm *hdm);

#endif

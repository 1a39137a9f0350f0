/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a memory device says of its medium: the list of its poison, and event records.
 */
#ifndef ANNEX_MEDIA_H
#define ANNEX_MEDIA_H

#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/annex.h>
#include "cxl.h"
#include "mbox.h"

#define ANNEX_EVENTS 256u /* that are kept */

/**
 * struct annex_media - Poison and events of a device.
 * @talk: one talks with the device at a time, for a minute perhaps; outside of the mailbox's lock.
 * @lock: of what others see of it, for moments; inside of @talk, the mailbox's and the ranges'.
 * @status: the device's status registers; NULL: it is gone. Written under both locks.
 * @bytes: device addresses; those below @border are of volatile memory, the others persistent.
 * @theirs: logs that are firmware's, a bit each. @policy: how they made themselves heard before.
 * @lists: it has a list of its poison. @stale: which is to be read anew.
 * @poison, @npoison: records of that list, by device addresses.
 * @found: how often that list was read anew for events. @applied: as of which time that is known to
 *	the ranges.
 * @events: the last ones, as a ring. @count: how many there were. @seq: the last one's number.
 * @shown: how many of them readers may have: their poison is where they look for it.
 * @logged: how many there were, by log.
 * @unclear: logs that the device was told to clear, and did not. @lost: what each has said that it
 *	lost since it was cleared.
 * @interrupts: it says so when there is a new one. @irqs: its vectors, a bit each.
 * @again: looks for events that no interrupt announces: after failures, later each time (@pause),
 *	and where there are none at all, while somebody sleeps in poll().
 * @wait: sleepers in read() and poll().
 */
struct annex_media {
	struct mutex talk; /* with the device */
	struct mutex lock; /* of what it said */
	void __iomem *status;
	struct annex_mbox *mbox;
	struct pci_dev *pdev;
	u64 bytes, border;
	u32 theirs;
	u8 policy[CXL_EVENT_LOGS];
	bool lists, stale;
	struct annex_ioc_seg *poison;
	u32 npoison;
	u64 found, applied;
	struct annex_hdm_event *events;
	u64 count, seq, shown;
	u64 logged[CXL_EVENT_LOGS];
	u32 unclear;
	u16 lost[CXL_EVENT_LOGS];
	bool interrupts;
	u32 irqs;
	struct delayed_work again;
	unsigned long pause;
	wait_queue_head_t wait;
	void (*changed)(struct annex_media *media);
};

/**
 * struct annex_reader - How far a file has read.
 * @at: events before it. @seq: number of the last one.
 */
struct annex_reader {
	u64 at, seq;
};

/* annex_media_prepare() - So that the others can be called. */
void annex_media_prepare(struct annex_media *media);
/*
 * annex_media_init() - Set the device's clock, read its poison, have its events announced.
 * @bytes: its capacity, volatile and persistent. @changed: is called when there may be new poison.
 */
int annex_media_init(struct annex_media *media, struct pci_dev *pdev, struct annex_mbox *mbox,
		     void __iomem *status, const u64 bytes[2],
		     void (*changed)(struct annex_media *media));
/* annex_media_end() - The device leaves, as it was: nothing reaches it any more. */
void annex_media_end(struct annex_media *media);
void annex_media_exit(struct annex_media *media);
/* annex_media_scan() - Read the list of poison anew. */
int annex_media_scan(struct annex_media *media);
/* annex_media_fetch() - Take new events from the device. What fails is tried again later. */
void annex_media_fetch(struct annex_media *media);
/*
 * annex_media_ask() - The same for whoever asks, of a device that does not say so by itself; but
 * not while somebody else talks with it, nor before it is tried again.
 */
void annex_media_ask(struct annex_media *media);
/* annex_media_watch() - Look for them as long as somebody sleeps in @wait, if it needs looking. */
void annex_media_watch(struct annex_media *media);
/* annex_media_count() - How many there were of each log, new ones among them. */
void annex_media_count(struct annex_media *media, u64 logged[CXL_EVENT_LOGS]);
/* annex_media_begin() - What comes from now on is new for a reader. */
void annex_media_begin(struct annex_media *media, struct annex_reader *reader);
/* annex_media_next() - The next event for a reader; false: there is none. */
bool annex_media_next(struct annex_media *media, struct annex_reader *reader,
		      struct annex_hdm_event *event);
bool annex_media_has(struct annex_media *media, const struct annex_reader *reader);

#endif

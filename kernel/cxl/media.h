/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The health of a memory device's medium: its poison list, and its event records.
 */
#ifndef ANNEX_MEDIA_H
#define ANNEX_MEDIA_H

#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/annex_hdm.h>
#include "cxl.h"
#include "mbox.h"

#define ANNEX_EVENTS 256u /* records in the ring */

/**
 * struct annex_media - Poison and events of a device.
 * @talk: serialises commands to the device, which may take a minute. Taken before the mailbox's
 *	lock.
 * @lock: protects the members below. Taken after @talk and the mailbox's lock.
 * @status: mapped Event Status register; NULL: the device is gone. Written under both locks.
 * @mbox: mailbox of the device.
 * @pdev: the device.
 * @bytes: device addresses of the medium.
 * @border: first persistent device address; those below are volatile.
 * @fw_logs: bitmap of event logs that firmware owns.
 * @saved_policy: event interrupt policy at probe, restored when the device leaves.
 * @lists: the device supports Get Poison List.
 * @stale: the poison list has to be read again.
 * @poison: records of the poison list, by device address.
 * @npoison: number of records.
 * @found: number of times that the list was read because of events.
 * @applied: value of @found whose list was applied to the ranges.
 * @events: ring of the last records.
 * @count: records so far.
 * @seq: sequence number of the last record.
 * @shown: records that readers get: their poison was applied to the ranges.
 * @logged: records so far, by log.
 * @unclear: bitmap of logs whose Clear Event Records failed.
 * @lost: overflow count of each log when it was last read, since it was cleared.
 * @interrupts: the device announces events by interrupts.
 * @irqs: bitmap of its vectors.
 * @again: polls for events: after a failure, with growing delays; without interrupts, while
 *	poll() has waiters.
 * @pause: next delay of @again, in jiffies.
 * @wait: waiters in read() and poll().
 * @changed: called when the poison list may have changed.
 */
struct annex_media {
	struct mutex talk; /* serialises commands */
	struct mutex lock; /* protects the members below */
	void __iomem *status;
	struct annex_mbox *mbox;
	struct pci_dev *pdev;
	u64 bytes, border;
	u32 fw_logs;
	u8 saved_policy[CXL_EVENT_LOGS];
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
 * struct annex_reader - The position of an open file in the events.
 * @at: number of records before the position.
 * @seq: sequence number of the last of these.
 */
struct annex_reader {
	u64 at, seq;
};

/* annex_media_prepare() - Initialise locks and work, before any other call. */
void annex_media_prepare(struct annex_media *media);
/*
 * annex_media_init() - Set the device's clock, read its poison list, enable event interrupts.
 * @bytes: capacity, volatile and persistent. @changed: called when the poison list may differ.
 */
int annex_media_init(struct annex_media *media, struct pci_dev *pdev, struct annex_mbox *mbox,
		     void __iomem *status, const u64 bytes[2],
		     void (*changed)(struct annex_media *media));
/* annex_media_suspend() - Retry failed reading, and poll the device, no more until resumption. */
void annex_media_suspend(struct annex_media *media);
/* annex_media_resume() - After a reset, which may have cleared the event policy: write it again. */
void annex_media_resume(struct annex_media *media);
/* annex_media_end() - Restore the event policy, and stop all access to the device. */
void annex_media_end(struct annex_media *media);
void annex_media_exit(struct annex_media *media);
/* annex_media_scan() - Read the poison list again. */
int annex_media_scan(struct annex_media *media);
/* annex_media_fetch() - Read new event records. A failed log is tried again later. */
void annex_media_fetch(struct annex_media *media);
/*
 * annex_media_ask() - Fetch from a device without interrupts, unless another command is running or
 * a retry is scheduled.
 */
void annex_media_ask(struct annex_media *media);
/* annex_media_watch() - Poll a device without interrupts while @wait has waiters. */
void annex_media_watch(struct annex_media *media);
/* annex_media_count() - Copy the numbers of records of each log that were fetched so far. */
void annex_media_count(struct annex_media *media, u64 logged[CXL_EVENT_LOGS]);
/* annex_media_begin() - Start a reader after the records so far. */
void annex_media_begin(struct annex_media *media, struct annex_reader *reader);
/* annex_media_next() - Copy the next record for a reader; false: there is none. */
bool annex_media_next(struct annex_media *media, struct annex_reader *reader,
		      struct annex_hdm_event *event);
/* annex_media_has() - Whether there is a next record for a reader. */
bool annex_media_has(struct annex_media *media, const struct annex_reader *reader);

#endif

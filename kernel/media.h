/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a memory device says of its medium: the list of its poison, and event records.
 */
#ifndef ANNEX_MEDIA_H
#define ANNEX_MEDIA_H

#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <uapi/annex.h>
#include "cxl.h"
#include "mbox.h"

#define ANNEX_EVENTS 256u /* that are kept */

/**
 * struct annex_media - Poison and events of a device.
 * @lock: of all. The mailbox's lock is inside it.
 * @status: the device's status registers; NULL: it is gone.
 * @lists: it has a list of its poison.
 * @poison, @npoison: records of that list, by device addresses.
 * @events: the last ones, as a ring. @count: how many there were. @seq: the last one's number.
 * @logged: how many there were, by log.
 * @interrupts: it says so when there is a new one. @vectors: MSI-X or MSI, requested by @irqs.
 * @wait: sleepers in read() and poll().
 */
struct annex_media {
	struct mutex lock; /* of all */
	void __iomem *status;
	struct annex_mbox *mbox;
	struct pci_dev *pdev;
	u64 bytes;
	bool lists;
	struct annex_ioc_seg *poison;
	u32 npoison;
	struct annex_hdm_event *events;
	u64 count, seq;
	u64 logged[CXL_EVENT_LOGS];
	bool interrupts;
	u32 irqs;
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

/*
 * annex_media_init() - Set the device's clock, read its poison, have its events announced.
 * @bytes: its capacity. @changed: is called when there may be new poison.
 */
int annex_media_init(struct annex_media *media, struct pci_dev *pdev, struct annex_mbox *mbox,
		     void __iomem *status, u64 bytes, void (*changed)(struct annex_media *media));
/* annex_media_end() - The device leaves: nothing reaches it any more. */
void annex_media_end(struct annex_media *media);
void annex_media_exit(struct annex_media *media);
/* annex_media_scan() - Read the list of poison anew. */
int annex_media_scan(struct annex_media *media);
/* annex_media_fetch() - Take new events from the device. */
void annex_media_fetch(struct annex_media *media);
/* annex_media_count() - How many there were of each log, new ones among them. */
void annex_media_count(struct annex_media *media, u64 logged[CXL_EVENT_LOGS]);
/* annex_media_begin() - What comes from now on is new for a reader. */
void annex_media_begin(struct annex_media *media, struct annex_reader *reader);
/* annex_media_next() - The next event for a reader; false: there is none. */
bool annex_media_next(struct annex_media *media, struct annex_reader *reader,
		      struct annex_hdm_event *event);
bool annex_media_has(struct annex_media *media, const struct annex_reader *reader);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CXL memory device.
 *
 * Locks, outermost first: the ranges' (range.h), then the media's; a talk with a device, its
 * mailbox's, then the media's: nobody waits for a device with the ranges' lock. And as the NVMe
 * half has it, a caller's mmap_lock, then a range's view. A range's gate (filter.h) has a lock with
 * which a device is waited for, a second at most: inside of the ranges', but both are taken only
 * when a range ends, and never in the view.
 */
#ifndef ANNEX_HDM_H
#define ANNEX_HDM_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/pci.h>
#include "call.h"
#include "decoder.h"
#include "mbox.h"
#include "media.h"
#include "regs.h"

struct annex_range;

/**
 * struct annex_hdm - One device.
 * @dev, @cdev: its character device; the last reference to @dev frees all of this.
 * @pdev: the PCI device; not to be touched when @gone.
 * @gone: removed. Written under the ranges' lock.
 * @regs, @mbox, @media, @decoders: what it consists of.
 * @serial: its number. @bytes: its capacity by kind.
 * @mem_enabled: CXL.mem was enabled here.
 * @range: what it is part of (the ranges' lock).
 * @users: open files (the ranges' lock).
 * @refusals: calls that were wrong.
 */
struct annex_hdm {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	bool gone;
	struct annex_regs regs;
	struct annex_mbox mbox;
	struct annex_media media;
	struct annex_decoders decoders;
	u64 serial;
	u64 bytes[2];
	bool mem_enabled;
	struct annex_range *range;
	unsigned int users;
	atomic64_t refusals;
};

extern struct pci_driver annex_hdm_driver;

/* annex_hdm_enable() - Let it answer to CXL.mem. -EPERM: firmware has locked it without. */
int annex_hdm_enable(struct annex_hdm *hdm);
/* annex_hdm_disable() - As it was before. */
void annex_hdm_disable(struct annex_hdm *hdm);

#define annex_hdm_refuse(hdm, err, fmt, ...)                                                       \
	({                                                                                         \
		struct annex_hdm *_hdm = (hdm);                                                    \
		annex_refused(&_hdm->dev, &_hdm->refusals, err, fmt, ##__VA_ARGS__);               \
	})

#endif

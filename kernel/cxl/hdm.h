/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CXL memory device.
 *
 * Lock order, outermost first:
 *
 *	ranges' lock (range.h) > range.view
 *	media.talk > mbox.lock > media.lock > range.view
 *	mmap_lock of a caller > range.view
 *
 * media.talk, mbox.lock and gate.lock (filter.h), under which a device is waited for, are never
 * taken under the ranges' lock; gate.lock, which is held for a second at most, is taken under none.
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
struct dentry;

/**
 * struct annex_hdm - A CXL memory device.
 * @dev: device of the character device; its last reference frees this structure.
 * @cdev: character device.
 * @pdev: PCI device; not to be touched when @gone.
 * @gone: the device was removed. Written under the ranges' lock.
 * @regs: mapped registers.
 * @mbox: mailbox.
 * @media: poison and events.
 * @decoders: HDM decoders of the endpoint.
 * @serial: serial number.
 * @bytes: capacity, by kind (ANNEX_HDM_VOLATILE, _PERSISTENT).
 * @mem_enabled: this driver has set Mem_Enable.
 * @range: range that the device is a member of, or NULL (the ranges' lock).
 * @making: a range of it is being made; read without the lock, written under it.
 * @users: number of open files (the ranges' lock).
 * @refusals: number of calls that were refused.
 * @debug: its folder in debugfs.
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
	bool making;
	unsigned int users;
	atomic64_t refusals;
	struct dentry *debug;
};

extern struct pci_driver annex_hdm_driver;

/*
 * annex_hdm_check() - Whether its memory is free to be decoded. -EPERM: firmware has locked it
 * without Mem_Enable; -EBUSY: firmware has given it out by DVSEC ranges. Errors have a line.
 */
int annex_hdm_check(struct annex_hdm *hdm);
/* annex_hdm_enable() - Set Mem_Enable. */
void annex_hdm_enable(struct annex_hdm *hdm);
/* annex_hdm_disable() - Clear Mem_Enable, if annex_hdm_enable() has set it. */
void annex_hdm_disable(struct annex_hdm *hdm);

#define annex_hdm_refuse(hdm, err, fmt, ...)                                                       \
	({                                                                                         \
		struct annex_hdm *_hdm = (hdm);                                                    \
		annex_refused(&_hdm->dev, &_hdm->refusals, err, fmt, ##__VA_ARGS__);               \
	})

#endif

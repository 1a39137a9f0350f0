/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CXL memory device.
 *
 * Lock order, outermost first:
 *
 *	range.lock (range.h) > a dma-buf's reservation lock, range.view
 *	media.talk > mbox.lock > media.lock > range.view
 *	media.talk > ranges' lock (range.h)
 *	mmap_lock of a caller > range.view
 *
 * The module waits for a device under media.talk, mbox.lock and gate.lock (filter.h), so these are
 * never taken under the locks of ranges. gate.lock, which is held for a second at most, the ranges'
 * lock and the decoders' lock are taken while none of this list but media.talk is held, and no lock
 * of this list is taken under them.
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
 * @pdev: PCI device; must not be accessed when @gone.
 * @gone: the device was removed. Written under the ranges' lock.
 * @regs: mapped registers.
 * @mbox: mailbox.
 * @media: poison and events.
 * @decoders: HDM decoders of the endpoint.
 * @serial: serial number.
 * @bytes: capacity, by kind (ANNEX_HDM_VOLATILE, _PERSISTENT).
 * @labelled: its label storage area describes namespaces, or cannot be read.
 * @mem_enabled: this driver has set Mem_Enable.
 * @range: range that the device is a member of, or NULL (written under the ranges' lock).
 * @users: number of open files (the ranges' lock).
 * @recover: work after a reset, or after a PCI error that cut the device off.
 * @cut: such an error, which no reset has followed yet.
 * @resets: number of such resets and errors, written by the handlers, which exclude each other.
 * @settled: @resets when @recover last found the device ready.
 * @saved: configuration space as it was after probe.
 * @refusals: number of refused calls.
 * @debug: directory in debugfs.
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
	bool labelled;
	bool mem_enabled;
	struct annex_range *range;
	unsigned int users;
	struct work_struct recover;
	bool cut;
	unsigned int resets, settled;
	struct pci_saved_state *saved;
	atomic64_t refusals;
	struct dentry *debug;
};

extern struct pci_driver annex_hdm_driver;

/* annex_hdm_is_ready() - Whether there can be a range: no reset or error has to be handled. */
static inline bool annex_hdm_is_ready(const struct annex_hdm *hdm)
{
	/* The ranges' lock orders these: @recover takes it after they have changed. */
	return READ_ONCE(hdm->resets) == READ_ONCE(hdm->settled);
}

/* attribute.c: the files of a device in sysfs and debugfs. */
extern const struct attribute_group *annex_attribute_groups[];
void annex_debugfs_init(void);
void annex_debugfs_exit(void);
/* annex_debugfs_add() - Make the files of a device. */
void annex_debugfs_add(struct annex_hdm *hdm);
/* annex_debugfs_remove() - Remove the files, and wait for readers. */
void annex_debugfs_remove(struct annex_hdm *hdm);

/*
 * dvsec.c: Mem_Enable of the CXL device DVSEC, whether a device decodes its memory at host
 * addresses. Under the decoders' lock.
 *
 * annex_dvsec_check() - Check that HDM decoders can map the memory. -EPERM: firmware has locked the
 * device without Mem_Enable; -EBUSY: firmware maps the memory by DVSEC ranges. Errors have a line.
 */
int annex_dvsec_check(struct annex_hdm *hdm);
/* annex_dvsec_enable() - Set Mem_Enable. */
void annex_dvsec_enable(struct annex_hdm *hdm);
/* annex_dvsec_disable() - Clear Mem_Enable, if annex_dvsec_enable() has set it. */
void annex_dvsec_disable(struct annex_hdm *hdm);

#define annex_hdm_refuse(hdm, err, fmt, ...)                                                       \
	({                                                                                         \
		struct annex_hdm *_hdm = (hdm);                                                    \
		annex_refused(&_hdm->dev, &_hdm->refusals, err, fmt, ##__VA_ARGS__);               \
	})

#endif

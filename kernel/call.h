/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls on the module's files (ioctl), by tables: include/uapi/annex.h describes the arguments.
 */
#ifndef ANNEX_CALL_H
#define ANNEX_CALL_H

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/ioctl.h>

#define ANNEX_CALL_MOST 128 /* bytes of arguments */

/**
 * struct annex_call - One call.
 * @cmd: ioctl number: type, number, direction and size of the arguments.
 * @least: size of the arguments in the first version of the interface.
 * @fn: function of the call; @self as in struct annex_caller, @args are copied in and out.
 * @undo: undoes a successful call whose results cannot be copied out; or NULL.
 * @locked: @fn runs under the lock of struct annex_caller.
 * @first: the call may be the first one on a file.
 * @reads: the call changes nothing, and is allowed on a file that was opened for reading.
 */
struct annex_call {
	unsigned int cmd;
	u32 least;
	long (*fn)(void *self, void *args);
	void (*undo)(void *self, void *args);
	bool locked, first, reads;
};

/**
 * struct annex_caller - An open file.
 * @self: first argument of the functions.
 * @file: the file.
 * @version_checked: set by the first call, which compares the ABI versions.
 * @lock: takes the lock of locked calls, or returns a negative errno; NULL: the table has none.
 * @unlock: releases it.
 * @dev: device, for lines in the kernel's log.
 * @refusals: counter of refused calls.
 */
struct annex_caller {
	void *self;
	const struct file *file;
	const bool *version_checked;
	int (*lock)(void *self);
	void (*unlock)(void *self);
	struct device *dev;
	atomic64_t *refusals;
};

/**
 * annex_call() - Find a call in a table and make it.
 * @by: the open file.
 * @calls: the table.
 * @n: number of rows.
 * @cmd: number of the ioctl.
 * @arg: address of its arguments in user space.
 *
 * The caller's structure may be older than the module's, and shorter: missing members are zero. It
 * may be newer: members that the module does not know must be zero (-E2BIG).
 *
 * Return: the result of the call; -ENOTTY (no such call); -EINVAL (the size differs from @size, or
 * is below that of the first version); -E2BIG; -EFAULT; -EPROTO (not the first call); -EBADF (the
 * file was opened for reading); -ENODEV.
 */
long annex_call(const struct annex_caller *by, const struct annex_call *calls, size_t n,
		unsigned int cmd, unsigned long arg);

/* Log a refusal in one rate-limited line, and count it. */
#define annex_refused(dev, refusals, err, fmt, ...)                                                \
	({                                                                                         \
		atomic64_inc(refusals);                                                            \
		dev_notice_ratelimited(dev, fmt "\n", ##__VA_ARGS__);                              \
		(err);                                                                             \
	})

#endif

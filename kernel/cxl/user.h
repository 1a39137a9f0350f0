/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open file of a CXL memory device, and the calls on it.
 */
#ifndef ANNEX_USER_H
#define ANNEX_USER_H

#include <linux/fs.h>
#include <linux/mutex.h>
#include "media.h"

struct annex_hdm;
struct annex_range;

/**
 * struct annex_user - An open file.
 * @hdm: the device.
 * @file: the file, which frees this structure.
 * @mapping: address space whose mappings show the range.
 * @version_checked: the ABI versions have been compared.
 * @range: range that the file has joined, for good; written under @reading.
 * @poison_count: value of the range's @poison_count whose poison list the file has read.
 * @list_count: value of the range's @poison_count when the first part of a list was copied.
 * @reading: serialises read() and the calls that join a range.
 * @reader: position in the events (@reading).
 */
struct annex_user {
	struct annex_hdm *hdm;
	struct file *file;
	struct address_space *mapping;
	bool version_checked;
	struct annex_range *range;
	u64 poison_count, list_count;
	struct mutex reading; /* protects the position and the range */
	struct annex_reader reader;
};

extern const struct file_operations annex_user_ops;

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open file of a CXL memory device, and the calls on it.
 */
#ifndef ANNEX_USER_H
#define ANNEX_USER_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include "media.h"

struct annex_hdm;
struct annex_range;

/**
 * struct annex_piece - Uncached pages that a process has by a file: both have to be there.
 * @owner: the process that asked for it, held. @ready: zeroed, and in the filter as @entry.
 */
struct annex_piece {
	struct list_head list;
	u64 offset, bytes;
	struct pid *owner;
	bool ready;
	unsigned int entry;
};

/**
 * struct annex_user - An open file.
 * @mapping: whose page tables show the range.
 * @greeted: versions have been compared.
 * @range: what it has joined, once and for all; written under the ranges' lock.
 * @list: of the range's users. @pieces: its own (the range's view).
 * @struck: what the range had when it was asked for its poison last. @telling: when the first part
 *	of that was told.
 * @reading: one read() at a time. @reader: how far it has come.
 */
struct annex_user {
	struct annex_hdm *hdm;
	struct address_space *mapping;
	bool greeted;
	struct annex_range *range;
	struct list_head list, pieces;
	u64 struck, telling;
	struct mutex reading; /* of @reader */
	struct annex_reader reader;
};

extern const struct file_operations annex_user_ops;

#endif

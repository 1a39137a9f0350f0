/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pieces of a range's uncached memory, each a file of its own.
 */
#ifndef ANNEX_PIECE_H
#define ANNEX_PIECE_H

#include <linux/list.h>
#include <linux/types.h>

struct annex_ioc_hdm_m2func;
struct annex_range;
struct annex_user;
struct file;
struct mm_struct;

/**
 * struct annex_piece - Uncached pages for one process, until their file is released.
 * @list: entry in the range's pieces (the range's view).
 * @range: the range.
 * @offset: first byte, in the range.
 * @bytes: size.
 * @mm: the address space that may map it, with a reference.
 * @device: the device's file that made it, with a reference, which holds the range.
 * @entry: index in the filter.
 */
struct annex_piece {
	struct list_head list;
	struct annex_range *range;
	u64 offset;
	u64 bytes;
	struct mm_struct *mm;
	struct file *device;
	unsigned int entry;
};

/* annex_piece_create() - ANNEX_IOC_HDM_M2FUNC. */
int annex_piece_create(struct annex_range *r, struct annex_user *user,
		       struct annex_ioc_hdm_m2func *args);

#endif

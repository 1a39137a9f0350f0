/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private pieces of a range's memory, each a file of its own.
 */
#ifndef ANNEX_PIECE_H
#define ANNEX_PIECE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

struct annex_ioc_hdm_piece;
struct annex_range;
struct annex_user;
struct file;
struct mm_struct;

/**
 * struct annex_piece - Pages for one process.
 * @refs: references: of its file, and of each dma-buf.
 * @list: entry in the range's pieces (the range's view).
 * @range: the range.
 * @part: as in struct annex_ioc_hdm_piece.
 * @offset: first byte, in the range.
 * @bytes: size.
 * @mm: the address space that may map it, with a reference.
 * @device: the device's file that made it, with a reference, which holds the range.
 * @entry: index in the filter; of an uncached piece.
 */
struct annex_piece {
	struct kref refs;
	struct list_head list;
	struct annex_range *range;
	u64 part;
	u64 offset;
	u64 bytes;
	struct mm_struct *mm;
	struct file *device;
	unsigned int entry;
};

/* annex_piece_create() - ANNEX_IOC_HDM_PIECE. */
int annex_piece_create(struct annex_range *r, struct annex_user *user,
		       struct annex_ioc_hdm_piece *args);
/*
 * annex_piece_find() - The piece of the caller's address space that has these bytes of the range,
 * with a reference; NULL: there is none.
 */
struct annex_piece *annex_piece_find(struct annex_range *r, u64 offset, u64 bytes);
void annex_piece_put(struct annex_piece *p);

#endif

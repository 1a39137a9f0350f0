/* SPDX-License-Identifier: MIT */
/*
 * Operations: what changes together.
 *
 * Everything that an operation changes in memory is noted before, so that it can be undone when the
 * device takes it not. A block that is given back keeps its contents until the commit.
 */
#ifndef ANNEX_FS_OP_H
#define ANNEX_FS_OP_H

#include "fs.h"

/* Lines that the device takes in one transaction, and blocks that the journal has room for. */
#define FS_OP_LINES 4096u
#define FS_OP_BLOCKS 640u

void fs_op_free(struct fs_op *op);

/* Notes: a line of a buffer, an inode of a node, a bit of a bitmap changes next; dirty pages of a
 * file go to the device. */
int fs_op_line(struct annex_fs *fs, struct fs_buf *b, uint32_t line);
int fs_op_node(struct annex_fs *fs, struct fs_node *n);
int fs_op_pages(struct annex_fs *fs, struct fs_node *n);
int fs_op_bit(struct annex_fs *fs, struct fs_bitmap *m, uint32_t bit, bool taken);

/* fs_op_freed() - A block is free from the commit on. fs_op_fresh() - A block's old contents are
 * forgotten before. fs_op_store() - Bytes of a file, which stay as they are until the commit. */
int fs_op_freed(struct annex_fs *fs, uint32_t block);
int fs_op_fresh(struct annex_fs *fs, uint32_t block);
int fs_op_store(struct annex_fs *fs, uint64_t at, const void *from, uint32_t bytes);

#endif

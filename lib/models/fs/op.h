/* SPDX-License-Identifier: MIT */
/*
 * Operations: sets of changes that are committed atomically.
 *
 * An operation notes each change in memory first, so that it can be undone if the device rejects
 * it. A freed block keeps its contents until the commit.
 */
#ifndef ANNEX_FS_OP_H
#define ANNEX_FS_OP_H

#include "fs.h"

/* Lines of a transaction of the device, and blocks of a transaction of the journal, at most. */
#define FS_OP_LINES 4096u
#define FS_OP_BLOCKS 640u

void fs_op_free(struct fs_op *op);

/* Note a change in advance: a line of a buffer, the inode of a node, a write-back of dirty pages of
 * a file, a bit of a bitmap. */
int fs_op_line(struct annex_fs *fs, struct fs_buf *b, uint32_t line);
int fs_op_node(struct annex_fs *fs, struct fs_node *n);
int fs_op_pages(struct annex_fs *fs, struct fs_node *n);
int fs_op_bit(struct annex_fs *fs, struct fs_bitmap *m, uint32_t bit, bool taken);

/*
 * fs_op_freed() - Free a block after the commit.
 * fs_op_fresh() - Trim a block before the commit.
 * fs_op_store() - Store bytes of a file, which must not change until the commit.
 */
int fs_op_freed(struct annex_fs *fs, uint32_t block);
int fs_op_fresh(struct annex_fs *fs, uint32_t block);
int fs_op_store(struct annex_fs *fs, uint64_t at, const void *from, uint32_t bytes);

/*
 * fs_op_end() - Commit the operation if @err is 0, else undo it. Return: @err, or the error of the
 * commit, which undoes it. -E2BIG: too many lines for one transaction.
 */
int fs_op_end(struct annex_fs *fs, int err);

/* fs_commit() - Make all ended operations durable and free their blocks.
 * fs_commit_room() - Do so if free blocks are short and this frees some. */
int fs_commit(struct annex_fs *fs);
int fs_commit_room(struct annex_fs *fs);

#endif

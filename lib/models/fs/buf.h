/* SPDX-License-Identifier: MIT */
/*
 * Blocks of metadata in host memory, and their lines.
 */
#ifndef ANNEX_FS_BUF_H
#define ANNEX_FS_BUF_H

#include "fs.h"

int fs_bufs_init(struct fs_bufs *b);
void fs_bufs_free(struct fs_bufs *b);

/* fs_bufs_trim() - Free least recently used buffers. Call it between operations only: pointers to
 * buffers are valid until then. */
void fs_bufs_trim(struct fs_bufs *b);

/*
 * fs_buf_find() - Find a buffer in memory, or NULL.
 * fs_buf_join() - Add a buffer to the running transaction, and pin it until fs_bufs_unpin().
 * fs_buf_log() - Add a buffer with the contents that the journal has.
 */
struct fs_buf *fs_buf_find(struct annex_fs *fs, uint32_t block);
void fs_buf_join(struct annex_fs *fs, struct fs_buf *b);
int fs_buf_log(struct annex_fs *fs, uint32_t block, enum annex_fs_class class,
	       const struct fs_line *lines);
void fs_bufs_unpin(struct fs_bufs *b);

/*
 * fs_buf_get() - Get the buffer of a block; -EIO.
 * fs_buf_new() - Get a buffer of zeroes, without a read.
 * fs_buf_drop() - Drop the buffer of a block, if any.
 */
int fs_buf_get(struct annex_fs *fs, uint32_t block, enum annex_fs_class class, struct fs_buf **out);
int fs_buf_new(struct annex_fs *fs, uint32_t block, enum annex_fs_class class, struct fs_buf **out);
void fs_buf_drop(struct annex_fs *fs, uint32_t block);

/* fs_line() - Get the payload of a line; -EIO: wrong checksum. */
int fs_line(struct fs_buf *b, uint32_t line, const uint8_t **payload);

/* fs_line_change() - Get the payload of a line that the operation changes. */
int fs_line_change(struct annex_fs *fs, struct fs_buf *b, uint32_t line, uint8_t **payload);

/* fs_line_sum() - The checksum of line @line of block @block. */
uint32_t fs_line_sum(const struct fs_line *l, uint32_t block, uint32_t line);

/* fs_line_good() - Whether the checksum of a line is right, or the line is all zero. */
bool fs_line_good(const struct fs_line *l, uint32_t block, uint32_t line);

#endif

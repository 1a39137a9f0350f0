/* SPDX-License-Identifier: MIT */
/*
 * Blocks of metadata in host memory, and the lines in them.
 */
#ifndef ANNEX_FS_BUF_H
#define ANNEX_FS_BUF_H

#include "fs.h"

int fs_bufs_init(struct fs_bufs *b);
void fs_bufs_free(struct fs_bufs *b);

/* fs_bufs_trim() - Give back what has not been used for long. Between operations: pointers to
 * buffers are good until then. */
void fs_bufs_trim(struct fs_bufs *b);

/* fs_buf_find() - A block that is in memory; NULL. fs_buf_join() - The transaction that is running
 * has it: it stays until fs_bufs_unpin(). fs_buf_log() - One that is not in memory, as the journal
 * has it. */
struct fs_buf *fs_buf_find(struct annex_fs *fs, uint32_t block);
void fs_buf_join(struct annex_fs *fs, struct fs_buf *b);
int fs_buf_log(struct annex_fs *fs, uint32_t block, enum annex_fs_class class,
	       const struct fs_line *lines);
void fs_bufs_unpin(struct fs_bufs *b);

/* fs_buf_get() - A block; -EIO. fs_buf_new() - One that holds zeroes, and that the device need not
 * be asked for. fs_buf_drop() - Forget one, if it is there. */
int fs_buf_get(struct annex_fs *fs, uint32_t block, enum annex_fs_class class, struct fs_buf **out);
int fs_buf_new(struct annex_fs *fs, uint32_t block, enum annex_fs_class class, struct fs_buf **out);
void fs_buf_drop(struct annex_fs *fs, uint32_t block);

/* fs_line() - The payload of a line; -EIO: its checksum is wrong. */
int fs_line(struct fs_buf *b, uint32_t line, const uint8_t **payload);

/* fs_line_change() - The same, to be changed by the operation. */
int fs_line_change(struct annex_fs *fs, struct fs_buf *b, uint32_t line, uint8_t **payload);

/* fs_line_sum() - The checksum of line @line of block @block. */
uint32_t fs_line_sum(const struct fs_line *l, uint32_t block, uint32_t line);

/* fs_line_good() - Whether a line has that checksum, or is all zero. */
bool fs_line_good(const struct fs_line *l, uint32_t block, uint32_t line);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_BITMAP_H
#define ANNEX_FS_BITMAP_H

#include "fs.h"

/* fs_bitmap_load() - Read one of @n bits from block @start on. */
int fs_bitmap_load(struct annex_fs *fs, struct fs_bitmap *m, uint32_t start, uint32_t n);
void fs_bitmap_free(struct fs_bitmap *m);

/* fs_bitmap_mark() - In memory only. */
void fs_bitmap_mark(struct fs_bitmap *m, uint32_t bit, bool taken);

static inline bool fs_bitmap_taken(const struct fs_bitmap *m, uint32_t bit)
{
	return m->bits[bit / 64] >> bit % 64 & 1;
}

/* fs_inode_take() - A free inode's number; -ENOSPC. fs_inode_give() - It is free again. */
int fs_inode_take(struct annex_fs *fs, uint32_t *ino);
int fs_inode_give(struct annex_fs *fs, uint32_t ino);

/* fs_block_take() - A free block, at @goal if that is free; -ENOSPC. fs_block_give() - It is free
 * from the commit on. */
int fs_block_take(struct annex_fs *fs, uint32_t goal, uint32_t *block);
int fs_block_give(struct annex_fs *fs, uint32_t block);

#endif

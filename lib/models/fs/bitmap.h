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
 * when the operation lasts. */
int fs_block_take(struct annex_fs *fs, uint32_t goal, uint32_t *block);
int fs_block_give(struct annex_fs *fs, uint32_t block);

/* fs_held_room() - Room for the blocks that the operation gives back. fs_held_add() - They are held
 * now. fs_held_free() - All that was held is free. */
int fs_held_room(struct annex_fs *fs);
void fs_held_add(struct annex_fs *fs);
void fs_held_free(struct annex_fs *fs);

#endif

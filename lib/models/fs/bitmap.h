/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_BITMAP_H
#define ANNEX_FS_BITMAP_H

#include "fs.h"

/* fs_bitmap_load() - Read a bitmap of @n bits from block @start on. */
int fs_bitmap_load(struct annex_fs *fs, struct fs_bitmap *m, uint32_t start, uint32_t n);
void fs_bitmap_free(struct fs_bitmap *m);

/* fs_bitmap_mark() - Set or clear a bit in memory only. */
void fs_bitmap_mark(struct fs_bitmap *m, uint32_t bit, bool taken);

static inline bool fs_bitmap_taken(const struct fs_bitmap *m, uint32_t bit)
{
	return m->bits[bit / 64] >> bit % 64 & 1;
}

/* fs_inode_take() - Allocate an inode; -ENOSPC. fs_inode_give() - Free it. */
int fs_inode_take(struct annex_fs *fs, uint32_t *ino);
int fs_inode_give(struct annex_fs *fs, uint32_t ino);

/* fs_block_take() - Allocate a block, @goal if it is free; -ENOSPC. fs_block_give() - Free it when
 * the operation is durable. */
int fs_block_take(struct annex_fs *fs, uint32_t goal, uint32_t *block);
int fs_block_give(struct annex_fs *fs, uint32_t block);

/*
 * fs_held_room() - Make room for the blocks that the operation frees.
 * fs_held_add() - Hold these blocks.
 * fs_held_free() - Free all held blocks.
 */
int fs_held_room(struct annex_fs *fs);
void fs_held_add(struct annex_fs *fs);
void fs_held_free(struct annex_fs *fs);

#endif

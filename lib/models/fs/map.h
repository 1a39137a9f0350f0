/* SPDX-License-Identifier: MIT */
/*
 * The block map of a file: a tree of blocks of pointers.
 */
#ifndef ANNEX_FS_MAP_H
#define ANNEX_FS_MAP_H

#include "fs.h"

#define FS_HEIGHT 4u /* FS_FAN^4 blocks are more than FS_BLOCKS_MAX */
#define FS_SIZE_MAX ((uint64_t)FS_BLOCKS_MAX * FS_BLOCK)

/* fs_map_has() - Whether a block is in the area for files. */
bool fs_map_has(const struct annex_fs *fs, uint32_t block);

/* fs_map_get() - Get the pointer to block @index of a file; 0: a hole. */
int fs_map_get(struct annex_fs *fs, const struct fs_node *n, uint32_t index, uint32_t *pointer);

/* fs_map_find() - The same; *@nodes: blocks for nodes that fs_map_set() would allocate. */
int fs_map_find(struct annex_fs *fs, const struct fs_node *n, uint32_t index, uint32_t *pointer,
		uint32_t *nodes);

/* fs_map_set() - Set that pointer, to another value than 0. */
int fs_map_set(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t pointer);

/*
 * fs_map_next() - Find the first block from *@index on, before @end, that is not a hole; without
 * any, *@index becomes @end.
 */
int fs_map_next(struct annex_fs *fs, const struct fs_node *n, uint32_t *index, uint32_t end,
		uint32_t *pointer);

/*
 * fs_map_most() - Blocks that one operation may allocate or free. Each of them can change two
 * blocks of metadata that no other one changes.
 */
uint32_t fs_map_most(const struct annex_fs *fs);

/* fs_map_cut() - Free blocks [@from, @end), up to fs_map_most(). *@more: some are left. */
int fs_map_cut(struct annex_fs *fs, struct fs_node *n, uint32_t from, uint32_t end, bool *more);

/* fs_map_pointer() - Pointer @i of a node with this payload. */
uint32_t fs_map_pointer(const uint8_t *payload, uint32_t i);

#endif

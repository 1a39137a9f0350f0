/* SPDX-License-Identifier: MIT */
/*
 * Operations that are tried in pairs, and file systems as they can be compared.
 */
#ifndef ANNEX_TESTS_FS_CUTS_H
#define ANNEX_TESTS_FS_CUTS_H

#include <annex/models/fs.h>

#define FS_CUTS_TEXT 8192u
#define FS_CUTS_BLOCKS 64u
#define FS_CUTS_OPS 19u

/* struct fs_cuts_block - @which: a hash of its path and its number; @n: bytes that the file has of
 * it. */
struct fs_cuts_block {
	uint32_t which, n;
	char data[ANNEX_FS_BLOCK];
};

/* struct fs_cuts_state - All names and attributes of a file system as text, and its data. */
struct fs_cuts_state {
	size_t n;
	char text[FS_CUTS_TEXT];
	unsigned int n_blocks;
	struct fs_cuts_block blocks[FS_CUTS_BLOCKS];
};

/* struct fs_cuts_op - @writes: it may not last. @touches: bits of files whose earlier writes last
 * then. */
struct fs_cuts_op {
	const char *name;
	int (*run)(struct annex_fs *fs);
	bool writes;
	unsigned int touches;
};

enum { FS_CUTS_F = 1, FS_CUTS_G = 2 };

/* They work on the files f and d/g and the empty directory e. The last one is fsync. */
extern const struct fs_cuts_op fs_cuts_ops[FS_CUTS_OPS];

/* fs_cuts_find() - A path; 0. */
uint32_t fs_cuts_find(struct annex_fs *fs, const char *path);
int fs_cuts_make(struct annex_fs *fs, uint32_t dir, const char *name, uint32_t mode);
int fs_cuts_write(struct annex_fs *fs, const char *path, uint64_t at, uint32_t n, int seed);

void fs_cuts_look(struct annex_fs *fs, struct fs_cuts_state *out);

#endif

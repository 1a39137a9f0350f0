/* SPDX-License-Identifier: MIT */
/*
 * Directories. On the device a name is a line of its own, or a few: the inode's number, its type
 * and the first bytes of the name, then 60 bytes a line. So that a name comes or goes by one line.
 * In memory a table finds names, and places for new ones.
 */
#ifndef ANNEX_FS_DIR_H
#define ANNEX_FS_DIR_H

#include "fs.h"

#define FS_DIR_FIRST 52u /* bytes of a name in its first line */
#define FS_DIR_LINES 5u  /* of the longest name */

enum fs_dir_kind { FS_DIR_END, FS_DIR_NAME, FS_DIR_FREE };

/*
 * struct fs_head - The first line of a name, or of lines that are free, @lines of them, no more
 * than the longest name has. Behind the last one of a block come lines of zeroes (FS_DIR_END), few
 * of them too but in the last block.
 */
struct fs_head {
	uint32_t ino;
	uint8_t type; /* S_IFMT bits >> 12 */
	uint8_t length;
	uint8_t lines;
	uint8_t kind;
};

/* struct fs_name - One of a directory's table. @at: its first line, counted from the directory's
 * first block on. */
struct fs_name {
	struct fs_name *next;
	uint32_t hash;
	uint32_t ino;
	uint32_t at;
	uint8_t type, lines, length;
	char text[];
};

/* fs_dir_head() - A payload's first bytes as a head. fs_dir_put_head() - The other way. */
struct fs_head fs_dir_head(const uint8_t *payload);
void fs_dir_put_head(uint8_t *payload, const struct fs_head *h);

void fs_dir_free(struct fs_dir *d);

/* fs_dir_begin() - A new directory gets its first block. */
int fs_dir_begin(struct annex_fs *fs, struct fs_node *n);

/* fs_dir_find() - The entry of a name; -ENOENT. It is good until the directory changes. */
int fs_dir_find(struct annex_fs *fs, struct fs_node *n, const char *text, struct fs_name **out);

/* fs_dir_add() - A name that is not there yet. fs_dir_remove() - It goes. fs_dir_set() - It is of
 * another file. */
int fs_dir_add(struct annex_fs *fs, struct fs_node *n, const char *text, uint32_t ino,
	       uint32_t mode);
int fs_dir_remove(struct annex_fs *fs, struct fs_node *n, struct fs_name *name);
int fs_dir_set(struct annex_fs *fs, struct fs_node *n, struct fs_name *name, uint32_t ino,
	       uint32_t mode);

/* fs_dir_empty() - Whether it has no names; a negative errno. */
int fs_dir_empty(struct annex_fs *fs, struct fs_node *n);

/* fs_dir_next() - The name at line *@at or behind it, of @n; *@at: behind that. 1, 0, an errno. */
int fs_dir_next(struct annex_fs *fs, struct fs_node *n, uint32_t *at, struct annex_fs_entry *out);

/* fs_dir_lines() - How many lines a name of that length takes. */
static inline uint32_t fs_dir_lines(uint32_t length)
{
	return length <= FS_DIR_FIRST ? 1
				      : 1 + (length - FS_DIR_FIRST + FS_PAYLOAD - 1) / FS_PAYLOAD;
}

#endif

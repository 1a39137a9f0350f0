/* SPDX-License-Identifier: MIT */
/*
 * Directories. On the device a name has one line or a few: the inode's number, its type and the
 * first bytes of the name, then 60 bytes a line. So one line adds or removes a name. In memory a
 * table finds names, and places for new names.
 */
#ifndef ANNEX_FS_DIR_H
#define ANNEX_FS_DIR_H

#include "fs.h"

#define FS_DIR_FIRST 52u /* bytes of a name in its first line */
#define FS_DIR_LINES 5u  /* lines of the longest name */

enum fs_dir_kind { FS_DIR_END, FS_DIR_NAME, FS_DIR_FREE };

/*
 * struct fs_head - The first line of a name, or of free lines. Lines of zeroes (FS_DIR_END) end a
 * block; except in the last block they are fewer than the longest name has.
 * @ino: inode number.
 * @type: S_IFMT bits >> 12.
 * @length: bytes of the name.
 * @lines: lines of the name, or free lines; at most FS_DIR_LINES.
 * @kind: an enum fs_dir_kind.
 */
struct fs_head {
	uint32_t ino;
	uint8_t type;
	uint8_t length;
	uint8_t lines;
	uint8_t kind;
};

/*
 * struct fs_name - An entry of a directory's table.
 * @next: next entry in its hash chain.
 * @hash: hash of the name.
 * @ino: inode number.
 * @at: number of its first line in the directory.
 * @type: S_IFMT bits >> 12.
 * @lines: number of lines.
 * @length: bytes of the name.
 * @text: the name.
 */
struct fs_name {
	struct fs_name *next;
	uint32_t hash;
	uint32_t ino;
	uint32_t at;
	uint8_t type, lines, length;
	char text[];
};

/* fs_dir_head() - Read a head from a payload. fs_dir_put_head() - Write it. */
struct fs_head fs_dir_head(const uint8_t *payload);
void fs_dir_put_head(uint8_t *payload, const struct fs_head *h);

void fs_dir_free(struct fs_dir *d);

/* fs_dir_begin() - Allocate the first block of a new directory. */
int fs_dir_begin(struct annex_fs *fs, struct fs_node *n);

/* fs_dir_find() - Find the entry of a name; -ENOENT. It is valid until the directory changes. */
int fs_dir_find(struct annex_fs *fs, struct fs_node *n, const char *text, struct fs_name **out);

/*
 * fs_dir_add() - Add a new name.
 * fs_dir_remove() - Remove a name.
 * fs_dir_set() - Assign a name to another file.
 */
int fs_dir_add(struct annex_fs *fs, struct fs_node *n, const char *text, uint32_t ino,
	       uint32_t mode);
int fs_dir_remove(struct annex_fs *fs, struct fs_node *n, struct fs_name *name);
int fs_dir_set(struct annex_fs *fs, struct fs_node *n, struct fs_name *name, uint32_t ino,
	       uint32_t mode);

/* fs_dir_empty() - Return: whether it has no names, or a negative errno. */
int fs_dir_empty(struct annex_fs *fs, struct fs_node *n);

/* fs_dir_next() - Get the first name at or after line *@at, and advance *@at. Return: 1; 0: no more
 * names; a negative errno. */
int fs_dir_next(struct annex_fs *fs, struct fs_node *n, uint32_t *at, struct annex_fs_entry *out);

/* fs_dir_lines() - Lines of a name of that length. */
static inline uint32_t fs_dir_lines(uint32_t length)
{
	return length <= FS_DIR_FIRST ? 1
				      : 1 + (length - FS_DIR_FIRST + FS_PAYLOAD - 1) / FS_PAYLOAD;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A small file system with something of each kind in it, which is damaged and checked.
 */
#ifndef ANNEX_TESTS_FS_CHECK_RIG_H
#define ANNEX_TESTS_FS_CHECK_RIG_H

#include "models/fs/fs.h"

#define FSCK_BYTES (16u << 20)
#define FSCK_URI "cxlssd:?size=16M&log=bytefs&durable=model"
#define FSCK_MANY 800u /* files of a directory that has a node in its map */

/* The inodes of its files. */
struct fsck_files {
	uint32_t a, b, tall, fast, dir, sub, c, deep, link, path, fifo, many, one;
};

extern struct fsck_files fsck;
extern struct fs_super fsck_super;

/* fsck_make() - The file system, on a new endpoint. fsck_file() - One more file. */
struct annex_cxlssd *fsck_make(const char *uri);
uint32_t fsck_file(struct annex_fs *fs, uint32_t parent, const char *name, uint32_t mode);
const char *fsck_long_name(char c);

/* fsck_walk() - Look at each file that has a name; how many there are. */
uint32_t fsck_walk(struct annex_cxlssd *s);

/* fsck_check() - Check; a problem is told in the words @want, if not NULL; no byte changes. */
struct annex_fs_report fsck_check(struct annex_cxlssd *s, const char *want);

/* Lines, with the checksum that they should have; bits that make it wrong. */
struct fs_line fsck_get_line(struct annex_cxlssd *s, uint32_t block, uint32_t line);
void fsck_put_line(struct annex_cxlssd *s, uint32_t block, uint32_t line, struct fs_line *l);
void fsck_flip(struct annex_cxlssd *s, uint32_t block, uint32_t bit);
void fsck_spoil(struct annex_cxlssd *s, uint32_t block, uint32_t line);

struct fs_inode fsck_get_inode(struct annex_cxlssd *s, uint32_t ino);
void fsck_put_inode(struct annex_cxlssd *s, uint32_t ino, const struct fs_inode *i);

/* Pointers of a node. fsck_set_pointer() - Return: the one that was there. */
uint32_t fsck_set_pointer(struct annex_cxlssd *s, uint32_t node, uint32_t i, uint32_t pointer);
uint32_t fsck_get_pointer(struct annex_cxlssd *s, uint32_t node, uint32_t i);

/* struct fsck_place - Where a name is. fsck_set_head() - It is of another file. */
struct fsck_place {
	uint32_t block, line;
};

struct fsck_place fsck_find(struct annex_cxlssd *s, uint32_t dir, const char *name);
void fsck_set_head(struct annex_cxlssd *s, struct fsck_place at, uint32_t ino, uint8_t type);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The superblock: line 0 has the layout, line 1 the first orphan.
 */
#ifndef ANNEX_FS_SUPER_H
#define ANNEX_FS_SUPER_H

#include "fs.h"

#define FS_MAGIC "annexfs"
#define FS_VERSION 1u

/* fs_super_plan() - Lay out a device of @blocks; -ENOSPC. */
int fs_super_plan(struct fs_super *s, uint64_t blocks, uint64_t inodes,
		  enum annex_fs_design design);

/* fs_super_pack() - Write its payload. fs_super_line() - Write line 0 of the one at @block. */
void fs_super_pack(const struct fs_super *s, uint8_t *payload);
void fs_super_line(const struct fs_super *s, uint32_t block, struct fs_line *out);

/* fs_super_load() - Read line 0 of block @block of a device with @blocks; -EILSEQ (no superblock),
 * -EPROTONOSUPPORT. */
int fs_super_load(struct fs_dev *d, uint32_t block, uint64_t blocks, struct fs_super *out);

/*
 * fs_super_orphan() - Get the first inode of the list of orphans. fs_super_set_orphan() - Set it.
 */
int fs_super_orphan(struct annex_fs *fs, uint32_t *ino);
int fs_super_set_orphan(struct annex_fs *fs, uint32_t ino);

#endif

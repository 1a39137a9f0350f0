/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_FILE_H
#define ANNEX_FS_FILE_H

#include "fs.h"

/* fs_file_sync() - All that is late of a file goes to the device. fs_files_sync() - Of all. */
int fs_file_sync(struct annex_fs *fs, struct fs_node *n);
int fs_files_sync(struct annex_fs *fs);

/* fs_file_cut() - Give back blocks from @from on, in several operations if they are many; the last
 * one is the caller's to end. */
int fs_file_cut(struct annex_fs *fs, struct fs_node *n, uint64_t from);

/* fs_file_resize() - A file gets another size, in operations of its own. */
int fs_file_resize(struct annex_fs *fs, struct fs_node *n, uint64_t size);

#endif

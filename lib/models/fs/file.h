/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_FILE_H
#define ANNEX_FS_FILE_H

#include "fs.h"

/*
 * fs_enter() - Begin a public call: take the lock. -EROFS: the call @changes something and the
 * mount is read-only; the lock is taken all the same.
 */
int fs_enter(struct annex_fs *fs, bool changes);

/*
 * fs_leave() - End a public call: end its operation, if any, and drop the lock. Return: @err, or
 * the error of the commit.
 */
int fs_leave(struct annex_fs *fs, int err);

/* fs_file_resize() - Change the size of a file, in operations of its own. */
int fs_file_resize(struct annex_fs *fs, struct fs_node *n, uint64_t size);

#endif

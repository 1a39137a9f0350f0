/* SPDX-License-Identifier: MIT */
/*
 * The beginning and the end of each public call.
 */
#ifndef ANNEX_FS_ENTER_H
#define ANNEX_FS_ENTER_H

#include "fs.h"

/* fs_enter() - Take the lock. -EROFS: the call @changes something, which is not allowed; the lock
 * is taken all the same. */
int fs_enter(struct annex_fs *fs, bool changes);

/* fs_leave() - End the operation, if there is one, and give the lock back. Return: @err, or why the
 * operation was not committed. */
int fs_leave(struct annex_fs *fs, int err);

#endif

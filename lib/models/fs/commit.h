/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_COMMIT_H
#define ANNEX_FS_COMMIT_H

#include "op.h"

/* fs_op_end() - Commit when @err is 0, else undo. Return: @err, or why it was not committed: then
 * all is as before. -E2BIG: the device cannot take so many lines together. */
int fs_op_end(struct annex_fs *fs, int err);

/* fs_commit() - All operations that have ended last, and blocks that they gave back are free.
 * fs_commit_room() - Do so when blocks are short and that gives some back. */
int fs_commit(struct annex_fs *fs);
int fs_commit_room(struct annex_fs *fs);

#endif

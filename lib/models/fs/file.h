/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_FILE_H
#define ANNEX_FS_FILE_H

#include "fs.h"

/* fs_file_resize() - A file gets another size, in operations of its own. */
int fs_file_resize(struct annex_fs *fs, struct fs_node *n, uint64_t size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_ORPHAN_H
#define ANNEX_FS_ORPHAN_H

#include "fs.h"

/* fs_file_sync() - All that is late of a file goes to the device. fs_files_sync() - Of all: it goes
 * on behind a file with an error. */
int fs_file_sync(struct annex_fs *fs, struct fs_node *n);
int fs_files_sync(struct annex_fs *fs);

/* fs_file_cut() - Give back blocks from @from on, in several operations if they are many; the last
 * one is the caller's to end. */
int fs_file_cut(struct annex_fs *fs, struct fs_node *n, uint64_t from);

/* fs_nodes_trim() - When there are too many files that nobody refers to, write the oldest back, and
 * forget them. A file that cannot be written back is kept. */
void fs_nodes_trim(struct annex_fs *fs);

/* fs_node_end() - Give back all that a file has: nobody knows it any more. */
int fs_node_end(struct annex_fs *fs, struct fs_node *n);

/* fs_node_die() - The same later, with others; a warning tells of those that cannot be freed.
 * fs_dead_end() - Now. fs_dead_room() - When blocks or inodes are short. fs_blocks_free() - Blocks
 * get free that such files have, that claims count too often, or that operations gave back. */
void fs_node_die(struct annex_fs *fs, struct fs_node *n);
int fs_dead_end(struct annex_fs *fs);
void fs_dead_room(struct annex_fs *fs);
int fs_blocks_free(struct annex_fs *fs);

/* fs_orphan_add() - Put a file into the list of those that are to be ended when a crash comes.
 * fs_orphan_remove() - Take it out. fs_orphans_end() - End all of it, at a mount. */
int fs_orphan_add(struct annex_fs *fs, struct fs_node *n);
int fs_orphan_remove(struct annex_fs *fs, struct fs_node *n);
int fs_orphans_end(struct annex_fs *fs);

#endif

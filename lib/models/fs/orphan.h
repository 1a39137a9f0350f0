/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_ORPHAN_H
#define ANNEX_FS_ORPHAN_H

#include "fs.h"

/* fs_file_sync() - Write a file back. fs_files_sync() - Write all files back; continue after an
 * error of a file. */
int fs_file_sync(struct annex_fs *fs, struct fs_node *n);
int fs_files_sync(struct annex_fs *fs);

/*
 * fs_file_cut() - Free blocks from @from on, in several operations if they are many; the caller
 * ends the last one.
 */
int fs_file_cut(struct annex_fs *fs, struct fs_node *n, uint64_t from);

/* fs_nodes_trim() - Write back and drop the oldest idle files when there are too many. Keep a file
 * that cannot be written back. */
void fs_nodes_trim(struct annex_fs *fs);

/* fs_node_end() - Delete a file without names and references. */
int fs_node_end(struct annex_fs *fs, struct fs_node *n);

/*
 * fs_node_die() - Delete a file later, in a batch; log a warning if that fails.
 * fs_dead_end() - Delete the batch.
 * fs_dead_room() - Delete the batch if blocks or inodes are short.
 * fs_blocks_free() - Make blocks free: delete the batch, write files back to drop the excess of
 * their claims, and commit.
 */
void fs_node_die(struct annex_fs *fs, struct fs_node *n);
int fs_dead_end(struct annex_fs *fs);
void fs_dead_room(struct annex_fs *fs);
int fs_blocks_free(struct annex_fs *fs);

/*
 * fs_orphan_add() - Add a file to the list of orphans, which the next mount deletes or truncates.
 * fs_orphan_remove() - Remove it from the list.
 * fs_orphans_end() - Process the list, at a mount.
 */
int fs_orphan_add(struct annex_fs *fs, struct fs_node *n);
int fs_orphan_remove(struct annex_fs *fs, struct fs_node *n);
int fs_orphans_end(struct annex_fs *fs);

#endif

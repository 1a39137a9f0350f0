/* SPDX-License-Identifier: MIT */
/*
 * Files that are in use, and their inodes.
 */
#ifndef ANNEX_FS_NODE_H
#define ANNEX_FS_NODE_H

#include "fs.h"

#define FS_NODE_CHAINS 4096u

int fs_nodes_init(struct fs_nodes *t);
void fs_nodes_free(struct annex_fs *fs);

/* fs_nodes_trim() - Write back files that nobody refers to, and forget them, oldest first; @all of
 * them, or as many as there are too many. */
int fs_nodes_trim(struct annex_fs *fs, bool all);

/* fs_node_get() - A file; -ESTALE: there is none. fs_node_hold() - A reference to it. */
int fs_node_get(struct annex_fs *fs, uint32_t ino, struct fs_node **out);
void fs_node_hold(struct annex_fs *fs, struct fs_node *n);

/* fs_node_drop() - @n references fewer. Whether it was the last one. */
bool fs_node_drop(struct annex_fs *fs, struct fs_node *node, uint64_t n);

/* fs_node_new() - Take an inode for a file. fs_node_end() - Give back all that it has: nobody knows
 * it any more. */
int fs_node_new(struct annex_fs *fs, const struct annex_fs_new *what, struct fs_node **out);
int fs_node_end(struct annex_fs *fs, struct fs_node *n);

/* fs_node_change() - The operation changes the inode. Earlier writes to the file go with it, so
 * that a size is never there before its bytes. */
int fs_node_change(struct annex_fs *fs, struct fs_node *n);

/* fs_node_pack() - The inode goes to its lines of the table. */
int fs_node_pack(struct annex_fs *fs, struct fs_node *n);

/* fs_node_lines() - Where an inode's first line is: block and line. fs_inode_unpack() - Two
 * payloads become an inode. */
void fs_node_lines(const struct fs_super *s, uint32_t ino, uint32_t *block, uint32_t *line);
void fs_inode_unpack(struct fs_inode *i, const uint8_t *first, const uint8_t *second);
void fs_inode_pack(const struct fs_inode *i, uint8_t *first, uint8_t *second);

/* fs_orphan_add() - Put a file into the list of those that are to be ended when a crash comes.
 * fs_orphan_remove() - Take it out. fs_orphans_end() - End all of it, at a mount. */
int fs_orphan_add(struct annex_fs *fs, struct fs_node *n);
int fs_orphan_remove(struct annex_fs *fs, struct fs_node *n);
int fs_orphans_end(struct annex_fs *fs);

void fs_node_attr(const struct fs_node *n, struct annex_fs_attr *out);
uint64_t fs_now(void);

#endif

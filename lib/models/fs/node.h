/* SPDX-License-Identifier: MIT */
/*
 * Files in use, and their inodes.
 */
#ifndef ANNEX_FS_NODE_H
#define ANNEX_FS_NODE_H

#include "fs.h"

#define FS_NODE_CHAINS 4096u

int fs_nodes_init(struct fs_nodes *t);
void fs_nodes_free(struct annex_fs *fs);

/*
 * fs_node_any() - Find a file; -ESTALE: no such file.
 * fs_node_get() - Find a file that is not dead.
 * fs_node_hold() - Take a reference to it.
 */
int fs_node_any(struct annex_fs *fs, uint32_t ino, struct fs_node **out);
int fs_node_get(struct annex_fs *fs, uint32_t ino, struct fs_node **out);
void fs_node_hold(struct annex_fs *fs, struct fs_node *n);

/* fs_node_drop() - Drop @n references. Return: whether none is left. */
bool fs_node_drop(struct annex_fs *fs, struct fs_node *node, uint64_t n);

/* fs_node_new() - Allocate an inode. fs_node_give() - Free a node without changes to write back. */
int fs_node_new(struct annex_fs *fs, const struct annex_fs_new *what, struct fs_node **out);
void fs_node_give(struct annex_fs *fs, struct fs_node *n);

/* fs_node_pack() - Write the inode to its lines of the table. */
int fs_node_pack(struct annex_fs *fs, struct fs_node *n);

/*
 * fs_node_lines() - Find the block and the line of an inode's first line.
 * fs_inode_unpack() - Read an inode from two payloads.
 * fs_inode_pack() - Write an inode to two payloads.
 */
void fs_node_lines(const struct fs_super *s, uint32_t ino, uint32_t *block, uint32_t *line);
void fs_inode_unpack(struct fs_inode *i, const uint8_t *first, const uint8_t *second);
void fs_inode_pack(const struct fs_inode *i, uint8_t *first, uint8_t *second);

void fs_node_attr(const struct fs_node *n, struct annex_fs_attr *out);

#endif

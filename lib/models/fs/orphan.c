// SPDX-License-Identifier: MIT
/*
 * Write-back of files, eviction of idle files, and deletion of files without a name.
 */
#include <errno.h>
#include <sys/stat.h>
#include "core/log.h"
#include "bitmap.h"
#include "dir.h"
#include "map.h"
#include "node.h"
#include "op.h"
#include "orphan.h"
#include "page.h"
#include "super.h"

#define IDLE 1024u   /* cached files without references */
#define LARGE 1024u  /* lines that end an operation */
#define TOGETHER 32u /* files deleted in one operation */
#define SCARCE 1024u /* free blocks */

int fs_file_sync(struct annex_fs *fs, struct fs_node *n)
{
	if (!n->late && !n->n_dirty)
		return 0;
	return fs_op_end(fs, fs_node_change(fs, n));
}

/* Write back many files in one operation. No file leaves the list meanwhile. */
static int sync_together(struct annex_fs *fs)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < FS_NODE_CHAINS; i++) {
		for (struct fs_node *n = fs->nodes.chains[i]; !err && n; n = n->next) {
			if (n->late || n->n_dirty)
				err = fs_node_change(fs, n);
			if (!err && fs->op.n_undo + fs->op.n_lines > LARGE)
				err = fs_op_end(fs, 0);
		}
	}
	return fs_op_end(fs, err);
}

/* A journal collects operations. Continue after an error of a file, and return the first error. */
int fs_files_sync(struct annex_fs *fs)
{
	int first = 0;

	if (!fs->super.n_journal && !sync_together(fs))
		return 0;
	for (uint32_t i = 0; i < FS_NODE_CHAINS; i++) {
		for (struct fs_node *n = fs->nodes.chains[i]; n; n = n->next) {
			int err = fs_file_sync(fs, n);

			first = first ? first : err;
		}
	}
	return first;
}

int fs_file_cut(struct annex_fs *fs, struct fs_node *n, uint64_t from)
{
	bool more = true;
	int err = 0;

	while (!err && more) {
		err = from > FS_BLOCKS_MAX ? 0
					   : fs_map_cut(fs, n, (uint32_t)from, UINT32_MAX, &more);
		if (from > FS_BLOCKS_MAX)
			break;
		if (!err && more)
			err = fs_op_end(fs, 0);
	}
	return err;
}

void fs_nodes_trim(struct annex_fs *fs)
{
	struct fs_node *n, *newer;

	if (fs->nodes.n_idle > IDLE)
		fs_dead_end(fs);
	for (n = fs->nodes.oldest; n && fs->nodes.n_idle > IDLE; n = newer) {
		newer = n->newer;
		if (!fs_file_sync(fs, n))
			fs_node_give(fs, n);
	}
}

/* Drop pages and names of a deleted file. */
static void forget_data(struct annex_fs *fs, struct fs_node *n)
{
	fs_pages_cut(fs, n, 0, UINT32_MAX);
	n->late = false;
	fs_dir_free(n->dir);
	n->dir = NULL;
}

int fs_orphan_add(struct annex_fs *fs, struct fs_node *n)
{
	uint32_t first;
	int err;

	if (n->i.flags & FS_ORPHAN)
		return 0;
	err = fs_super_orphan(fs, &first);
	if (!err)
		err = fs_op_node(fs, n);
	if (err)
		return err;
	n->i.flags |= FS_ORPHAN;
	n->i.orphan = first;
	return fs_super_set_orphan(fs, n->ino);
}

int fs_orphan_remove(struct annex_fs *fs, struct fs_node *n)
{
	struct fs_node *before = NULL;
	uint32_t ino;
	int err;

	if (!(n->i.flags & FS_ORPHAN))
		return 0;
	err = fs_super_orphan(fs, &ino);
	/* A list that does not lead to this file, or has a cycle, is damaged. */
	for (uint32_t left = fs->super.inodes; !err && ino != n->ino; ino = before->i.orphan) {
		if (!left--)
			return annex_fail(-EIO, "file system: the list of orphans is damaged");
		err = fs_node_any(fs, ino, &before);
		if (err)
			return err;
	}
	if (!err && before)
		err = fs_op_node(fs, before);
	if (!err)
		err = fs_op_node(fs, n);
	if (err)
		return err;
	if (before)
		before->i.orphan = n->i.orphan;
	else
		err = fs_super_set_orphan(fs, n->i.orphan);
	n->i.flags &= (uint8_t)~FS_ORPHAN;
	n->i.orphan = 0;
	return err;
}

/* Free a file's blocks, in several operations if they are many; the caller ends the last one. */
static int delete_file(struct annex_fs *fs, struct fs_node *n)
{
	int err = 0;

	forget_data(fs, n);
	/* A short link has its target in place of a map. */
	if (!S_ISLNK(n->i.mode) || n->i.size > FS_INLINE)
		err = fs_file_cut(fs, n, 0);
	if (!err && n->i.xattr)
		err = fs_block_give(fs, n->i.xattr);
	if (!err)
		err = fs_orphan_remove(fs, n);
	if (!err)
		err = fs_op_node(fs, n);
	if (!err)
		err = fs_inode_give(fs, n->ino);
	if (!err)
		n->i = (struct fs_inode){0};
	return err;
}

int fs_node_end(struct annex_fs *fs, struct fs_node *n)
{
	return fs_op_end(fs, delete_file(fs, n));
}

void fs_node_die(struct annex_fs *fs, struct fs_node *n)
{
	struct fs_nodes *t = &fs->nodes;

	if (n->dead)
		return;
	forget_data(fs, n);
	n->dead = true;
	n->next_dead = t->dead;
	t->dead = n;
	if (++t->n_dead >= TOGETHER)
		fs_dead_end(fs);
}

static bool may_end(const struct fs_node *n)
{
	return !n->refs && n->i.mode && !n->i.nlink;
}

/* If freeing fails the orphan keeps its blocks; unlink() does not report it. */
static int end_alone(struct annex_fs *fs, struct fs_node *n)
{
	int err = may_end(n) ? fs_node_end(fs, n) : 0;

	if (err)
		annex_log(ANNEX_LOG_WARNING,
			  "file system: inode %u has no name any more, and cannot be freed: run "
			  "fsck",
			  n->ino);
	return err;
}

/* Delete in the order of the list of orphans: the last file added is the first. */
int fs_dead_end(struct annex_fs *fs)
{
	struct fs_nodes *t = &fs->nodes;
	struct fs_node *all[TOGETHER];
	uint32_t n = 0;
	int err = 0, late = 0;

	if (!t->dead)
		return 0;
	for (; t->dead; t->dead = t->dead->next_dead, t->n_dead--) {
		t->dead->dead = false;
		all[n++] = t->dead;
	}
	for (uint32_t i = 0; !err && i < n; i++) {
		if (may_end(all[i]))
			err = delete_file(fs, all[i]);
		if (!err && fs->op.n_undo > (fs->super.n_journal ? FS_OP_BLOCKS / 2 : LARGE))
			err = fs_op_end(fs, 0);
	}
	err = fs_op_end(fs, err);
	for (uint32_t i = 0; err && i < n; i++) {
		int one = end_alone(fs, all[i]);

		late = late ? late : one;
	}
	return late;
}

void fs_dead_room(struct annex_fs *fs)
{
	if (fs->blocks.free < fs->reserved + SCARCE || fs->inodes.free < TOGETHER)
		fs_dead_end(fs);
}

/* Errors of other files are reported by their own calls. */
int fs_blocks_free(struct annex_fs *fs)
{
	fs_files_sync(fs);
	fs_dead_end(fs);
	return fs_commit(fs);
}

/* Process an orphan: free blocks beyond its size if it has names, else delete it. */
static int end_one(struct annex_fs *fs, struct fs_node *n)
{
	int err;

	if (!n->i.nlink)
		return fs_node_end(fs, n);
	err = fs_file_cut(fs, n, (n->i.size + FS_BLOCK - 1) / FS_BLOCK);
	return fs_op_end(fs, err ? err : fs_orphan_remove(fs, n));
}

int fs_orphans_end(struct annex_fs *fs)
{
	struct fs_node *n;
	uint32_t ino;
	int err;

	do {
		err = fs_super_orphan(fs, &ino);
		if (err || !ino)
			return err;
		err = fs_node_any(fs, ino, &n);
		if (err || !(n->i.flags & FS_ORPHAN))
			return annex_fail(-EIO,
					  "file system: the list of orphans is damaged; run fsck");
		err = end_one(fs, n);
	} while (!err);
	return err;
}

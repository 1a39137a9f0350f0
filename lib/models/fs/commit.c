// SPDX-License-Identifier: MIT
/*
 * The commit of an operation.
 */
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "dir.h"
#include "journal.h"
#include "node.h"
#include "op.h"
#include "page.h"

#define SCARCE 1024u /* free blocks; a write of 1 MiB can need 512 */

/* Write inodes to their lines of the table. */
static int pack_nodes(struct annex_fs *fs)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < fs->op.n_undo; i++)
		if (fs->op.undo[i].kind == FS_UNDO_NODE)
			err = fs_node_pack(fs, fs->op.undo[i].node);
	return err;
}

/* Store the changed lines of a buffer, run by run. */
static int store_lines(struct annex_fs *fs, struct annex_cxlssd_tx *tx, struct fs_buf *b)
{
	int err = 0;

	while (!err && b->dirty) {
		const uint32_t first = (uint32_t)__builtin_ctzll(b->dirty);
		uint32_t end = first;

		for (; end < FS_LINES && b->dirty >> end & 1; end++) {
			b->lines[end].crc = fs_line_sum(&b->lines[end], b->block, end);
			b->dirty &= ~(1ull << end);
		}
		err = fs_dev_store(&fs->dev, tx, b->class,
				   ((uint64_t)b->block * FS_LINES + first) * FS_LINE,
				   &b->lines[first], (size_t)(end - first) * FS_LINE);
	}
	return err;
}

static int store_all(struct annex_fs *fs, struct annex_cxlssd_tx *tx)
{
	struct fs_op *op = &fs->op;
	int err = 0;

	for (uint32_t i = 0; !err && i < op->n_undo; i++)
		if (op->undo[i].kind == FS_UNDO_LINE)
			err = store_lines(fs, tx, op->undo[i].buf);
	for (uint32_t i = 0; !err && i < op->n_stores; i++)
		err = fs_dev_store(&fs->dev, tx, ANNEX_FS_DATA, op->stores[i].at,
				   op->stores[i].from, op->stores[i].bytes);
	return err;
}

static int commit(struct annex_fs *fs)
{
	struct annex_cxlssd_tx *tx;
	int err = fs_held_room(fs);

	for (uint32_t i = 0; !err && i < fs->op.n_fresh; i++)
		err = fs_dev_trim(&fs->dev, fs->op.fresh[i], 1);
	if (!err)
		err = fs_dev_begin(&fs->dev, &tx);
	if (err)
		return err;
	err = store_all(fs, tx);
	if (!err)
		return fs_dev_commit(&fs->dev, tx, false);
	annex_cxlssd_abort(tx);
	return err;
}

static void undo_one(struct annex_fs *fs, struct fs_undo *u)
{
	switch (u->kind) {
	case FS_UNDO_LINE:
		u->buf->lines[u->line] = u->was;
		u->buf->dirty &= ~(1ull << u->line);
		break;
	case FS_UNDO_NODE:
		u->node->i = u->inode;
		u->node->late = u->late;
		/* The next use reads it from the device. */
		fs_dir_free(u->node->dir);
		u->node->dir = NULL;
		break;
	case FS_UNDO_PAGES:
		u->node->writing = false;
		fs->reserved += u->node->claim.blocks;
		break;
	case FS_UNDO_BIT:
		fs_bitmap_mark(u->map, u->bit, !u->taken);
	}
}

/* Drop buffers of new blocks, which hold nothing valid. */
static void undo(struct annex_fs *fs)
{
	struct fs_op *op = &fs->op;

	for (uint32_t i = op->n_undo; i--;)
		undo_one(fs, &op->undo[i]);
	for (uint32_t i = 0; i < op->n_fresh; i++)
		fs_buf_drop(fs, op->fresh[i]);
}

/*
 * After the commit, or the join of a journal: mark pages as clean. Without a journal, hold freed
 * blocks, or free them if the device does not wait.
 */
static void finish(struct annex_fs *fs)
{
	struct fs_op *op = &fs->op;

	for (uint32_t i = 0; i < op->n_undo; i++)
		if (op->undo[i].kind == FS_UNDO_PAGES)
			fs_pages_clean(fs, op->undo[i].node);
	if (fs->super.n_journal)
		return;
	fs_held_add(fs);
	if (!annex_cxlssd_waits(fs->dev.s))
		fs_held_free(fs);
}

int fs_op_end(struct annex_fs *fs, int err)
{
	struct fs_op *op = &fs->op;

	if (!err && (op->n_undo || op->n_stores || op->n_fresh)) {
		err = pack_nodes(fs);
		if (!err)
			err = fs->super.n_journal ? fs_journal_join(fs) : commit(fs);
	}
	if (err)
		undo(fs);
	else
		finish(fs);
	for (uint32_t i = 0; i < op->n_undo; i++)
		if (op->undo[i].kind == FS_UNDO_NODE)
			op->undo[i].node->noted = false;
	op->n_undo = op->n_stores = op->n_lines = op->n_freed = op->n_fresh = 0;
	fs_bufs_trim(&fs->bufs);
	if (!err && fs->bufs.n_joined > fs->super.n_journal / 4)
		err = fs_journal_commit(fs);
	return err;
}

int fs_commit(struct annex_fs *fs)
{
	int err;

	if (fs->super.n_journal)
		return fs_journal_commit(fs);
	err = annex_cxlssd_waits(fs->dev.s) ? fs_dev_fence(&fs->dev) : 0;
	if (!err)
		fs_held_free(fs);
	return err;
}

int fs_commit_room(struct annex_fs *fs)
{
	return fs->held.n && fs->blocks.free < fs->reserved + SCARCE ? fs_commit(fs) : 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "op.h"

/* Make room for one more element; @at points to the pointer to the array. */
static int grow(void *at, uint32_t n, uint32_t *room, size_t size)
{
	void **array = at, *more;
	uint32_t most = *room ? *room * 2 : 16;

	if (n < *room)
		return 0;
	more = reallocarray(*array, most, size);
	if (!more)
		return annex_fail(-ENOMEM, "file system: out of memory");
	*array = more;
	*room = most;
	return 0;
}

void fs_op_free(struct fs_op *op)
{
	free(op->undo);
	free(op->stores);
	free(op->freed);
	free(op->fresh);
}

static int note(struct annex_fs *fs, const struct fs_undo *u)
{
	struct fs_op *op = &fs->op;
	int err = grow(&op->undo, op->n_undo, &op->room_undo, sizeof(*op->undo));

	if (!err)
		op->undo[op->n_undo++] = *u;
	return err;
}

int fs_op_line(struct annex_fs *fs, struct fs_buf *b, uint32_t line)
{
	struct fs_undo u = {.kind = FS_UNDO_LINE};
	int err;

	u.buf = b;
	u.line = line;
	u.was = b->lines[line];
	err = note(fs, &u);
	if (!err)
		b->dirty |= 1ull << line;
	return err;
}

int fs_op_node(struct annex_fs *fs, struct fs_node *n)
{
	struct fs_undo u = {.kind = FS_UNDO_NODE};

	if (n->noted)
		return 0;
	u.node = n;
	u.late = n->late;
	u.inode = n->i;
	n->noted = true;
	return note(fs, &u);
}

int fs_op_pages(struct annex_fs *fs, struct fs_node *n)
{
	struct fs_undo u = {.kind = FS_UNDO_PAGES};

	u.node = n;
	return note(fs, &u);
}

int fs_op_bit(struct annex_fs *fs, struct fs_bitmap *m, uint32_t bit, bool taken)
{
	struct fs_undo u = {.kind = FS_UNDO_BIT};

	u.map = m;
	u.bit = bit;
	u.taken = taken;
	return note(fs, &u);
}

int fs_op_freed(struct annex_fs *fs, uint32_t block)
{
	struct fs_op *op = &fs->op;
	int err = grow(&op->freed, op->n_freed, &op->room_freed, sizeof(*op->freed));

	if (!err)
		op->freed[op->n_freed++] = block;
	return err;
}

int fs_op_fresh(struct annex_fs *fs, uint32_t block)
{
	struct fs_op *op = &fs->op;
	int err = grow(&op->fresh, op->n_fresh, &op->room_fresh, sizeof(*op->fresh));

	if (!err)
		op->fresh[op->n_fresh++] = block;
	return err;
}

int fs_op_store(struct annex_fs *fs, uint64_t at, const void *from, uint32_t bytes)
{
	struct fs_op *op = &fs->op;
	int err = grow(&op->stores, op->n_stores, &op->room_stores, sizeof(*op->stores));

	if (err)
		return err;
	op->stores[op->n_stores++] = (struct fs_store){at, from, bytes};
	op->n_lines += (bytes + FS_LINE - 1) / FS_LINE;
	return 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "bitmap.h"
#include "buf.h"
#include "map.h"
#include "op.h"

bool fs_map_has(const struct annex_fs *fs, uint32_t block)
{
	return block >= fs->super.data && block < fs->super.blocks - 1;
}

/* Blocks below a pointer of a node at that height. */
static uint64_t span(unsigned int height)
{
	uint64_t n = 1;

	while (height-- > 1)
		n *= FS_FAN;
	return n;
}

uint32_t fs_map_pointer(const uint8_t *payload, uint32_t i)
{
	const uint8_t *p = payload + i % FS_POINTERS * 4;

	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static int read_pointer(struct annex_fs *fs, uint32_t node, uint32_t i, uint32_t *pointer)
{
	const uint8_t *payload;
	struct fs_buf *b;
	int err = fs_buf_get(fs, node, ANNEX_FS_MAP, &b);

	if (!err)
		err = fs_line(b, i / FS_POINTERS, &payload);
	if (err)
		return err;
	*pointer = fs_map_pointer(payload, i);
	if (!*pointer || fs_map_has(fs, *pointer & ~FS_UNWRITTEN))
		return 0;
	return annex_fail(-EIO, "file system: block %u is damaged: it points nowhere", node);
}

static int write_pointer(struct annex_fs *fs, uint32_t node, uint32_t i, uint32_t pointer)
{
	uint8_t *payload;
	struct fs_buf *b;
	int err = fs_buf_get(fs, node, ANNEX_FS_MAP, &b);

	if (!err)
		err = fs_line_change(fs, b, i / FS_POINTERS, &payload);
	for (unsigned int k = 0; !err && k < 4; k++)
		payload[i % FS_POINTERS * 4 + k] = (uint8_t)(pointer >> 8 * k);
	return err;
}

/* Whether a tree of that height has block @index. */
static bool reaches(unsigned int height, uint32_t index)
{
	return height ? index < span(height) * FS_FAN : index < FS_DIRECT;
}

int fs_map_find(struct annex_fs *fs, const struct fs_node *n, uint32_t index, uint32_t *pointer,
		uint32_t *nodes)
{
	unsigned int h = n->i.height;
	uint32_t at;
	int err = 0;

	*pointer = 0;
	while (!reaches(h, index))
		h++;
	/* Nodes for each new level, and the nodes below the new root on the path to the block. */
	*nodes = h - n->i.height + (h ? h - 1 : 0);
	if (h > n->i.height)
		return 0;
	at = n->i.map[h ? 0 : index];
	for (; !err && h && at; h--)
		err = read_pointer(fs, at, (uint32_t)(index / span(h) % FS_FAN), &at);
	*pointer = err ? 0 : at;
	*nodes = h;
	return err;
}

int fs_map_get(struct annex_fs *fs, const struct fs_node *n, uint32_t index, uint32_t *pointer)
{
	uint32_t nodes;

	return fs_map_find(fs, n, index, pointer, &nodes);
}

uint32_t fs_map_most(const struct annex_fs *fs)
{
	return fs->super.n_journal ? FS_FAN / 8 : FS_FAN;
}

/* Allocate a block for a node. */
static int new_node(struct annex_fs *fs, struct fs_node *n, uint32_t *block)
{
	struct fs_buf *b;
	int err = fs_block_take(fs, n->goal, block);

	if (!err)
		err = fs_buf_new(fs, *block, ANNEX_FS_MAP, &b);
	if (!err)
		n->i.blocks++;
	return err;
}

/* Grow the tree by a node, which takes over the pointers of the inode. */
static int grow(struct annex_fs *fs, struct fs_node *n)
{
	const uint32_t had = n->i.height ? 1 : FS_DIRECT;
	uint32_t root;
	int err = new_node(fs, n, &root);

	for (uint32_t i = 0; !err && i < had; i++)
		if (n->i.map[i])
			err = write_pointer(fs, root, i, n->i.map[i]);
	if (err)
		return err;
	memset(n->i.map, 0, sizeof(n->i.map));
	n->i.map[0] = root;
	n->i.height++;
	return 0;
}

int fs_map_set(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t pointer)
{
	uint32_t at, next;
	int err = fs_op_node(fs, n);

	while (!err && !reaches(n->i.height, index))
		err = grow(fs, n);
	if (err)
		return err;
	if (!n->i.height) {
		n->i.map[index] = pointer;
		return 0;
	}
	if (!n->i.map[0])
		err = new_node(fs, n, &n->i.map[0]);
	at = n->i.map[0];
	for (unsigned int h = n->i.height; !err && h > 1; h--, at = next) {
		const uint32_t i = (uint32_t)(index / span(h) % FS_FAN);

		err = read_pointer(fs, at, i, &next);
		if (!err && !next) {
			err = new_node(fs, n, &next);
			if (!err)
				err = write_pointer(fs, at, i, next);
		}
	}
	return err ? err : write_pointer(fs, at, index % FS_FAN, pointer);
}

int fs_map_next(struct annex_fs *fs, const struct fs_node *n, uint32_t *index, uint32_t end,
		uint32_t *pointer)
{
	int err = 0;

	*pointer = 0;
	while (!err && *index < end && reaches(n->i.height, *index)) {
		uint32_t at = n->i.map[n->i.height ? 0 : *index];
		unsigned int h = n->i.height;

		for (; !err && h && at; h--)
			err = read_pointer(fs, at, (uint32_t)(*index / span(h) % FS_FAN), &at);
		if (err)
			break;
		if (at && !h) {
			*pointer = at;
			return 0;
		}
		/* Nothing below this pointer: skip it. */
		h = n->i.height ? h + 1 : 1;
		if (span(h) * (*index / span(h) + 1) >= end)
			break;
		*index = (uint32_t)(span(h) * (*index / span(h) + 1));
	}
	*index = end;
	return err;
}

/* struct cut - State of fs_map_cut(). @left: blocks that it may still free. */
struct cut {
	struct annex_fs *fs;
	struct fs_node *n;
	uint32_t from, end;
	uint32_t left;
};

static int give(struct cut *c, uint32_t pointer)
{
	c->n->i.blocks--;
	c->left--;
	return fs_block_give(c->fs, pointer & ~FS_UNWRITTEN);
}

/* Cut below a node whose first block is @base. *@empty: no pointers are left. */
static int cut_node(struct cut *c, uint32_t node, unsigned int height, uint64_t base, bool *empty)
{
	int err = 0;

	*empty = true;
	for (uint32_t i = 0; !err && i < FS_FAN; i++) {
		const uint64_t first = base + i * span(height), behind = first + span(height);
		uint32_t pointer;
		bool gone = true;

		err = read_pointer(c->fs, node, i, &pointer);
		if (err || !pointer)
			continue;
		if (behind <= c->from || first >= c->end || !c->left) {
			*empty = false;
			continue;
		}
		if (height > 1)
			err = cut_node(c, pointer, height - 1, first, &gone);
		if (!gone || !c->left) {
			*empty = false;
			continue;
		}
		if (!err)
			err = give(c, pointer);
		if (!err)
			err = write_pointer(c->fs, node, i, 0);
	}
	return err;
}

int fs_map_cut(struct annex_fs *fs, struct fs_node *n, uint32_t from, uint32_t end, bool *more)
{
	struct cut c = {fs, n, from, end, fs_map_most(fs)};
	bool empty = false;
	int err = fs_op_node(fs, n);

	*more = false;
	if (err)
		return err;
	if (n->i.height && n->i.map[0]) {
		err = cut_node(&c, n->i.map[0], n->i.height, 0, &empty);
		if (!err && empty && c.left) {
			err = give(&c, n->i.map[0]);
			n->i.map[0] = 0;
			n->i.height = 0;
		}
	}
	for (uint32_t i = from; !err && !n->i.height && i < FS_DIRECT && i < end; i++) {
		if (!n->i.map[i])
			continue;
		err = give(&c, n->i.map[i]);
		n->i.map[i] = 0;
	}
	*more = !c.left;
	return err;
}

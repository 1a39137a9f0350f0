// SPDX-License-Identifier: MIT
/*
 * Bitmaps of used inodes and blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/log.h"
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "op.h"

static int load_line(struct annex_fs *fs, struct fs_bitmap *m, uint32_t line)
{
	const uint8_t *payload;
	struct fs_buf *b;
	int err = fs_buf_get(fs, m->start + line / FS_LINES, ANNEX_FS_BITMAP, &b);

	if (!err)
		err = fs_line(b, line % FS_LINES, &payload);
	for (uint32_t i = 0; !err && i < FS_BITS && line * FS_BITS + i < m->n; i++)
		if (payload[i / 8] >> i % 8 & 1)
			fs_bitmap_mark(m, line * FS_BITS + i, true);
	return err;
}

int fs_bitmap_load(struct annex_fs *fs, struct fs_bitmap *m, uint32_t start, uint32_t n)
{
	int err = 0;

	m->start = start;
	m->n = m->free = n;
	m->bits = calloc(n / 64 + 1, sizeof(*m->bits));
	if (!m->bits)
		return annex_fail(-ENOMEM, "file system: out of memory");
	for (uint32_t line = 0; !err && line <= (n - 1) / FS_BITS; line++) {
		err = load_line(fs, m, line);
		if (line % FS_LINES == 0)
			fs_bufs_trim(&fs->bufs);
	}
	return err;
}

void fs_bitmap_free(struct fs_bitmap *m)
{
	free(m->bits);
}

void fs_bitmap_mark(struct fs_bitmap *m, uint32_t bit, bool taken)
{
	const uint64_t one = 1ull << bit % 64;

	if (fs_bitmap_taken(m, bit) == taken)
		return;
	m->bits[bit / 64] ^= one;
	m->free += taken ? -1 : 1;
}

/* Find the next free bit from @from on, wrapping around. */
static bool next_free(const struct fs_bitmap *m, uint32_t from, uint32_t *bit)
{
	const uint32_t words = m->n / 64 + 1;
	uint32_t word = from / 64;
	uint64_t free = ~m->bits[word] & ~0ull << from % 64;

	for (uint32_t i = 0; i <= words; i++) {
		if (free) {
			*bit = word * 64 + (uint32_t)__builtin_ctzll(free);
			if (*bit < m->n)
				return true;
		}
		word = word + 1 < words ? word + 1 : 0;
		free = ~m->bits[word];
	}
	return false;
}

/* Change a bit in the lines of metadata. */
static int set_line(struct annex_fs *fs, struct fs_bitmap *m, uint32_t bit, bool taken)
{
	const uint32_t line = bit / FS_BITS, i = bit % FS_BITS;
	uint8_t *payload;
	struct fs_buf *b;
	int err = fs_buf_get(fs, m->start + line / FS_LINES, ANNEX_FS_BITMAP, &b);

	if (!err)
		err = fs_line_change(fs, b, line % FS_LINES, &payload);
	if (err)
		return err;
	payload[i / 8] = (uint8_t)((payload[i / 8] & ~(1u << i % 8)) | (unsigned int)taken
									       << i % 8);
	return 0;
}

static int take(struct annex_fs *fs, struct fs_bitmap *m, uint32_t from, uint32_t *bit)
{
	int err;

	if (!m->free || !next_free(m, from < m->n ? from : 0, bit))
		return -ENOSPC;
	err = set_line(fs, m, *bit, true);
	if (!err)
		err = fs_op_bit(fs, m, *bit, true);
	if (err)
		return err;
	fs_bitmap_mark(m, *bit, true);
	m->next = *bit + 1;
	return 0;
}

int fs_inode_take(struct annex_fs *fs, uint32_t *ino)
{
	return take(fs, &fs->inodes, fs->inodes.next, ino);
}

int fs_inode_give(struct annex_fs *fs, uint32_t ino)
{
	int err = set_line(fs, &fs->inodes, ino, false);

	if (!err)
		err = fs_op_bit(fs, &fs->inodes, ino, false);
	if (err)
		return err;
	fs_bitmap_mark(&fs->inodes, ino, false);
	fs->inodes.next = ino < fs->inodes.next ? ino : fs->inodes.next;
	return 0;
}

int fs_block_take(struct annex_fs *fs, uint32_t goal, uint32_t *block)
{
	struct fs_bitmap *m = &fs->blocks;
	uint32_t bit = 0;
	int err = -ENOSPC;

	if (m->free > fs->reserved)
		err = take(fs, m, goal > fs->super.data ? goal - fs->super.data : m->next, &bit);
	*block = fs->super.data + bit;
	return err;
}

int fs_block_give(struct annex_fs *fs, uint32_t block)
{
	int err = set_line(fs, &fs->blocks, block - fs->super.data, false);

	return err ? err : fs_op_freed(fs, block);
}

int fs_held_room(struct annex_fs *fs)
{
	struct fs_held *h = &fs->held;
	uint32_t *more;

	if (!fs->op.n_freed)
		return 0;
	more = reallocarray(h->blocks, h->n + fs->op.n_freed, sizeof(*more));
	if (!more)
		return annex_fail(-ENOMEM, "file system: out of memory");
	h->blocks = more;
	return 0;
}

void fs_held_add(struct annex_fs *fs)
{
	for (uint32_t i = 0; i < fs->op.n_freed; i++) {
		fs_buf_drop(fs, fs->op.freed[i]);
		fs->held.blocks[fs->held.n++] = fs->op.freed[i];
	}
}

/* A failed trim of free blocks is harmless. */
void fs_held_free(struct annex_fs *fs)
{
	for (uint32_t i = 0; i < fs->held.n; i++) {
		fs_bitmap_mark(&fs->blocks, fs->held.blocks[i] - fs->super.data, false);
		fs_dev_trim(&fs->dev, fs->held.blocks[i], 1);
	}
	fs->held.n = 0;
}

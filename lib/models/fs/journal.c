// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/crc32c.h"
#include "core/log.h"
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "journal.h"
#include "op.h"

#define REVOKED 8192u /* revoked blocks of a transaction at most */

static void put_le(uint8_t *at, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get(const uint8_t *at, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

bool fs_mark_get(const struct fs_line *lines, uint32_t block, struct fs_mark *out)
{
	const uint8_t *p = lines->payload;

	memcpy(out->magic, p, sizeof(out->magic));
	out->sequence = get(p + 8, 8);
	out->n = (uint32_t)get(p + 16, 4);
	return lines->crc && fs_line_good(lines, block, 0);
}

void fs_mark_put(struct fs_line *lines, uint32_t block, const struct fs_mark *m)
{
	uint8_t *p = lines->payload;

	memcpy(p, m->magic, sizeof(m->magic));
	put_le(p + 8, m->sequence, 8);
	put_le(p + 16, m->n, 4);
	lines->crc = fs_line_sum(lines, block, 0);
}

uint32_t fs_journal_sum(const struct fs_line *lines, uint32_t n, uint32_t before)
{
	for (; n--; lines += FS_LINES)
		before = annex_crc32c((const uint64_t *)(const void *)lines, FS_BLOCK / 8, before);
	return before;
}

int fs_journal_reset(struct fs_dev *d, const struct fs_super *s, uint64_t sequence)
{
	const struct fs_mark m = {FS_JOURNAL_MAGIC, sequence, 0};
	struct fs_line lines[FS_LINES] = {0};
	int err;

	fs_mark_put(lines, s->journal, &m);
	err = fs_dev_write_blocks(d, ANNEX_FS_JOURNAL, s->journal, lines, 1);
	return err ? err : fs_dev_fence(d);
}

/* Whether a line of an undo is the first changed line of its buffer. */
static bool is_first(const struct fs_undo *u)
{
	return u->kind == FS_UNDO_LINE && u->buf->dirty &&
	       u->line == (uint32_t)__builtin_ctzll(u->buf->dirty);
}

/* Whether @n blocks, their tags, @revoked tags and an end fit in the journal. */
static bool fits(const struct annex_fs *fs, uint32_t n, uint32_t revoked)
{
	return fs->journal.head + n + (n + revoked) / FS_TAGS + 2 <= fs->super.n_journal;
}

static int make_room(struct annex_fs *fs)
{
	struct fs_journal *j = &fs->journal;
	const uint32_t more = fs->op.n_freed;
	uint32_t n = fs->bufs.n_joined + fs->op.n_fresh, *revoked;

	for (uint32_t i = 0; i < fs->op.n_undo; i++)
		n += is_first(&fs->op.undo[i]) && !fs->op.undo[i].buf->joined;
	if (!fits(fs, n, j->n_revoked + more))
		return annex_fail(-E2BIG, "file system: %u blocks are too many for a transaction",
				  n);
	if (!more)
		return 0;
	revoked = reallocarray(j->revoked, j->n_revoked + more, sizeof(*revoked));
	if (!revoked)
		return annex_fail(-ENOMEM, "file system: out of memory");
	j->revoked = revoked;
	return fs_held_room(fs);
}

/* Revoke freed blocks: replay must not overwrite their later contents. */
static void revoke(struct annex_fs *fs)
{
	struct fs_journal *j = &fs->journal;

	for (uint32_t i = 0; i < fs->op.n_freed; i++) {
		const uint32_t block = fs->op.freed[i];
		struct fs_buf *b = fs_buf_find(fs, block);

		if (b && b->logged)
			j->revoked[j->n_revoked++] = block;
	}
}

int fs_journal_join(struct annex_fs *fs)
{
	struct fs_op *op = &fs->op;
	int err = make_room(fs);

	if (err)
		return err;
	for (uint32_t i = 0; i < op->n_undo; i++) {
		struct fs_undo *u = &op->undo[i];

		if (u->kind == FS_UNDO_LINE) {
			u->buf->lines[u->line].crc = fs_line_sum(&u->buf->lines[u->line],
								 u->buf->block, u->line);
			u->buf->dirty &= ~(1ull << u->line);
			fs_buf_join(fs, u->buf);
		} else if (u->kind == FS_UNDO_NODE) {
			u->node->sequence = fs->journal.sequence;
		}
	}
	for (uint32_t i = 0; i < op->n_fresh; i++) {
		struct fs_buf *b = fs_buf_find(fs, op->fresh[i]);

		if (b)
			fs_buf_join(fs, b);
	}
	revoke(fs);
	fs_held_add(fs);
	return 0;
}

/* struct group - Blocks of a transaction that are written together: tags and @n blocks. */
struct group {
	struct fs_line *lines;
	uint32_t tags, n;
	uint32_t sum, at;
};

static void add_tag(struct group *g, uint32_t block, uint8_t class)
{
	struct fs_line *l = &g->lines[1 + g->tags / FS_TAGS_LINE];
	uint8_t *p = l->payload + g->tags++ % FS_TAGS_LINE * FS_TAG_BYTES;

	put_le(p, block, 4);
	p[4] = class;
}

static int write_group(struct annex_fs *fs, struct group *g)
{
	const uint32_t block = fs->super.journal + g->at;
	const struct fs_mark m = {FS_TAGS_MAGIC, fs->journal.sequence, g->tags};
	int err;

	if (!g->tags)
		return 0;
	fs_mark_put(g->lines, block, &m);
	for (uint32_t i = 1; i < FS_LINES; i++)
		g->lines[i].crc = fs_line_sum(&g->lines[i], block, i);
	g->sum = fs_journal_sum(g->lines, 1 + g->n, g->sum);
	err = fs_dev_write_blocks(&fs->dev, ANNEX_FS_JOURNAL, block, g->lines, 1 + g->n);
	g->at += 1 + g->n;
	g->tags = g->n = 0;
	memset(g->lines, 0, FS_BLOCK);
	return err;
}

static int write_groups(struct annex_fs *fs, struct group *g)
{
	struct fs_buf *b = fs->bufs.pinned.newest;
	int err = 0;

	for (uint32_t i = 0; !err && i < fs->journal.n_revoked; i++) {
		if (g->tags == FS_TAGS)
			err = write_group(fs, g);
		add_tag(g, fs->journal.revoked[i], FS_TAG_REVOKED);
	}
	for (; !err && b && b->joined; b = b->older) {
		if (g->tags == FS_TAGS)
			err = write_group(fs, g);
		add_tag(g, b->block, (uint8_t)b->class);
		memcpy(&g->lines[(size_t)++g->n * FS_LINES], b->lines, FS_BLOCK);
	}
	return err ? err : write_group(fs, g);
}

/* Write the end after everything else is durable, data too. */
static int write_end(struct annex_fs *fs, struct group *g)
{
	const struct fs_mark m = {FS_END_MAGIC, fs->journal.sequence, g->sum};
	const uint32_t block = fs->super.journal + g->at++;
	int err = fs_dev_fence(&fs->dev);

	if (err)
		return err;
	fs_mark_put(g->lines, block, &m);
	err = fs_dev_write_blocks(&fs->dev, ANNEX_FS_JOURNAL, block, g->lines, 1);
	return err ? err : fs_dev_fence(&fs->dev);
}

/* The transaction is durable: free its blocks. */
static void committed(struct annex_fs *fs)
{
	struct fs_journal *j = &fs->journal;

	for (struct fs_buf *b = fs->bufs.pinned.newest; b && b->joined; b = b->older) {
		b->joined = false;
		b->logged = true;
	}
	fs->bufs.n_joined = 0;
	fs_held_free(fs);
	j->n_revoked = 0;
	j->sequence++;
	fs->dev.commits++;
}

static int by_block(const void *a, const void *b)
{
	const struct fs_buf *x = *(struct fs_buf *const *)a, *y = *(struct fs_buf *const *)b;

	return x->block < y->block ? -1 : x->block > y->block;
}

/* Write blocks to their places. No transaction is running. */
static int checkpoint(struct annex_fs *fs)
{
	struct fs_bufs *b = &fs->bufs;
	struct fs_buf **all = malloc((b->n_pinned + 1) * sizeof(struct fs_buf *));
	uint32_t n = 0;
	int err = 0;

	if (!all)
		return annex_fail(-ENOMEM, "file system: out of memory");
	for (struct fs_buf *at = b->pinned.oldest; at; at = at->newer)
		all[n++] = at;
	qsort(all, n, sizeof(struct fs_buf *), by_block);
	for (uint32_t i = 0; !err && i < n; i++)
		err = fs_dev_write_blocks(&fs->dev, all[i]->class, all[i]->block, all[i]->lines, 1);
	free(all);
	if (!err)
		err = fs_dev_fence(&fs->dev);
	if (!err)
		err = fs_journal_reset(&fs->dev, &fs->super, fs->journal.sequence);
	if (err)
		return err;
	fs_bufs_unpin(b);
	fs->journal.head = 1;
	return 0;
}

/* Switch to the journal's own virtual time, which starts when the journal is idle. */
static uint64_t enter_time(struct annex_fs *fs)
{
	uint64_t now = 0;

	if (fs->dev.clock) {
		now = *fs->dev.clock;
		*fs->dev.clock = fs->journal.busy > now ? fs->journal.busy : now;
	}
	return now;
}

static void leave(struct annex_fs *fs, uint64_t now)
{
	if (!fs->dev.clock)
		return;
	fs->journal.busy = *fs->dev.clock;
	*fs->dev.clock = now;
}

static bool is_running(const struct annex_fs *fs)
{
	return fs->bufs.n_joined || fs->held.n;
}

static int commit(struct annex_fs *fs)
{
	struct group g = {.at = fs->journal.head};
	int err;

	if (!is_running(fs))
		return 0;
	g.lines = calloc(1 + FS_TAGS, FS_BLOCK);
	if (!g.lines)
		return annex_fail(-ENOMEM, "file system: out of memory");
	err = write_groups(fs, &g);
	if (!err)
		err = write_end(fs, &g);
	free(g.lines);
	if (err)
		return err;
	fs->journal.head = g.at;
	committed(fs);
	return fits(fs, fs->super.n_journal / 4 + FS_OP_BLOCKS, REVOKED) ? 0 : checkpoint(fs);
}

int fs_journal_commit(struct annex_fs *fs)
{
	const uint64_t now = enter_time(fs);
	int err = commit(fs);

	leave(fs, now);
	return err;
}

int fs_journal_close(struct annex_fs *fs)
{
	int err;

	enter_time(fs);
	err = commit(fs);
	return err ? err : checkpoint(fs);
}

int fs_journal_sync(struct annex_fs *fs, const struct fs_node *n)
{
	struct fs_journal *j = &fs->journal;
	const bool any = n ? n->sequence == j->sequence && is_running(fs) : is_running(fs);
	uint64_t *clock = fs->dev.clock;
	const bool busy = clock && j->busy > *clock;
	int err = any && !busy ? fs_journal_commit(fs) : 0;

	if (clock && j->busy > *clock)
		*clock = j->busy;
	return err ? err : any && busy ? -EAGAIN : 0;
}

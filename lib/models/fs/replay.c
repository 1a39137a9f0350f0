// SPDX-License-Identifier: MIT
/*
 * Replay of the journal: find complete transactions, and the newest contents of each block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "buf.h"
#include "dev.h"
#include "journal.h"
#include "super.h"

/*
 * struct tag - A tag. @at: place of the block in the journal; 0: revoked. @order: among all tags.
 */
struct tag {
	uint32_t block, order, at;
	uint8_t class;
};

/*
 * struct scan - A scan of the journal.
 * @n: tags of complete transactions.
 * @more: these tags and the tags of the current transaction.
 * @at: number of the next block in the journal.
 */
struct scan {
	struct fs_dev *d;
	const struct fs_super *s;
	struct tag *tags;
	uint32_t n, more, room;
	uint64_t sequence;
	uint32_t at;
	uint32_t sum;
	struct fs_line lines[FS_LINES];
};

static int read_next(struct scan *c)
{
	return fs_dev_read_blocks(c->d, ANNEX_FS_JOURNAL, c->s->journal + c->at, c->lines, 1);
}

static int add(struct scan *c, const struct tag *t)
{
	if (c->more == c->room) {
		const uint32_t room = c->room ? c->room * 2 : 1024;
		struct tag *more = reallocarray(c->tags, room, sizeof(*more));

		if (!more)
			return annex_fail(-ENOMEM, "file system: out of memory");
		c->tags = more;
		c->room = room;
	}
	c->tags[c->more++] = *t;
	return 0;
}

/* Metadata have places before and after the journal. */
static bool has_place(const struct fs_super *s, uint32_t block)
{
	return block < s->journal || (block >= s->data && block < s->blocks - 1);
}

/* Read the tags of a group, then its blocks for the checksum. *@good: it is plausible. */
static int read_group(struct scan *c, uint32_t n, bool *good)
{
	const uint32_t block = c->s->journal + c->at, first = c->more;
	int err = 0;

	*good = n <= FS_TAGS;
	for (uint32_t i = 0; *good && i < FS_LINES; i++)
		*good = fs_line_good(&c->lines[i], block, i);
	c->sum = fs_journal_sum(c->lines, 1, c->sum);
	c->at++;
	for (uint32_t i = 0, at = c->at; !err && *good && i < n; i++) {
		const uint8_t *p = c->lines[1 + i / FS_TAGS_LINE].payload +
				   i % FS_TAGS_LINE * FS_TAG_BYTES;
		struct tag t = {.class = p[4], .order = c->more};

		for (unsigned int k = 0; k < 4; k++)
			t.block |= (uint32_t)p[k] << 8 * k;
		if (t.class != FS_TAG_REVOKED)
			t.at = at++;
		*good = has_place(c->s, t.block) && at <= c->s->n_journal &&
			(!t.at || t.class < ANNEX_FS_CLASSES);
		err = add(c, &t);
	}
	for (uint32_t i = first; !err && *good && i < c->more; i++) {
		if (!c->tags[i].at)
			continue;
		err = read_next(c);
		c->sum = fs_journal_sum(c->lines, 1, c->sum);
		c->at++;
	}
	return err;
}

/* Read a transaction. *@good: it is complete. */
static int read_transaction(struct scan *c, bool *good)
{
	struct fs_mark m;
	int err = 0;

	*good = true;
	c->sum = 0;
	c->more = c->n;
	while (!err && *good && c->at < c->s->n_journal) {
		err = read_next(c);
		if (err)
			break;
		*good = fs_mark_get(c->lines, c->s->journal + c->at, &m) &&
			m.sequence == c->sequence;
		if (*good && !memcmp(m.magic, FS_END_MAGIC, sizeof(m.magic))) {
			*good = m.n == c->sum;
			c->at++;
			return 0;
		}
		*good = *good && !memcmp(m.magic, FS_TAGS_MAGIC, sizeof(m.magic));
		if (*good)
			err = read_group(c, m.n, good);
	}
	*good = false;
	return err;
}

static int read_all(struct scan *c)
{
	struct fs_mark m;
	bool good = true;
	uint32_t end;
	int err;

	c->at = 0;
	err = read_next(c);
	if (err)
		return err;
	if (!fs_mark_get(c->lines, c->s->journal, &m) ||
	    memcmp(m.magic, FS_JOURNAL_MAGIC, sizeof(m.magic)) != 0)
		return annex_fail(-EIO,
				  "file system: the header of the journal is damaged; run fsck");
	c->sequence = m.sequence;
	c->at = end = 1;
	while (!err && good) {
		err = read_transaction(c, &good);
		if (err || !good)
			continue;
		c->n = c->more;
		c->sequence++;
		end = c->at;
	}
	c->at = end;
	return err;
}

static int by_block(const void *a, const void *b)
{
	const struct tag *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int fs_journal_replay(struct fs_dev *d, const struct fs_super *s,
		      int (*copy)(void *ctx, uint32_t block, enum annex_fs_class class,
				  const struct fs_line *lines),
		      void *ctx, uint64_t *sequence, uint32_t *head)
{
	struct scan c = {.d = d, .s = s};
	int err = read_all(&c);

	*sequence = c.sequence;
	*head = c.at;
	if (c.n)
		qsort(c.tags, c.n, sizeof(*c.tags), by_block);
	for (uint32_t i = 0; !err && i < c.n; i++) {
		const struct tag *t = &c.tags[i];

		/* Only the last tag of a block counts. */
		if (!t->at || (i + 1 < c.n && t[1].block == t->block))
			continue;
		c.at = t->at;
		err = read_next(&c);
		/* The layout never changes: ignore line 0 of a superblock in the journal. */
		if (!err && !t->block)
			fs_super_line(s, t->block, c.lines);
		if (!err)
			err = copy(ctx, t->block, t->class, c.lines);
	}
	free(c.tags);
	return err;
}

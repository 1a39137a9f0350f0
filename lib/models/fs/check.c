// SPDX-License-Identifier: MIT
/*
 * The check of a file system: first inodes and their blocks, then names from the root on, then
 * files without a name, then counts, last a comparison of the bitmaps with the results.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/log.h"
#include "buf.h"
#include "check.h"
#include "map.h"
#include "node.h"
#include "super.h"

#define DIRECTORY (S_IFDIR >> 12)

static bool is_lost(int err)
{
	return err == -EILSEQ || err == -EIO;
}

/* Read both superblocks; one of them may be damaged. */
static int check_super(struct fs_check *c)
{
	const uint64_t blocks = annex_cxlssd_bytes(c->dev.s) / FS_BLOCK;
	const uint32_t copy = (uint32_t)(blocks - 1);
	struct fs_super other;
	int err, late;

	if (!blocks || blocks > FS_BLOCKS_MAX || annex_cxlssd_page(c->dev.s) != FS_BLOCK)
		return annex_fail(-EILSEQ, "file system: there is none: no device of its size, or "
					   "of its pages");
	err = fs_super_load(&c->dev, 0, blocks, &c->super);
	if (err && !is_lost(err))
		return err;
	late = fs_super_load(&c->dev, copy, blocks, &other);
	if (late && late != -EPROTONOSUPPORT && !is_lost(late))
		return late;
	if (err && late)
		return late == -EPROTONOSUPPORT ? late : -EILSEQ;
	if (!err && !late && !memcmp(&c->super, &other, sizeof(other)))
		return 0;
	c->super = err ? other : c->super;
	fs_check_tell(c, "the superblock in block %u is damaged", err ? 0 : copy);
	return 0;
}

/* Read the first orphan; damage counts as an empty list. */
static int read_orphan(struct fs_check *c, uint32_t *ino)
{
	struct check_block *b;
	int err = fs_check_get(c, 0, &b);

	if (err)
		return err;
	if (fs_check_good(b, 1))
		*ino = fs_map_pointer(b->lines[1].payload, 0);
	else
		fs_check_tell(c, "line 1 of the superblock is damaged");
	return 0;
}

/* Check that the list has exactly the inodes with CHECK_ORPHAN. */
static int check_orphans(struct fs_check *c)
{
	uint32_t ino = 0, left = c->orphans;
	unsigned int bad;
	struct fs_inode i;
	int err = read_orphan(c, &ino);

	while (!err && ino && left && ino < c->super.inodes &&
	       c->inodes[ino].flags & CHECK_ORPHAN) {
		err = fs_check_read(c, ino, &i, &bad);
		ino = i.orphan;
		left--;
	}
	c->listed = !ino && !left;
	if (!err && !c->listed)
		fs_check_tell(c, "the list of orphans is damaged");
	return err;
}

/* The number of links that an inode should have. */
static uint32_t links_of(const struct check_inode *f)
{
	return f->links + (f->type == DIRECTORY && f->flags & CHECK_SEEN ? 2 : 0);
}

/* Check that a mount may process the list: links of files with names must be right. */
static int check_ends(struct fs_check *c)
{
	unsigned int bad;
	struct fs_inode i;
	int err = 0;

	for (uint32_t ino = 1; !err && c->listed && ino < c->super.inodes; ino++) {
		if (!(c->inodes[ino].flags & CHECK_ORPHAN))
			continue;
		err = fs_check_read(c, ino, &i, &bad);
		c->listed = links_of(&c->inodes[ino]) == i.nlink;
	}
	return err;
}

static void enqueue(struct fs_check *c, uint32_t ino, uint32_t parent)
{
	struct check_inode *f = &c->inodes[ino];

	f->flags |= CHECK_SEEN;
	f->parent = parent;
	f->next = 0;
	if (c->first)
		c->inodes[c->last].next = ino;
	else
		c->first = ino;
	c->last = ino;
}

static bool can_be(const uint8_t *text, uint32_t n)
{
	return !memchr(text, '/', n) && !memchr(text, 0, n) && !(n <= 2 && !memcmp(text, "..", n));
}

#define WHY 64u

/* Whether a name is wrong; @why gets the reason. */
static bool is_wrong(const struct fs_check *c, const struct check_dir *d,
		     const struct check_name *n, char *why)
{
	if (!can_be(d->texts + n->text, n->length))
		snprintf(why, WHY, "cannot be");
	else if (!n->ino || n->ino >= c->super.inodes || !c->inodes[n->ino].type)
		snprintf(why, WHY, "is of inode %u, which is not there", n->ino);
	else if (c->inodes[n->ino].flags & CHECK_SEEN)
		snprintf(why, WHY, "is of directory %u, which has another name", n->ino);
	else
		return false;
	return true;
}

static void check_name(struct fs_check *c, const struct check_dir *d, const struct check_name *n)
{
	char text[4 * ANNEX_FS_NAME + 1], why[WHY];

	if (!is_wrong(c, d, n, why)) {
		struct check_inode *f = &c->inodes[n->ino];

		if (f->type == DIRECTORY) {
			c->inodes[d->ino].links++;
			enqueue(c, n->ino, d->ino);
		} else {
			f->links++;
		}
		if (f->type == n->type)
			return;
		snprintf(why, WHY, "has another type than inode %u", n->ino);
	}
	fs_check_escape(text, d->texts + n->text, n->length);
	fs_check_tell(c, "directory %u: the name \"%s\" %s", d->ino, text, why);
}

/* Check directories in the queue and below. */
static int check_names(struct fs_check *c)
{
	struct check_dir d;
	int err = 0;

	while (!err && c->first) {
		const uint32_t ino = c->first;

		err = check_dir_load(c, ino, &d);
		for (uint32_t k = 0; !err && k < d.n_names; k++)
			check_name(c, &d, &d.names[k]);
		check_dir_free(&d);
		c->first = c->inodes[ino].next;
	}
	return err;
}

/* Whether a directory was not reached from the root. */
static bool is_astray(const struct fs_check *c, uint32_t ino)
{
	const struct check_inode *f = &c->inodes[ino];

	return f->type == DIRECTORY && !(f->flags & (CHECK_SEEN | CHECK_ENDS));
}

static void tell_nameless(struct fs_check *c, uint32_t ino)
{
	fs_check_tell(c, "inode %u: no directory has a name for it", ino);
}

/* Check a directory without a name, and the directories below it. Its parent must not be such a
 * directory, unless @any: they form a cycle. */
static int check_astray(struct fs_check *c, uint32_t ino, bool any)
{
	unsigned int bad;
	struct fs_inode i;
	int err;

	if (!is_astray(c, ino))
		return 0;
	err = fs_check_read(c, ino, &i, &bad);
	if (err || (!any && i.rdev < c->super.inodes && is_astray(c, i.rdev)))
		return err;
	tell_nameless(c, ino);
	enqueue(c, ino, i.rdev);
	return check_names(c);
}

/* Check a file without a name; its only link counts as reported. */
static void check_nameless(struct fs_check *c, uint32_t ino)
{
	struct check_inode *f = &c->inodes[ino];

	if (!f->type || f->links || f->flags & CHECK_SEEN)
		return;
	if (!(f->flags & CHECK_ENDS)) {
		tell_nameless(c, ino);
		f->links++;
	} else if (!c->listed) {
		fs_check_tell(c, "inode %u: it has no name any more, and was to be freed", ino);
		f->flags |= CHECK_TOLD;
	}
}

static int check_lost(struct fs_check *c)
{
	int err = 0;

	for (uint32_t any = 0; any < 2; any++)
		for (uint32_t ino = 1; !err && ino < c->super.inodes; ino++)
			err = check_astray(c, ino, any);
	for (uint32_t ino = 1; !err && ino < c->super.inodes; ino++)
		check_nameless(c, ino);
	return err;
}

/* Check the link count and the parent of an inode. */
static int check_links(struct fs_check *c, uint32_t ino)
{
	const struct check_inode *f = &c->inodes[ino];
	const uint32_t links = f->links + (f->type == DIRECTORY ? 2 : 0);
	unsigned int bad;
	struct fs_inode i;
	int err = fs_check_read(c, ino, &i, &bad);

	if (err)
		return err;
	if (i.nlink != links)
		fs_check_tell(c, "inode %u: it has %u links, not %u", ino, links, i.nlink);
	if (f->type == DIRECTORY && i.rdev != f->parent)
		fs_check_tell(c, "directory %u: its parent is %u, not %u", ino, f->parent, i.rdev);
	if (i.flags & FS_ORPHAN)
		fs_check_tell(c, "inode %u: it is in the list of orphans", ino);
	return 0;
}

static int count(struct fs_check *c)
{
	int err = 0;

	for (uint32_t ino = 1; !err && ino < c->super.inodes; ino++) {
		const struct check_inode *f = &c->inodes[ino];

		c->out->files += f->type != 0;
		c->out->directories += f->type == DIRECTORY;
		if (c->listed && f->flags & CHECK_ORPHAN)
			c->out->unfinished++;
		else if (f->type && !(f->flags & CHECK_TOLD))
			err = check_links(c, ino);
	}
	c->out->blocks = c->super.blocks - 1 - c->super.data - c->free;
	return err;
}

static bool inode_taken(const struct fs_check *c, uint32_t i)
{
	return !i || c->inodes[i].type;
}

static bool block_taken(const struct fs_check *c, uint32_t i)
{
	return c->taken[i / 64] >> i % 64 & 1;
}

/* Check a bitmap of @n bits from block @start on. */
static int check_bitmap(struct fs_check *c, const char *name, uint32_t start, uint32_t n,
			bool (*is_taken)(const struct fs_check *c, uint32_t i))
{
	struct check_block *b;
	int err = 0;

	for (uint32_t line = 0; !err && line <= (n - 1) / FS_BITS; line++) {
		uint8_t payload[FS_PAYLOAD] = {0};
		bool good;

		for (uint32_t k = 0; k < FS_BITS && line * FS_BITS + k < n; k++)
			if (is_taken(c, line * FS_BITS + k))
				payload[k / 8] |= (uint8_t)(1u << k % 8);
		err = fs_check_get(c, start + line / FS_LINES, &b);
		if (err)
			break;
		good = fs_check_good(b, line % FS_LINES);
		if (good && !memcmp(b->lines[line % FS_LINES].payload, payload, FS_PAYLOAD))
			continue;
		fs_check_tell(c, "line %u of the bitmap of %s is %s", line, name,
			      good ? "wrong" : "damaged");
	}
	return err;
}

static int check_all(struct fs_check *c)
{
	const struct fs_super *s = &c->super;
	const uint32_t blocks = s->blocks - 1 - s->data;
	int err;

	c->inodes = calloc(s->inodes, sizeof(*c->inodes));
	c->taken = calloc(blocks / 64 + 1, sizeof(*c->taken));
	c->free = blocks;
	if (!c->inodes || !c->taken)
		return annex_fail(-ENOMEM, "file system: out of memory");
	err = fs_check_inodes(c);
	if (!err)
		err = check_orphans(c);
	if (!err)
		err = fs_check_claims(c);
	if (!err) {
		enqueue(c, ANNEX_FS_ROOT, ANNEX_FS_ROOT);
		err = check_names(c);
	}
	if (!err)
		err = check_ends(c);
	if (!err)
		err = check_lost(c);
	if (!err)
		err = count(c);
	if (!err)
		err = check_bitmap(c, "inodes", s->ibitmap, s->inodes, inode_taken);
	if (!err)
		err = check_bitmap(c, "blocks", s->bbitmap, blocks, block_taken);
	return err;
}

int annex_fs_check(struct annex_cxlssd *s, void (*tell)(void *ctx, const char *what), void *ctx,
		   struct annex_fs_report *out)
{
	struct fs_check *c = calloc(1, sizeof(*c));
	int err;

	*out = (struct annex_fs_report){0};
	if (!c)
		return annex_fail(-ENOMEM, "file system: out of memory");
	c->dev.s = s;
	c->tell = tell;
	c->ctx = ctx;
	c->out = out;
	err = check_super(c);
	if (!err)
		err = fs_check_replay(c);
	if (!err)
		err = check_all(c);
	fs_check_free(c);
	free(c->inodes);
	free(c->taken);
	free(c);
	return err;
}

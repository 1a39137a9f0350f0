// SPDX-License-Identifier: MIT
/*
 * File systems are explained in lines of text, as they are: damage is told.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "core/log.h"
#include "check.h"
#include "dev.h"
#include "dir.h"
#include "map.h"
#include "super.h"

/*
 * struct dump - What is explained. @run_*: blocks of a file that lie one behind the other. @left:
 * pointers that may come still: a map has no more than the device has blocks.
 */
struct dump {
	struct fs_check *c;
	void (*line)(void *ctx, const char *text);
	void *ctx;
	uint64_t run_index;
	uint32_t run_pointer, run_blocks;
	uint64_t left;
};

static void say(const struct dump *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct dump *d, const char *fmt, ...)
{
	char text[CHECK_TEXT + 256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	d->line(d->ctx, text);
}

/* Blocks that cannot be read. */
static void say_problem(void *ctx, const struct annex_fs_problem *p)
{
	say(ctx, "%s", p->what);
}

static int load_super(const struct dump *d)
{
	const uint64_t blocks = annex_cxlssd_bytes(d->c->dev.s) / FS_BLOCK;
	struct fs_super other;
	int err, late;

	if (!blocks || blocks > FS_BLOCKS_MAX || annex_cxlssd_page(d->c->dev.s) != FS_BLOCK)
		return annex_fail(-EILSEQ, "file system: there is none: no device of its size, or "
					   "of its pages");
	err = fs_super_load(&d->c->dev, 0, blocks, &d->c->super);
	if (err && err != -EILSEQ && err != -EIO)
		return err;
	late = fs_super_load(&d->c->dev, (uint32_t)(blocks - 1), blocks, &other);
	if (err && late)
		return late == -EIO ? -EILSEQ : late;
	if (err)
		say(d, "the superblock in block 0 is damaged: this is its copy");
	if (late)
		say(d, "the copy of the superblock is damaged");
	d->c->super = err ? other : d->c->super;
	return 0;
}

/* Bits that are not set; those of a damaged line count as set. */
static int say_free(const struct dump *d, const char *name, uint32_t start, uint32_t n)
{
	struct check_block *b;
	uint32_t is_free = 0;

	for (uint32_t line = 0; line <= (n - 1) / FS_BITS; line++) {
		const uint32_t at = line % FS_LINES;
		int err = fs_check_get(d->c, start + line / FS_LINES, &b);

		if (err)
			return err;
		if (!fs_check_good(b, at)) {
			say(d, "line %u of the bitmap of %s is damaged", line, name);
			continue;
		}
		for (uint32_t k = 0; k < FS_BITS && line * FS_BITS + k < n; k++)
			is_free += !(b->lines[at].payload[k / 8] >> k % 8 & 1);
	}
	say(d, "free %s: %u", name, is_free);
	return 0;
}

static int say_orphans(const struct dump *d)
{
	struct check_block *b;
	uint32_t ino, left = d->c->super.inodes;
	unsigned int bad = 0;
	struct fs_inode i;
	int err = fs_check_get(d->c, 0, &b);

	if (err)
		return err;
	if (!fs_check_good(b, 1)) {
		say(d, "line 1 of the superblock is damaged");
		return 0;
	}
	ino = fs_map_pointer(b->lines[1].payload, 0);
	if (!ino)
		say(d, "no orphans");
	while (ino && ino < d->c->super.inodes && !bad && left--) {
		say(d, "orphan: %u", ino);
		err = fs_check_read(d->c, ino, &i, &bad);
		if (err)
			return err;
		bad |= !(i.flags & FS_ORPHAN);
		ino = i.orphan;
	}
	if (ino || bad)
		say(d, "the list of orphans is damaged");
	return 0;
}

static int say_super(const struct dump *d)
{
	const struct fs_super *s = &d->c->super;
	int err;

	say(d, "version: %u", FS_VERSION);
	say(d, "design: %s", s->design == ANNEX_FS_BYTEFS ? "bytefs" : "ext4-like");
	say(d, "blocks: %u of %u bytes", s->blocks, FS_BLOCK);
	say(d, "inodes: %u", s->inodes);
	say(d, "superblock: 0, copy: %u", s->blocks - 1);
	say(d, "bitmap of inodes: %u-%u", s->ibitmap, s->bbitmap - 1);
	say(d, "bitmap of blocks: %u-%u", s->bbitmap, s->itable - 1);
	say(d, "table of inodes: %u-%u", s->itable, s->journal - 1);
	if (s->n_journal)
		say(d, "journal: %u-%u", s->journal, s->data - 1);
	say(d, "files and directories: %u-%u", s->data, s->blocks - 2);
	err = say_free(d, "inodes", s->ibitmap, s->inodes);
	if (!err)
		err = say_free(d, "blocks", s->bbitmap, s->blocks - 1 - s->data);
	return err ? err : say_orphans(d);
}

static void say_time(const struct dump *d, const char *name, int64_t ns)
{
	const int64_t second = 1000000000, part = ns % second;
	const time_t seconds = (time_t)(ns / second - (part < 0));
	char text[32];
	struct tm t;

	if (!gmtime_r(&seconds, &t) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &t))
		strcpy(text, "?");
	say(d, "%s: %s.%09uZ", name, text, (unsigned int)(part < 0 ? part + second : part));
}

static const char *type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	}
	return "?";
}

static void say_inode(const struct dump *d, uint32_t ino, const struct fs_inode *i)
{
	say(d, "inode: %u", ino);
	say(d, "type: %s", type_of(i->mode));
	say(d, "mode: %04o", i->mode & 07777);
	say(d, "links: %u", i->nlink);
	say(d, "owner: %u:%u", i->uid, i->gid);
	say(d, "size: %llu", (ull)i->size);
	say(d, "blocks: %u", i->blocks);
	say_time(d, "accessed", i->atime);
	say_time(d, "modified", i->mtime);
	say_time(d, "changed", i->ctime);
	say(d, "generation: %u", i->generation);
	say(d, "height: %u", i->height);
	if (S_ISDIR(i->mode))
		say(d, "parent: %u", i->rdev);
	else if (S_ISCHR(i->mode) || S_ISBLK(i->mode))
		say(d, "device: 0x%x", i->rdev);
	if (i->flags & FS_ORPHAN)
		say(d, "orphan: the next one is %u", i->orphan);
}

/* Names and sizes of attributes, as xattr.c reads them. */
static int say_xattrs(const struct dump *d, uint32_t block)
{
	uint8_t bytes[FS_LINES * FS_PAYLOAD + 3] = {0};
	char text[4 * ANNEX_FS_NAME + 1];
	struct check_block *b;
	uint32_t next;
	int err;

	if (!block)
		return 0;
	say(d, "block of extended attributes: %u", block);
	if (!fs_check_has(d->c, block)) {
		say(d, "extended attributes: no such block");
		return 0;
	}
	err = fs_check_get(d->c, block, &b);
	for (uint32_t i = 0; !err && i < FS_LINES; i++)
		if (fs_check_good(b, i))
			memcpy(bytes + (size_t)i * FS_PAYLOAD, b->lines[i].payload, FS_PAYLOAD);
		else
			say(d, "extended attributes: line %u is damaged", i);
	for (uint32_t at = 0; !err && at < FS_LINES * FS_PAYLOAD && bytes[at]; at = next) {
		const uint32_t value = bytes[at + 1] | (uint32_t)bytes[at + 2] << 8;

		next = at + 3 + bytes[at] + value;
		if (next > FS_LINES * FS_PAYLOAD) {
			say(d, "extended attributes: one crosses the end");
			break;
		}
		fs_check_escape(text, bytes + at + 3, bytes[at]);
		say(d, "extended attribute: \"%s\", %u bytes", text, value);
	}
	return err;
}

static void say_run(struct dump *d)
{
	const uint32_t first = d->run_pointer & ~FS_UNWRITTEN, n = d->run_blocks;

	if (n == 1)
		say(d, "block %llu: %u%s", (ull)d->run_index, first,
		    d->run_pointer & FS_UNWRITTEN ? " unwritten" : "");
	else if (n)
		say(d, "blocks %llu-%llu: %u-%u%s", (ull)d->run_index, (ull)(d->run_index + n - 1),
		    first, first + n - 1, d->run_pointer & FS_UNWRITTEN ? " unwritten" : "");
	d->run_blocks = 0;
}

/* A block of a file: the run goes on, or another one begins. */
static void put(struct dump *d, uint64_t index, uint32_t pointer)
{
	if (d->run_blocks && index == d->run_index + d->run_blocks &&
	    pointer == d->run_pointer + d->run_blocks) {
		d->run_blocks++;
		return;
	}
	say_run(d);
	d->run_index = index;
	d->run_pointer = pointer;
	d->run_blocks = 1;
}

/* A directory's names are told block by block. */
static int say_names(const struct dump *d, uint32_t block)
{
	struct check_block *b;
	struct fs_head h;
	int err = fs_check_get(d->c, block, &b);

	for (uint32_t line = 0; !err && line < FS_LINES; line += h.lines) {
		uint8_t name[ANNEX_FS_NAME + FS_PAYLOAD];
		char text[4 * ANNEX_FS_NAME + 1];
		bool good = fs_check_good(b, line);
		uint32_t done = FS_DIR_FIRST;

		h = fs_dir_head(b->lines[line].payload);
		if (good && h.kind == FS_DIR_END)
			break;
		good = good && h.lines && line + h.lines <= FS_LINES &&
		       (h.kind == FS_DIR_FREE ||
			(h.kind == FS_DIR_NAME && h.lines >= fs_dir_lines(h.length)));
		if (!good) {
			say(d, "line %u of block %u is damaged", line, block);
			h.lines = 1;
			continue;
		}
		if (h.kind == FS_DIR_FREE)
			continue;
		memcpy(name, b->lines[line].payload + FS_PAYLOAD - FS_DIR_FIRST, FS_DIR_FIRST);
		for (uint32_t i = 1; i < fs_dir_lines(h.length); i++, done += FS_PAYLOAD) {
			if (!fs_check_good(b, line + i))
				say(d, "line %u of block %u is damaged", line + i, block);
			memcpy(name + done, b->lines[line + i].payload, FS_PAYLOAD);
		}
		fs_check_escape(text, name, h.length);
		say(d, "name: \"%s\", inode %u, %s", text, h.ino, type_of((uint32_t)h.type << 12));
	}
	return err;
}

/* A pointer, and all below it. @names: those in a directory's blocks are told, not the blocks. */
static int walk(struct dump *d, uint64_t index, uint32_t pointer, unsigned int height, bool names)
{
	const uint32_t block = pointer & ~FS_UNWRITTEN;
	struct check_block *b;
	uint64_t below = 1;
	int err = 0;

	if (!d->left)
		return 0;
	d->left--;
	if (!fs_check_has(d->c, block) || (pointer != block && (height || names))) {
		say(d, "block %llu: 0x%08x points nowhere", (ull)index, pointer);
		return 0;
	}
	if (!height && names)
		return say_names(d, block);
	if (!height) {
		put(d, index, pointer);
		return 0;
	}
	say_run(d);
	if (!names)
		say(d, "node of height %u: %u", height, block);
	for (unsigned int h = height; h > 1; h--)
		below *= FS_FAN;
	for (uint32_t i = 0; !err && i < FS_FAN; i++) {
		err = fs_check_get(d->c, block, &b);
		if (err)
			break;
		if (!fs_check_good(b, i / FS_POINTERS)) {
			say(d, "line %u of block %u is damaged", i / FS_POINTERS, block);
			i += FS_POINTERS - 1;
			continue;
		}
		pointer = fs_map_pointer(b->lines[i / FS_POINTERS].payload, i);
		if (pointer)
			err = walk(d, index + i * below, pointer, height - 1, names);
	}
	return err;
}

/* All blocks of a file. */
static int say_map(struct dump *d, const struct fs_inode *i, bool names)
{
	int err = 0;

	d->left = d->c->super.blocks;
	if (i->height > FS_HEIGHT) {
		say(d, "the map is damaged: no map is so high");
		return 0;
	}
	for (uint32_t k = 0; !err && k < (i->height ? 1 : FS_DIRECT); k++)
		if (i->map[k])
			err = walk(d, k, i->map[k], i->height, names);
	say_run(d);
	if (!d->left)
		say(d, "the map is damaged: it has more blocks than the device");
	return err;
}

static int say_target(const struct dump *d, const struct fs_inode *i)
{
	uint8_t target[FS_BLOCK];
	char text[CHECK_TEXT];
	int err = 0;

	if (i->size >= FS_BLOCK) {
		say(d, "the target is damaged");
		return 0;
	}
	memcpy(target, i->map, FS_INLINE);
	if (i->size > FS_INLINE && !fs_check_has(d->c, i->map[0])) {
		say(d, "the target is lost: there is no block %u", i->map[0]);
		return 0;
	}
	if (i->size > FS_INLINE) {
		say(d, "block 0: %u", i->map[0]);
		err = fs_dev_read(&d->c->dev, ANNEX_FS_DATA, (uint64_t)i->map[0] * FS_BLOCK, target,
				  i->size);
	}
	if (err == -EIO) {
		say(d, "the target cannot be read");
		return 0;
	}
	fs_check_escape(text, target, (uint32_t)i->size);
	if (!err)
		say(d, "target: \"%s\"", text);
	return err;
}

static int say_file(struct dump *d, uint32_t ino)
{
	unsigned int bad;
	struct fs_inode i;
	int err;

	if (ino >= d->c->super.inodes)
		return -ESTALE;
	err = fs_check_read(d->c, ino, &i, &bad);
	if (err)
		return err;
	for (uint32_t line = 0; line < 2; line++)
		if (bad >> line & 1)
			say(d, "inode %u: line %u is damaged", ino, line);
	if (bad & 1)
		return 0;
	if (!i.mode)
		return -ESTALE;
	say_inode(d, ino, &i);
	err = say_xattrs(d, i.xattr);
	if (err || bad)
		return err;
	if (S_ISLNK(i.mode))
		return say_target(d, &i);
	err = say_map(d, &i, false);
	return !err && S_ISDIR(i.mode) ? say_map(d, &i, true) : err;
}

int annex_fs_dump(struct annex_cxlssd *s, uint32_t ino, void (*line)(void *ctx, const char *text),
		  void *ctx)
{
	struct annex_fs_report none = {0};
	struct fs_check *c = calloc(1, sizeof(*c));
	struct dump d = {.c = c, .line = line, .ctx = ctx};
	int err;

	if (!c)
		return annex_fail(-ENOMEM, "file system: out of memory");
	c->dev.s = s;
	c->out = &none;
	c->tell = say_problem;
	c->ctx = &d;
	err = load_super(&d);
	if (!err)
		err = fs_check_replay(c);
	if (!err)
		err = ino ? say_file(&d, ino) : say_super(&d);
	fs_check_free(c);
	free(c);
	return err;
}

// SPDX-License-Identifier: MIT
/*
 * Directories during a check: their blocks and names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "check.h"
#include "dir.h"
#include "node.h"

/* Make room for @more elements; @at points to the pointer to the array. */
static int grow(void *at, uint32_t n, uint32_t more, uint32_t *room, size_t size)
{
	const uint64_t want = (uint64_t)n + more;
	uint64_t most = *room ? *room : 64;
	void **array = at, *larger;

	if (want <= *room)
		return 0;
	while (most < want)
		most *= 2;
	larger = most > UINT32_MAX ? NULL : reallocarray(*array, most, size);
	if (!larger)
		return annex_fail(-ENOMEM, "file system: out of memory");
	*array = larger;
	*room = (uint32_t)most;
	return 0;
}

void check_dir_free(struct check_dir *d)
{
	free(d->leaves);
	free(d->names);
	free(d->texts);
	memset(d, 0, sizeof(*d));
}

/*
 * struct scan - A block of a directory. @told: a problem was reported. @astray: after unreadable
 * lines, so the next line may not be a head.
 */
struct scan {
	struct fs_check *c;
	struct check_dir *d;
	uint32_t leaf, block;
	bool last;
	bool told, astray;
	struct fs_line lines[FS_LINES];
	uint64_t good;
};

static bool is_good(const struct scan *s, uint32_t line)
{
	return s->good >> line & 1;
}

/* Whether all lines from a line on are zero. */
static bool is_end(const struct scan *s, uint32_t line)
{
	static const uint8_t none[FS_PAYLOAD];

	for (; line < FS_LINES; line++)
		if (!is_good(s, line) || memcmp(s->lines[line].payload, none, FS_PAYLOAD) != 0)
			return false;
	return true;
}

/* Report a line that is not a head, only the first of several. */
static void stray(struct scan *s, uint32_t line)
{
	if (!is_good(s, line))
		fs_check_tell(s->c, "directory %u: line %u of block %u is damaged", s->d->ino, line,
			      s->block);
	else if (!s->astray)
		fs_check_tell(s->c, "directory %u: line %u of block %u is no name", s->d->ino, line,
			      s->block);
	s->told = s->astray = true;
}

/* Whether a valid line may be a head. After damage it may be part of a name. */
static bool is_head(const struct scan *s, const struct fs_head *h, uint32_t line)
{
	if (!h->lines || line + h->lines > FS_LINES)
		return false;
	if (h->kind == FS_DIR_FREE)
		return !s->astray || h->lines <= FS_DIR_LINES;
	if (h->kind != FS_DIR_NAME || !h->length || h->lines < fs_dir_lines(h->length))
		return false;
	return !s->astray || (h->ino < s->c->super.inodes && s->c->inodes[h->ino].type == h->type &&
			      h->type && h->lines == fs_dir_lines(h->length));
}

/* Whether the lines after a head are valid. Free lines must be too: they will get names. */
static bool is_whole(struct scan *s, const struct fs_head *h, uint32_t line)
{
	bool whole = true;

	for (uint32_t i = line + 1; i < line + h->lines; i++)
		if (!is_good(s, i)) {
			stray(s, i);
			whole = false;
		}
	s->astray = false;
	return whole;
}

static int add_name(struct scan *s, const struct fs_head *h, uint32_t line)
{
	uint32_t done = h->length < FS_DIR_FIRST ? h->length : FS_DIR_FIRST;
	struct check_dir *d = s->d;
	uint8_t *text;
	int err = grow(&d->names, d->n_names, 1, &d->room_names, sizeof(*d->names));

	if (!err)
		err = grow(&d->texts, d->n_texts, h->length, &d->room_texts, 1);
	if (err)
		return err;
	text = d->texts + d->n_texts;
	d->names[d->n_names++] = (struct check_name){
		.at = s->leaf * FS_LINES + line,
		.ino = h->ino,
		.text = d->n_texts,
		.type = h->type,
		.length = h->length,
	};
	d->n_texts += h->length;
	memcpy(text, s->lines[line].payload + FS_PAYLOAD - FS_DIR_FIRST, done);
	while (done < h->length) {
		const uint32_t left = h->length - done, m = left < FS_PAYLOAD ? left : FS_PAYLOAD;

		memcpy(text + done, s->lines[++line].payload, m);
		done += m;
	}
	return 0;
}

/* Free lines must have heads as the file system writes them, of a few lines each. */
static int scan_head(struct scan *s, const struct fs_head *h, uint32_t line)
{
	const bool name = h->kind == FS_DIR_NAME, whole = is_whole(s, h, line);

	if (h->lines > (name ? fs_dir_lines(h->length) : FS_DIR_LINES)) {
		fs_check_tell(s->c, "directory %u: line %u of block %u has too much room",
			      s->d->ino, line, s->block);
		s->told = true;
	}
	return name && whole ? add_name(s, h, line) : 0;
}

static int scan_lines(struct scan *s)
{
	uint32_t line = 0;
	int err = 0;

	while (!err && line < FS_LINES && !is_end(s, line)) {
		const struct fs_head h = fs_dir_head(s->lines[line].payload);

		if (!is_good(s, line) || !is_head(s, &h, line)) {
			stray(s, line++);
			continue;
		}
		err = scan_head(s, &h, line);
		line += h.lines;
	}
	if (!err && !s->last && !s->told && FS_LINES - line >= FS_DIR_LINES)
		fs_check_tell(s->c, "directory %u: block %u ends at line %u", s->d->ino, s->block,
			      line);
	return err;
}

static int scan_block(struct fs_check *c, struct check_dir *d, uint32_t leaf)
{
	struct scan s = {.c = c, .d = d, .leaf = leaf, .block = d->leaves[leaf]};
	struct check_block *b;
	int err = fs_check_get(c, s.block, &b);

	if (err)
		return err;
	s.last = leaf + 1 == d->n_leaves;
	memcpy(s.lines, b->lines, sizeof(s.lines));
	for (uint32_t i = 0; i < FS_LINES; i++)
		s.good |= (uint64_t)fs_check_good(b, i) << i;
	return scan_lines(&s);
}

/* Collect the blocks of a directory in order. */
static bool collect(struct check_walk *w, uint64_t index, uint32_t pointer, unsigned int height)
{
	struct check_dir *d = w->ctx;

	if (height || w->err)
		return true;
	w->last = index + 1;
	w->err = grow(&d->leaves, d->n_leaves, 1, &d->room_leaves, sizeof(*d->leaves));
	if (!w->err)
		d->leaves[d->n_leaves++] = pointer;
	return true;
}

static int load_blocks(struct fs_check *c, struct check_dir *d)
{
	struct check_walk w = {.c = c, .ino = d->ino, .keep = collect, .ctx = d};
	bool changed = false;
	unsigned int bad;
	struct fs_inode i;
	int err = fs_check_read(c, d->ino, &i, &bad);

	if (!err)
		err = fs_check_walk(&w, &i, &changed);
	if (!err && (w.last != d->n_leaves || i.size != w.last * FS_BLOCK))
		fs_check_tell(c,
			      "directory %u: of %llu bytes, it has %u blocks, the last one of %llu",
			      d->ino, (ull)i.size, d->n_leaves, (ull)w.last);
	return err;
}

static int compare(const uint8_t *x, uint32_t n, const uint8_t *y, uint32_t m)
{
	const int order = memcmp(x, y, n < m ? n : m);

	return order ? order : n < m ? -1 : n > m;
}

static int by_text(const void *a, const void *b, void *ctx)
{
	const struct check_name *x = a, *y = b;
	const struct check_dir *d = ctx;
	const int order = compare(d->texts + x->text, x->length, d->texts + y->text, y->length);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* Of equal names, the first in the directory counts. */
static void check_twice(struct fs_check *c, struct check_dir *d)
{
	uint32_t n = 0;

	if (d->n_names)
		qsort_r(d->names, d->n_names, sizeof(*d->names), by_text, d);
	for (uint32_t i = 0; i < d->n_names; i++) {
		const struct check_name *x = &d->names[i], *y = &d->names[n ? n - 1 : 0];
		char text[4 * ANNEX_FS_NAME + 1];

		if (!n || compare(d->texts + x->text, x->length, d->texts + y->text, y->length)) {
			d->names[n++] = *x;
			continue;
		}
		fs_check_escape(text, d->texts + x->text, x->length);
		fs_check_tell(c, "directory %u: the name \"%s\" is there twice", d->ino, text);
	}
	d->n_names = n;
}

int check_dir_load(struct fs_check *c, uint32_t ino, struct check_dir *d)
{
	int err;

	*d = (struct check_dir){.ino = ino};
	err = load_blocks(c, d);
	for (uint32_t leaf = 0; !err && leaf < d->n_leaves; leaf++)
		err = scan_block(c, d, leaf);
	if (!err)
		check_twice(c, d);
	return err;
}

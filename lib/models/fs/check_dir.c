// SPDX-License-Identifier: MIT
/*
 * Directories that are checked: their blocks, and the names in them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "check.h"
#include "dir.h"
#include "node.h"

/* Room for @more; @at is a pointer to the array. */
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
 * struct scan - A block of a directory. @names: lines that names take. @again: their heads, and
 * those between them, are to be written again. @astray: behind lines that could not be read, so
 * that the next one may be no head.
 */
struct scan {
	struct fs_check *c;
	struct check_dir *d;
	uint32_t leaf, block;
	bool last;
	uint64_t names;
	bool again, astray;
	struct fs_line lines[FS_LINES];
	uint64_t good;
};

static bool is_good(const struct scan *s, uint32_t line)
{
	return s->good >> line & 1;
}

/* Whether there is nothing from a line on. */
static bool is_end(const struct scan *s, uint32_t line)
{
	static const uint8_t none[FS_PAYLOAD];

	for (; line < FS_LINES; line++)
		if (!is_good(s, line) || memcmp(s->lines[line].payload, none, FS_PAYLOAD) != 0)
			return false;
	return true;
}

/* A line that is no head. The first one of several is told. */
static void stray(struct scan *s, uint32_t line)
{
	if (!is_good(s, line))
		fs_check_tell(s->c, true, "directory %u: line %u of block %u is damaged", s->d->ino,
			      line, s->block);
	else if (!s->astray)
		fs_check_tell(s->c, true, "directory %u: line %u of block %u is no name", s->d->ino,
			      line, s->block);
	s->again = s->astray = true;
}

/* Whether a head that is good may be one. Behind damage it may be a part of a name. */
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

/* Whether the lines behind a head are good, those that are free too: names will be put there. */
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
	s->names |= ((1ull << fs_dir_lines(h->length)) - 1) << line;
	memcpy(text, s->lines[line].payload + FS_PAYLOAD - FS_DIR_FIRST, done);
	while (done < h->length) {
		const uint32_t left = h->length - done, m = left < FS_PAYLOAD ? left : FS_PAYLOAD;

		memcpy(text + done, s->lines[++line].payload, m);
		done += m;
	}
	return 0;
}

/* Room that is kept must be kept as the file system gives it, by heads of a few lines. */
static int scan_head(struct scan *s, const struct fs_head *h, uint32_t line)
{
	const bool name = h->kind == FS_DIR_NAME, whole = is_whole(s, h, line);

	if (h->lines > (name ? fs_dir_lines(h->length) : FS_DIR_LINES)) {
		fs_check_tell(s->c, true, "directory %u: line %u of block %u has too much room",
			      s->d->ino, line, s->block);
		s->again = true;
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
	if (s->last)
		s->d->tail = s->leaf * FS_LINES + line;
	else if (!err && FS_LINES - line >= FS_DIR_LINES && !s->again) {
		fs_check_tell(s->c, true, "directory %u: block %u ends at line %u", s->d->ino,
			      s->block, line);
		s->again = true;
	}
	return err;
}

/* Lines [@from, @end) hold no name. */
static void free_lines(struct scan *s, struct check_block *b, uint32_t from, uint32_t end)
{
	const bool tail = s->last && end == FS_LINES;

	for (uint32_t i = from; i < end; i++) {
		const uint32_t left = end - i, n = left < FS_DIR_LINES ? left : FS_DIR_LINES;
		const struct fs_head h = {.lines = (uint8_t)n, .kind = FS_DIR_FREE};
		uint8_t payload[FS_PAYLOAD] = {0};

		if (!tail && !((i - from) % FS_DIR_LINES))
			fs_dir_put_head(payload, &h);
		fs_check_set(s->c, b, i, payload);
	}
	if (tail)
		s->d->tail = s->leaf * FS_LINES + from;
}

static int write_again(struct scan *s)
{
	struct check_block *b;
	int err = fs_check_get(s->c, s->block, &b);

	if (err)
		return err;
	if (s->last)
		s->d->tail = (s->leaf + 1) * FS_LINES;
	for (uint32_t line = 0, end; line < FS_LINES; line = end) {
		end = line + 1;
		if (s->names >> line & 1) {
			struct fs_head h = fs_dir_head(s->lines[line].payload);

			h.lines = (uint8_t)fs_dir_lines(h.length);
			fs_dir_put_head(s->lines[line].payload, &h);
			fs_check_set(s->c, b, line, s->lines[line].payload);
			end = line + h.lines;
			continue;
		}
		while (end < FS_LINES && !(s->names >> end & 1))
			end++;
		free_lines(s, b, line, end);
	}
	return 0;
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
	err = scan_lines(&s);
	return !err && s.again ? write_again(&s) : err;
}

/* The blocks of a directory, one behind the other. */
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

/* Blocks of the map are free. */
static bool drop_node(struct check_walk *w, uint64_t index, uint32_t pointer, unsigned int height)
{
	(void)index;
	if (height)
		fs_check_drop(w->c, pointer);
	return true;
}

/* Blocks of a map of so many leaves. */
static uint32_t count_nodes(uint32_t n)
{
	uint32_t nodes = 0;

	if (n <= FS_DIRECT)
		return 0;
	do {
		n = (n + FS_FAN - 1) / FS_FAN;
		nodes += n;
	} while (n > 1);
	return nodes;
}

/* A node of a map. */
static int write_node(struct fs_check *c, uint32_t block, const uint32_t *pointers, uint32_t n)
{
	struct check_block *b;
	int err = fs_check_new(c, block, &b);

	for (uint32_t line = 0; !err && line * FS_POINTERS < n; line++) {
		uint8_t payload[FS_PAYLOAD] = {0};

		for (uint32_t k = 0; k < FS_POINTERS && line * FS_POINTERS + k < n; k++)
			for (uint32_t i = 0; i < 4; i++)
				payload[k * 4 + i] = (uint8_t)(pointers[line * FS_POINTERS + k] >>
							       8 * i);
		fs_check_set(c, b, line, payload);
	}
	return err;
}

/* Nodes over @n pointers become the pointers, until they go into an inode. */
static int build(struct fs_check *c, uint32_t *pointers, uint32_t n, struct fs_inode *i)
{
	int err = 0;

	i->height = 0;
	while (!err && n > (i->height ? 1 : FS_DIRECT)) {
		const uint32_t nodes = (n + FS_FAN - 1) / FS_FAN;

		for (uint32_t k = 0; !err && k < nodes; k++) {
			const uint32_t first = k * FS_FAN, left = n - first;
			const uint32_t block = fs_check_take(c);

			err = write_node(c, block, pointers + first, left < FS_FAN ? left : FS_FAN);
			pointers[k] = block;
		}
		n = nodes;
		i->height++;
	}
	memset(i->map, 0, sizeof(i->map));
	memcpy(i->map, pointers, n * sizeof(*pointers));
	return err;
}

/*
 * The map of a directory is made anew. The old one is overwritten only if there is no other room,
 * so that its names are there still when this is cut short.
 */
static int set_map(struct fs_check *c, struct check_dir *d)
{
	struct check_walk old = {.c = c, .ino = d->ino, .keep = drop_node};
	uint32_t *pointers = calloc(d->n_leaves + 1, sizeof(*pointers));
	struct fs_inode i = {0}, was;
	unsigned int bad;
	bool changed = false, late;
	int err = pointers ? fs_check_read(c, d->ino, &i, &bad)
			   : annex_fail(-ENOMEM, "file system: out of memory");

	was = i;
	late = c->free >= count_nodes(d->n_leaves);
	if (!err && !late)
		err = fs_check_walk(&old, &was, &changed);
	for (uint32_t k = 0; !err && k < d->n_leaves; k++)
		pointers[k] = d->leaves[k];
	if (!err)
		err = build(c, pointers, d->n_leaves, &i);
	if (!err && late)
		err = fs_check_walk(&old, &was, &changed);
	free(pointers);
	if (err)
		return err;
	i.size = (uint64_t)d->n_leaves * FS_BLOCK;
	i.blocks = d->n_leaves + count_nodes(d->n_leaves) + (i.xattr != 0);
	return fs_check_write(c, d->ino, &i);
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
	if (err || (w.last == d->n_leaves && i.size == w.last * FS_BLOCK))
		return err;
	fs_check_tell(c, true,
		      "directory %u: of %llu bytes, it has %u blocks, the last one of %llu", d->ino,
		      (ull)i.size, d->n_leaves, (ull)w.last);
	return set_map(c, d);
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

const struct check_name *check_dir_find(const struct check_dir *d, const char *text)
{
	const uint32_t n = (uint32_t)strlen(text);
	uint32_t from = 0, end = d->n_names;

	while (from < end) {
		const uint32_t middle = from + (end - from) / 2;
		const struct check_name *x = &d->names[middle];
		const int order = compare(d->texts + x->text, x->length, (const uint8_t *)text, n);

		if (!order)
			return x;
		if (order < 0)
			from = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

int check_dir_set(struct fs_check *c, const struct check_dir *d, const struct check_name *name,
		  uint8_t type)
{
	const uint32_t line = name->at % FS_LINES;
	uint8_t payload[FS_PAYLOAD] = {0};
	struct check_block *b;
	struct fs_head h;
	int err = fs_check_get(c, d->leaves[name->at / FS_LINES], &b);

	if (err)
		return err;
	h = fs_dir_head(b->lines[line].payload);
	if (type) {
		memcpy(payload, b->lines[line].payload, FS_PAYLOAD);
		h.type = type;
	} else {
		h = (struct fs_head){.lines = h.lines, .kind = FS_DIR_FREE};
	}
	fs_dir_put_head(payload, &h);
	fs_check_set(c, b, line, payload);
	return 0;
}

/* Of names that are the same, the first one in the directory stays. */
static int check_twice(struct fs_check *c, struct check_dir *d)
{
	uint32_t n = 0;
	int err = 0;

	if (d->n_names)
		qsort_r(d->names, d->n_names, sizeof(*d->names), by_text, d);
	for (uint32_t i = 0; !err && i < d->n_names; i++) {
		const struct check_name *x = &d->names[i], *y = &d->names[n ? n - 1 : 0];
		char text[4 * ANNEX_FS_NAME + 1];

		if (!n || compare(d->texts + x->text, x->length, d->texts + y->text, y->length)) {
			d->names[n++] = *x;
			continue;
		}
		fs_check_escape(text, d->texts + x->text, x->length);
		fs_check_tell(c, true, "directory %u: the name \"%s\" is there twice", d->ino,
			      text);
		err = check_dir_set(c, d, x, 0);
	}
	d->n_names = n;
	return err;
}

int check_dir_load(struct fs_check *c, uint32_t ino, struct check_dir *d)
{
	int err;

	*d = (struct check_dir){.ino = ino};
	err = load_blocks(c, d);
	for (uint32_t leaf = 0; !err && leaf < d->n_leaves; leaf++)
		err = scan_block(c, d, leaf);
	return err ? err : check_twice(c, d);
}

/* One more block. */
static int extend(struct fs_check *c, struct check_dir *d)
{
	struct check_block *b;
	int err;

	/* The old map may go only when the new one is there. */
	if (c->free < 1 + count_nodes(d->n_leaves + 1) || d->n_leaves >= UINT32_MAX / FS_LINES)
		return -ENOSPC;
	err = grow(&d->leaves, d->n_leaves, 1, &d->room_leaves, sizeof(*d->leaves));
	if (err)
		return err;
	d->leaves[d->n_leaves] = fs_check_take(c);
	err = fs_check_new(c, d->leaves[d->n_leaves], &b);
	d->n_leaves++;
	return err ? err : set_map(c, d);
}

int check_dir_add(struct fs_check *c, struct check_dir *d, const char *text, uint32_t ino,
		  uint8_t type)
{
	const struct fs_head h = {ino, type, (uint8_t)strlen(text), 1, FS_DIR_NAME};
	uint8_t payload[FS_PAYLOAD] = {0};
	struct check_block *b;
	int err = d->tail == d->n_leaves * FS_LINES ? extend(c, d) : 0;

	if (!err)
		err = fs_check_get(c, d->leaves[d->tail / FS_LINES], &b);
	if (err)
		return err;
	fs_dir_put_head(payload, &h);
	memcpy(payload + FS_PAYLOAD - FS_DIR_FIRST, text, h.length);
	fs_check_set(c, b, d->tail % FS_LINES, payload);
	d->tail++;
	return 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "dir.h"
#include "map.h"
#include "op.h"
#include "page.h"

/* struct places - Places for names of some number of lines. */
struct places {
	uint32_t *at;
	uint32_t n, room;
};

/*
 * struct fs_dir - The table of a directory.
 * @chains: hash table.
 * @size: number of chains, a power of two.
 * @free: free places, by their number of lines.
 * @tail: first line that was never used.
 */
struct fs_dir {
	struct fs_name **chains;
	uint32_t size, n;
	struct places free[FS_DIR_LINES + 1];
	uint32_t tail;
};

struct fs_head fs_dir_head(const uint8_t *p)
{
	return (struct fs_head){
		.ino = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24,
		.type = p[4],
		.length = p[5],
		.lines = p[6],
		.kind = p[7],
	};
}

void fs_dir_put_head(uint8_t *p, const struct fs_head *h)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(h->ino >> 8 * i);
	p[4] = h->type;
	p[5] = h->length;
	p[6] = h->lines;
	p[7] = h->kind;
}

/* Whether a head is plausible for its line. */
static bool sound(const struct annex_fs *fs, const struct fs_head *h, uint32_t line)
{
	if (!h->lines || line + h->lines > FS_LINES)
		return false;
	return (h->kind == FS_DIR_FREE && h->lines <= FS_DIR_LINES) ||
	       (h->kind == FS_DIR_NAME && h->length && h->lines >= fs_dir_lines(h->length) &&
		h->ino && h->ino < fs->super.inodes);
}

void fs_dir_free(struct fs_dir *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; d->chains && i < d->size; i++)
		while (d->chains[i]) {
			struct fs_name *next = d->chains[i]->next;

			free(d->chains[i]);
			d->chains[i] = next;
		}
	for (unsigned int i = 0; i <= FS_DIR_LINES; i++)
		free(d->free[i].at);
	free(d->chains);
	free(d);
}

/* FNV-1a. */
static uint32_t hash_of(const char *text, uint32_t length)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < length; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h;
}

static int resize(struct fs_dir *d)
{
	const uint32_t size = d->size ? d->size * 2 : 16;
	struct fs_name **chains = calloc(size, sizeof(struct fs_name *));

	if (!chains)
		return annex_fail(-ENOMEM, "file system: out of memory");
	for (uint32_t i = 0; i < d->size; i++)
		while (d->chains[i]) {
			struct fs_name *name = d->chains[i];

			d->chains[i] = name->next;
			name->next = chains[name->hash & (size - 1)];
			chains[name->hash & (size - 1)] = name;
		}
	free(d->chains);
	d->chains = chains;
	d->size = size;
	return 0;
}

static int insert(struct fs_dir *d, const struct fs_head *h, const char *text, uint32_t at)
{
	struct fs_name *name;
	int err = d->n >= d->size ? resize(d) : 0;

	if (err)
		return err;
	name = malloc(sizeof(*name) + h->length + 1u);
	if (!name)
		return annex_fail(-ENOMEM, "file system: out of memory");
	*name = (struct fs_name){
		.hash = hash_of(text, h->length),
		.ino = h->ino,
		.at = at,
		.type = h->type,
		.lines = h->lines,
		.length = h->length,
	};
	memcpy(name->text, text, h->length);
	name->text[h->length] = 0;
	name->next = d->chains[name->hash & (d->size - 1)];
	d->chains[name->hash & (d->size - 1)] = name;
	d->n++;
	return 0;
}

/* Add free lines, at most as many as the longest name has. */
static int add_place(struct fs_dir *d, uint32_t at, uint32_t lines)
{
	struct places *p = &d->free[lines];

	if (!lines)
		return 0;
	if (p->n == p->room) {
		const uint32_t room = p->room ? p->room * 2 : 8;
		uint32_t *more = reallocarray(p->at, room, sizeof(*more));

		if (!more)
			return annex_fail(-ENOMEM, "file system: out of memory");
		p->at = more;
		p->room = room;
	}
	p->at[p->n++] = at;
	return 0;
}

/* Get the buffer of a block of a directory. */
static int get_block(struct annex_fs *fs, const struct fs_node *n, uint32_t index,
		     struct fs_buf **out)
{
	uint32_t pointer;
	int err = fs_map_get(fs, n, index, &pointer);

	if (err)
		return err;
	if (!pointer || pointer & FS_UNWRITTEN)
		return annex_fail(-EIO, "file system: directory %u is damaged: it has a hole",
				  n->ino);
	return fs_buf_get(fs, pointer, ANNEX_FS_DIRECTORY, out);
}

static int read_text(struct fs_buf *b, uint32_t line, uint32_t length, char *text)
{
	uint32_t done = length < FS_DIR_FIRST ? length : FS_DIR_FIRST;
	const uint8_t *payload;
	int err = fs_line(b, line, &payload);

	if (err)
		return err;
	memcpy(text, payload + FS_PAYLOAD - FS_DIR_FIRST, done);
	while (!err && done < length) {
		const uint32_t left = length - done, m = left < FS_PAYLOAD ? left : FS_PAYLOAD;

		err = fs_line(b, ++line, &payload);
		if (!err)
			memcpy(text + done, payload, m);
		done += m;
	}
	text[length] = 0;
	return err;
}

static int damaged(const struct fs_node *n, uint32_t at)
{
	return annex_fail(-EIO, "file system: directory %u is damaged at line %u; run fsck", n->ino,
			  at);
}

static int load_block(struct annex_fs *fs, struct fs_node *n, struct fs_dir *d, uint32_t index,
		      bool last)
{
	char text[ANNEX_FS_NAME + 1];
	struct fs_buf *b;
	struct fs_head h;
	int err = get_block(fs, n, index, &b);

	for (uint32_t line = 0; !err && line < FS_LINES; line += h.lines) {
		const uint32_t at = index * FS_LINES + line;
		const uint8_t *payload;

		err = fs_line(b, line, &payload);
		if (err)
			break;
		h = fs_dir_head(payload);
		if (h.kind == FS_DIR_END) {
			if (last)
				d->tail = at;
			else if (FS_LINES - line > FS_DIR_LINES)
				return damaged(n, at);
			return last ? 0 : add_place(d, at, FS_LINES - line);
		}
		if (!sound(fs, &h, line))
			return damaged(n, at);
		if (h.kind == FS_DIR_FREE) {
			err = add_place(d, at, h.lines);
			continue;
		}
		err = read_text(b, line, h.length, text);
		if (!err)
			err = insert(d, &h, text, at);
	}
	return err;
}

static int load(struct annex_fs *fs, struct fs_node *n)
{
	const uint32_t blocks = (uint32_t)(n->i.size / FS_BLOCK);
	struct fs_dir *d;
	int err;

	if (n->dir)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return annex_fail(-ENOMEM, "file system: out of memory");
	d->tail = blocks * FS_LINES;
	err = resize(d);
	for (uint32_t i = 0; !err && i < blocks; i++)
		err = load_block(fs, n, d, i, i + 1 == blocks);
	if (err)
		fs_dir_free(d);
	else
		n->dir = d;
	return err;
}

int fs_dir_find(struct annex_fs *fs, struct fs_node *n, const char *text, struct fs_name **out)
{
	const uint32_t length = (uint32_t)strlen(text), hash = hash_of(text, length);
	int err = load(fs, n);

	if (err)
		return err;
	*out = n->dir->chains[hash & (n->dir->size - 1)];
	while (*out && ((*out)->hash != hash || (*out)->length != length ||
			memcmp((*out)->text, text, length) != 0))
		*out = (*out)->next;
	return *out ? 0 : -ENOENT;
}

/* Add a block to the directory. */
static int grow(struct annex_fs *fs, struct fs_node *n)
{
	const uint32_t index = (uint32_t)(n->i.size / FS_BLOCK);
	struct fs_dir *d = n->dir;
	struct fs_buf *b;
	uint32_t block;
	int err = fs_block_take(fs, n->goal, &block);

	if (!err)
		err = fs_buf_new(fs, block, ANNEX_FS_DIRECTORY, &b);
	if (!err)
		err = fs_map_set(fs, n, index, block);
	/* The previous block may have lines left. */
	if (!err && d->tail % FS_LINES)
		err = add_place(d, d->tail, FS_LINES - d->tail % FS_LINES);
	if (err)
		return err;
	n->goal = block + 1;
	n->i.blocks++;
	n->i.size += FS_BLOCK;
	d->tail = index * FS_LINES;
	return 0;
}

int fs_dir_begin(struct annex_fs *fs, struct fs_node *n)
{
	int err = load(fs, n);

	return err ? err : grow(fs, n);
}

/* Get the payload of a line of the directory, to change it. */
static int change_line(struct annex_fs *fs, struct fs_node *n, uint32_t at, uint8_t **payload)
{
	struct fs_buf *b;
	int err = get_block(fs, n, at / FS_LINES, &b);

	return err ? err : fs_line_change(fs, b, at % FS_LINES, payload);
}

static int set_head(struct annex_fs *fs, struct fs_node *n, uint32_t at, const struct fs_head *h)
{
	uint8_t *payload;
	int err = change_line(fs, n, at, &payload);

	if (!err)
		fs_dir_put_head(payload, h);
	return err;
}

/* Find lines for a name: free ones, or the next unused ones. */
static int find_place(struct annex_fs *fs, struct fs_node *n, uint32_t lines, uint32_t *at)
{
	struct fs_dir *d = n->dir;
	int err = 0;

	for (uint32_t k = lines; k <= FS_DIR_LINES; k++) {
		const struct fs_head rest = {.lines = (uint8_t)(k - lines), .kind = FS_DIR_FREE};

		if (!d->free[k].n)
			continue;
		*at = d->free[k].at[--d->free[k].n];
		if (k > lines)
			err = set_head(fs, n, *at + lines, &rest);
		return err ? err : add_place(d, *at + lines, k - lines);
	}
	if (d->tail == n->i.size / FS_LINE || d->tail % FS_LINES + lines > FS_LINES)
		err = grow(fs, n);
	*at = d->tail;
	d->tail += err ? 0 : lines;
	return err;
}

int fs_dir_add(struct annex_fs *fs, struct fs_node *n, const char *text, uint32_t ino,
	       uint32_t mode)
{
	const uint32_t length = (uint32_t)strlen(text), lines = fs_dir_lines(length);
	const struct fs_head h = {ino, (uint8_t)(mode >> 12), (uint8_t)length, (uint8_t)lines,
				  FS_DIR_NAME};
	uint32_t at, done = length < FS_DIR_FIRST ? length : FS_DIR_FIRST;
	uint8_t *payload;
	int err = load(fs, n);

	if (!err)
		err = fs_node_change(fs, n);
	if (!err)
		err = find_place(fs, n, lines, &at);
	if (!err)
		err = change_line(fs, n, at, &payload);
	if (err)
		return err;
	memset(payload, 0, FS_PAYLOAD);
	fs_dir_put_head(payload, &h);
	memcpy(payload + FS_PAYLOAD - FS_DIR_FIRST, text, done);
	for (uint32_t i = 1; !err && i < lines; i++) {
		const uint32_t left = length - done, m = left < FS_PAYLOAD ? left : FS_PAYLOAD;

		err = change_line(fs, n, at + i, &payload);
		if (err)
			break;
		memset(payload, 0, FS_PAYLOAD);
		memcpy(payload, text + done, m);
		done += m;
	}
	n->i.mtime = n->i.ctime = fs_now();
	return err ? err : insert(n->dir, &h, text, at);
}

int fs_dir_remove(struct annex_fs *fs, struct fs_node *n, struct fs_name *name)
{
	const struct fs_head h = {.lines = name->lines, .kind = FS_DIR_FREE};
	struct fs_name **at = &n->dir->chains[name->hash & (n->dir->size - 1)];
	int err = fs_node_change(fs, n);

	if (!err)
		err = set_head(fs, n, name->at, &h);
	if (!err)
		err = add_place(n->dir, name->at, name->lines);
	if (err)
		return err;
	while (*at != name)
		at = &(*at)->next;
	*at = name->next;
	free(name);
	n->dir->n--;
	n->i.mtime = n->i.ctime = fs_now();
	return 0;
}

int fs_dir_set(struct annex_fs *fs, struct fs_node *n, struct fs_name *name, uint32_t ino,
	       uint32_t mode)
{
	const struct fs_head h = {ino, (uint8_t)(mode >> 12), name->length, name->lines,
				  FS_DIR_NAME};
	int err = fs_node_change(fs, n);

	if (!err)
		err = set_head(fs, n, name->at, &h);
	if (err)
		return err;
	name->ino = ino;
	name->type = h.type;
	n->i.mtime = n->i.ctime = fs_now();
	return 0;
}

int fs_dir_empty(struct annex_fs *fs, struct fs_node *n)
{
	int err = load(fs, n);

	return err ? err : !n->dir->n;
}

/* Read the head at line @at in @b. *@behind: the line after its lines. */
static int read_head(struct annex_fs *fs, struct fs_node *n, struct fs_buf *b, uint32_t at,
		     struct fs_head *h, uint32_t *behind)
{
	const uint8_t *payload;
	int err = fs_line(b, at % FS_LINES, &payload);

	if (err)
		return err;
	*h = fs_dir_head(payload);
	*behind = h->kind == FS_DIR_END ? (at / FS_LINES + 1) * FS_LINES : at + h->lines;
	return h->kind == FS_DIR_END || sound(fs, h, at % FS_LINES) ? 0 : damaged(n, at);
}

/* Programs may seek anywhere: advance *@at to a head. The first line of a block is a head. */
static int find_head(struct annex_fs *fs, struct fs_node *n, uint32_t *at)
{
	uint32_t line = *at / FS_LINES * FS_LINES;
	struct fs_head h;
	struct fs_buf *b;
	int err = get_block(fs, n, *at / FS_LINES, &b);

	while (!err && line < *at)
		err = read_head(fs, n, b, line, &h, &line);
	*at = line;
	return err;
}

int fs_dir_next(struct annex_fs *fs, struct fs_node *n, uint32_t *at, struct annex_fs_entry *out)
{
	const uint32_t blocks = (uint32_t)(n->i.size / FS_BLOCK);
	struct fs_head h;
	struct fs_buf *b;
	int err = *at / FS_LINES < blocks ? find_head(fs, n, at) : 0;

	while (!err && *at / FS_LINES < blocks) {
		const uint32_t line = *at % FS_LINES;

		err = get_block(fs, n, *at / FS_LINES, &b);
		if (!err)
			err = read_head(fs, n, b, *at, &h, at);
		if (err || h.kind != FS_DIR_NAME)
			continue;
		err = read_text(b, line, h.length, out->name);
		out->ino = h.ino;
		out->type = (uint32_t)h.type << 12;
		return err ? err : 1;
	}
	return err;
}

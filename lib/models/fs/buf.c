// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/crc32c.h"
#include "core/log.h"
#include "buf.h"
#include "dev.h"
#include "op.h"

#define CHAINS 4096u
#define MOST 4096u /* blocks, 16 MiB */

int fs_bufs_init(struct fs_bufs *b)
{
	b->chains = calloc(CHAINS, sizeof(struct fs_buf *));
	return b->chains ? 0 : annex_fail(-ENOMEM, "file system: out of memory");
}

static struct fs_buf **chain(const struct fs_bufs *b, uint32_t block)
{
	return &b->chains[block * 0x9e3779b1u % CHAINS];
}

static bool is_pinned(const struct fs_buf *buf)
{
	return buf->joined || buf->logged;
}

static void unlist(struct fs_bufs *b, struct fs_buf *buf)
{
	struct fs_buf_list *l = is_pinned(buf) ? &b->pinned : &b->idle;

	*(buf->older ? &buf->older->newer : &l->oldest) = buf->newer;
	*(buf->newer ? &buf->newer->older : &l->newest) = buf->older;
	*(is_pinned(buf) ? &b->n_pinned : &b->n_idle) -= 1;
}

static void list(struct fs_bufs *b, struct fs_buf *buf)
{
	struct fs_buf_list *l = is_pinned(buf) ? &b->pinned : &b->idle;

	buf->newer = NULL;
	buf->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = buf;
	l->newest = buf;
	*(is_pinned(buf) ? &b->n_pinned : &b->n_idle) += 1;
}

static void give(struct fs_bufs *b, struct fs_buf *buf)
{
	struct fs_buf **at = chain(b, buf->block);

	while (*at != buf)
		at = &(*at)->next;
	*at = buf->next;
	unlist(b, buf);
	b->n_joined -= buf->joined;
	free(buf);
}

void fs_bufs_free(struct fs_bufs *b)
{
	while (b->idle.oldest)
		give(b, b->idle.oldest);
	while (b->pinned.oldest)
		give(b, b->pinned.oldest);
	free(b->chains);
}

void fs_bufs_trim(struct fs_bufs *b)
{
	while (b->n_idle > MOST)
		give(b, b->idle.oldest);
}

void fs_bufs_unpin(struct fs_bufs *b)
{
	while (b->pinned.oldest) {
		struct fs_buf *buf = b->pinned.oldest;

		unlist(b, buf);
		buf->joined = buf->logged = false;
		list(b, buf);
	}
}

static struct fs_buf *find(const struct fs_bufs *b, uint32_t block)
{
	struct fs_buf *buf = *chain(b, block);

	while (buf && buf->block != block)
		buf = buf->next;
	return buf;
}

static struct fs_buf *add(struct fs_bufs *b, uint32_t block, enum annex_fs_class class)
{
	struct fs_buf *buf = calloc(1, sizeof(*buf));

	if (!buf) {
		annex_fail(-ENOMEM, "file system: out of memory");
		return NULL;
	}
	buf->block = block;
	buf->class = class;
	buf->next = *chain(b, block);
	*chain(b, block) = buf;
	list(b, buf);
	return buf;
}

int fs_buf_get(struct annex_fs *fs, uint32_t block, enum annex_fs_class class, struct fs_buf **out)
{
	struct fs_bufs *b = &fs->bufs;
	int err;

	*out = find(b, block);
	if (*out) {
		if (!is_pinned(*out)) {
			unlist(b, *out);
			list(b, *out);
		}
		return 0;
	}
	*out = add(b, block, class);
	if (!*out)
		return -ENOMEM;
	err = fs_dev_read_blocks(&fs->dev, class, block, (*out)->lines, 1);
	if (err)
		give(b, *out);
	return err;
}

int fs_buf_new(struct annex_fs *fs, uint32_t block, enum annex_fs_class class, struct fs_buf **out)
{
	*out = find(&fs->bufs, block);
	if (*out)
		memset((*out)->lines, 0, sizeof((*out)->lines));
	else
		*out = add(&fs->bufs, block, class);
	if (!*out)
		return -ENOMEM;
	(*out)->class = class;
	(*out)->good = FS_ALL;
	return fs_op_fresh(fs, block);
}

struct fs_buf *fs_buf_find(struct annex_fs *fs, uint32_t block)
{
	return find(&fs->bufs, block);
}

void fs_buf_join(struct annex_fs *fs, struct fs_buf *b)
{
	if (b->joined)
		return;
	unlist(&fs->bufs, b);
	b->joined = true;
	list(&fs->bufs, b);
	fs->bufs.n_joined++;
}

int fs_buf_log(struct annex_fs *fs, uint32_t block, enum annex_fs_class class,
	       const struct fs_line *lines)
{
	struct fs_buf *b = add(&fs->bufs, block, class);

	if (!b)
		return -ENOMEM;
	unlist(&fs->bufs, b);
	b->logged = true;
	list(&fs->bufs, b);
	memcpy(b->lines, lines, sizeof(b->lines));
	return 0;
}

void fs_buf_drop(struct annex_fs *fs, uint32_t block)
{
	struct fs_buf *buf = find(&fs->bufs, block);

	if (buf)
		give(&fs->bufs, buf);
}

uint32_t fs_line_sum(const struct fs_line *l, uint32_t block, uint32_t line)
{
	const uint64_t where = ((uint64_t)block * FS_LINES + line) * 0x9e3779b97f4a7c15ull;
	uint64_t words[FS_PAYLOAD / 8];
	uint32_t last, sum;

	memcpy(words, l->payload, sizeof(words));
	memcpy(&last, l->payload + sizeof(words), sizeof(last));
	sum = annex_crc32c(words, FS_PAYLOAD / 8, last ^ (uint32_t)(where >> 32));
	return sum ? sum : 1; /* 0 marks a line that was never stored */
}

bool fs_line_good(const struct fs_line *l, uint32_t block, uint32_t line)
{
	static const struct fs_line never;

	return l->crc ? l->crc == fs_line_sum(l, block, line) : !memcmp(l, &never, sizeof(never));
}

int fs_line(struct fs_buf *b, uint32_t line, const uint8_t **payload)
{
	if (!(b->good >> line & 1)) {
		if (!fs_line_good(&b->lines[line], b->block, line))
			return annex_fail(-EIO,
					  "file system: line %u of block %u is damaged: its "
					  "checksum is wrong; unmount and run fsck",
					  line, b->block);
		b->good |= 1ull << line;
	}
	*payload = b->lines[line].payload;
	return 0;
}

int fs_line_change(struct annex_fs *fs, struct fs_buf *b, uint32_t line, uint8_t **payload)
{
	const uint8_t *now;
	int err = fs_line(b, line, &now);

	if (!err && !(b->dirty >> line & 1))
		err = fs_op_line(fs, b, line);
	*payload = b->lines[line].payload;
	return err;
}

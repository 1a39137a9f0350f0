// SPDX-License-Identifier: MIT
/*
 * Extended attributes. A file has them in a block of lines, packed: length of the name, length of
 * the value (2 bytes), name, value; a length of 0 ends the list.
 */
#include <errno.h>
#include <string.h>
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "file.h"
#include "node.h"
#include "op.h"
#include "page.h"

#define ROOM (FS_LINES * FS_PAYLOAD)
#define HEAD 3u

/* struct list - The attributes of a file. @used: bytes in use. */
struct list {
	uint32_t used;
	uint8_t bytes[ROOM + HEAD];
};

static uint32_t value_length(const uint8_t *a)
{
	return a[1] | (uint32_t)a[2] << 8;
}

static uint32_t length(const uint8_t *a)
{
	return HEAD + a[0] + value_length(a);
}

static int load(struct annex_fs *fs, const struct fs_node *n, struct list *l)
{
	const uint8_t *payload;
	struct fs_buf *b;
	int err = 0;

	memset(l, 0, sizeof(*l));
	if (!n->i.xattr)
		return 0;
	err = fs_buf_get(fs, n->i.xattr, ANNEX_FS_INODE, &b);
	for (uint32_t i = 0; !err && i < FS_LINES; i++) {
		err = fs_line(b, i, &payload);
		if (!err)
			memcpy(l->bytes + i * FS_PAYLOAD, payload, FS_PAYLOAD);
	}
	while (!err && l->used < ROOM && l->bytes[l->used]) {
		l->used += length(l->bytes + l->used);
		if (l->used > ROOM)
			err = -EIO;
	}
	return err;
}

/* Store only changed lines. */
static int store(struct annex_fs *fs, struct fs_node *n, const struct list *l)
{
	const uint8_t *now;
	uint8_t *payload;
	struct fs_buf *b;
	int err;

	if (!l->used && n->i.xattr) {
		err = fs_block_give(fs, n->i.xattr);
		n->i.xattr = 0;
		n->i.blocks--;
		return err;
	}
	if (!n->i.xattr) {
		err = fs_block_take(fs, 0, &n->i.xattr);
		if (!err)
			err = fs_buf_new(fs, n->i.xattr, ANNEX_FS_INODE, &b);
		n->i.blocks++;
	} else {
		err = fs_buf_get(fs, n->i.xattr, ANNEX_FS_INODE, &b);
	}
	for (uint32_t i = 0; !err && i < FS_LINES; i++) {
		err = fs_line(b, i, &now);
		if (err || !memcmp(now, l->bytes + i * FS_PAYLOAD, FS_PAYLOAD))
			continue;
		err = fs_line_change(fs, b, i, &payload);
		if (!err)
			memcpy(payload, l->bytes + i * FS_PAYLOAD, FS_PAYLOAD);
	}
	return err;
}

static uint8_t *find(struct list *l, const char *name)
{
	const size_t n = strlen(name);

	for (uint32_t at = 0; at < l->used; at += length(l->bytes + at))
		if (l->bytes[at] == n && !memcmp(l->bytes + at + HEAD, name, n))
			return l->bytes + at;
	return NULL;
}

static void take_out(struct list *l, uint8_t *a)
{
	const uint32_t n = length(a), at = (uint32_t)(a - l->bytes);

	memmove(a, a + n, l->used - at - n);
	l->used -= n;
	memset(l->bytes + l->used, 0, n);
}

static int put_in(struct list *l, const char *name, const void *value, size_t bytes)
{
	const size_t n = strlen(name);
	uint8_t *a = l->bytes + l->used;

	if (bytes > ROOM || l->used + HEAD + n + bytes > ROOM)
		return -ENOSPC;
	a[0] = (uint8_t)n;
	a[1] = (uint8_t)bytes;
	a[2] = (uint8_t)(bytes >> 8);
	memcpy(a + HEAD, name, n);
	if (bytes)
		memcpy(a + HEAD + n, value, bytes);
	l->used += (uint32_t)(HEAD + n + bytes);
	return 0;
}

static int change(struct list *l, const char *name, const void *value, size_t bytes,
		  unsigned int flags)
{
	uint8_t *a = find(l, name);

	if (a && flags & ANNEX_FS_XATTR_CREATE)
		return -EEXIST;
	if (!a && (!value || flags & ANNEX_FS_XATTR_REPLACE))
		return -ENODATA;
	if (a)
		take_out(l, a);
	return value ? put_in(l, name, value, bytes) : 0;
}

/* Find a file and read its attributes. */
static int reach(struct annex_fs *fs, uint32_t ino, struct fs_node **n, struct list *l)
{
	int err = fs_node_get(fs, ino, n);

	return err ? err : load(fs, *n, l);
}

static int check_name(const char *name)
{
	return *name && strlen(name) <= ANNEX_FS_NAME ? 0 : -ERANGE;
}

int annex_fs_setxattr(struct annex_fs *fs, uint32_t ino, const char *name, const void *value,
		      size_t bytes, unsigned int flags)
{
	struct fs_node *n;
	struct list l;
	int err = fs_enter(fs, true);

	if (!err)
		err = check_name(name);
	if (!err)
		err = reach(fs, ino, &n, &l);
	if (!err)
		err = change(&l, name, value, bytes, flags);
	if (!err)
		err = fs_node_change(fs, n);
	if (!err) {
		n->i.ctime = fs_now();
		err = store(fs, n, &l);
	}
	return fs_leave(fs, err);
}

ssize_t annex_fs_getxattr(struct annex_fs *fs, uint32_t ino, const char *name, void *buf,
			  size_t bytes)
{
	const uint8_t *a = NULL;
	struct fs_node *n;
	struct list l;
	int err = fs_enter(fs, false);

	if (!err)
		err = check_name(name);
	if (!err)
		err = reach(fs, ino, &n, &l);
	if (!err) {
		a = find(&l, name);
		err = !a ? -ENODATA : bytes && value_length(a) > bytes ? -ERANGE : 0;
	}
	if (!err && bytes)
		memcpy(buf, a + HEAD + a[0], value_length(a));
	err = fs_leave(fs, err);
	return err ? err : (ssize_t)value_length(a);
}

ssize_t annex_fs_listxattr(struct annex_fs *fs, uint32_t ino, char *buf, size_t bytes)
{
	struct fs_node *n;
	struct list l;
	size_t done = 0;
	int err = fs_enter(fs, false);

	if (!err)
		err = reach(fs, ino, &n, &l);
	for (uint32_t at = 0; !err && at < l.used; at += length(l.bytes + at)) {
		const uint32_t m = l.bytes[at];

		if (bytes && done + m + 1 > bytes) {
			err = -ERANGE;
		} else if (bytes) {
			memcpy(buf + done, l.bytes + at + HEAD, m);
			buf[done + m] = 0;
		}
		done += m + 1;
	}
	err = fs_leave(fs, err);
	return err ? err : (ssize_t)done;
}

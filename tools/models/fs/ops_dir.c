// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ops.h"

#define LEAST 128u /* bytes of an entry with attributes, at least */

/* struct listing - An answer to readdir: entries, and the files that it has references to. */
struct listing {
	char *buf;
	size_t used, bytes;
	uint32_t *refs;
	size_t n_refs;
};

static int listing_init(struct listing *l, size_t bytes)
{
	*l = (struct listing){.bytes = bytes};
	l->buf = malloc(bytes ? bytes : 1);
	l->refs = malloc((bytes / LEAST + 1) * sizeof(*l->refs));
	return l->buf && l->refs ? 0 : -ENOMEM;
}

/* An error after the first entries is the result of the next request. */
static void listing_reply(fuse_req_t req, struct listing *l, int err)
{
	struct annex_fs *fs = ops_fs(req);

	if (err && !l->used)
		ops_answer(req, err);
	else if (fuse_reply_buf(req, l->buf, l->used))
		for (size_t i = 0; i < l->n_refs; i++)
			annex_fs_forget(fs, l->refs[i], 1);
	free(l->buf);
	free(l->refs);
}

/* Return: 1: added; 0: no room. */
static int add(fuse_req_t req, struct listing *l, const struct annex_fs_entry *e)
{
	const struct stat st = {.st_ino = e->ino, .st_mode = e->type};
	const size_t room = l->bytes - l->used;
	size_t n = fuse_add_direntry(req, l->buf + l->used, room, e->name, &st, (off_t)e->next);

	if (n > room)
		return 0;
	l->used += n;
	return 1;
}

/* The kernel takes a reference to each file except "." and "..". */
static int add_plus(fuse_req_t req, fuse_ino_t dir, struct listing *l,
		    const struct annex_fs_entry *e)
{
	const bool dots = !strcmp(e->name, ".") || !strcmp(e->name, "..");
	const size_t room = l->bytes - l->used;
	struct fuse_entry_param p = {.attr = {.st_ino = e->ino, .st_mode = e->type}};
	struct annex_fs *fs = ops_fs(req);
	struct annex_fs_attr a;
	size_t n;
	int err = dots ? 0 : annex_fs_lookup(fs, (uint32_t)dir, e->name, &a);

	/* The name has been removed meanwhile. */
	if (err)
		return err == -ENOENT ? 1 : err;
	if (!dots)
		ops_entry(&a, &p);
	n = fuse_add_direntry_plus(req, l->buf + l->used, room, e->name, &p, (off_t)e->next);
	if (n <= room)
		l->used += n;
	if (!dots && n <= room)
		l->refs[l->n_refs++] = a.ino;
	else if (!dots)
		annex_fs_forget(fs, a.ino, 1);
	return n <= room;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at, bool plus)
{
	struct annex_fs_entry e = {.next = (uint64_t)at};
	struct listing l;
	int err = listing_init(&l, bytes), more = !err;

	while (more > 0) {
		more = annex_fs_readdir(ops_fs(req), (uint32_t)ino, e.next, &e);
		if (more > 0)
			more = plus ? add_plus(req, ino, &l, &e) : add(req, &l, &e);
		err = more < 0 ? more : 0;
	}
	listing_reply(req, &l, err);
}

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, bytes, at, false);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at,
		     struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, bytes, at, true);
}

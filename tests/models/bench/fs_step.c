// SPDX-License-Identifier: MIT
/*
 * Steps of the personalities.
 */
#include "fs.h"

#define APPEND 16384u /* bytes at most */

static struct fsb_file *file_of(struct fsb *b, const struct fsb_actor *a)
{
	return &b->set.files[a->file];
}

/* Open a file that no other actor has open. Return: whether its path is known. */
static bool take(struct fsb *b, struct fsb_actor *a)
{
	if (!a->chosen) {
		a->file = fsb_pick(b, true);
		file_of(b, a)->busy = true;
	}
	a->chosen = !fsb_find(b, a->file);
	return !a->chosen;
}

/* An empty file, or a directory, which is not left open. */
bool fsb_step_create(struct fsb *b, struct fsb_actor *a)
{
	struct fsb_file *f;
	char name[16];

	a->file = fsb_pick(b, false);
	f = file_of(b, a);
	fsb_name(a->file, name);
	fsb_appear(b, a->file, fsb_make(b, b->set.dirs[f->dir].ino, name, b->set.are_dirs));
	f->size = 0;
	f->busy = !b->set.are_dirs;
	return true;
}

bool fsb_step_open(struct fsb *b, struct fsb_actor *a)
{
	return take(b, a);
}

/* All of a new file, of the size that the fileset has for it. */
bool fsb_step_write(struct fsb *b, struct fsb_actor *a)
{
	struct fsb_file *f = file_of(b, a);
	const uint64_t left = f->plan - f->size;
	const uint32_t n = (uint32_t)(left < FSB_IO ? left : FSB_IO);

	fsb_write(b, f, a->file, f->size, n);
	f->size += n;
	return f->size == f->plan;
}

static void append(struct fsb *b, struct fsb_file *f, uint32_t number)
{
	const uint32_t n = (uint32_t)(fsb_random(b) % APPEND) + 1;

	fsb_write(b, f, number, f->size, n);
	f->size += n;
}

bool fsb_step_append(struct fsb *b, struct fsb_actor *a)
{
	append(b, file_of(b, a), a->file);
	return true;
}

bool fsb_step_log(struct fsb *b, struct fsb_actor *a)
{
	(void)a;
	append(b, &b->log, FSB_LOG);
	return true;
}

bool fsb_step_read(struct fsb *b, struct fsb_actor *a)
{
	const struct fsb_file *f = file_of(b, a);
	const uint64_t left = f->size - a->from;
	const uint32_t n = (uint32_t)(left < FSB_IO ? left : FSB_IO);

	fsb_read(b, f, a->file, a->from, n);
	a->from += n;
	if (a->from < f->size)
		return false;
	a->from = 0;
	return true;
}

bool fsb_step_fsync(struct fsb *b, struct fsb_actor *a)
{
	struct fsb_file *f = file_of(b, a);

	a->waits = !fsb_sync(b, f->ino, a->waits);
	f->dirty = a->waits;
	return !a->waits;
}

/* The file system is not called. */
bool fsb_step_close(struct fsb *b, struct fsb_actor *a)
{
	file_of(b, a)->busy = false;
	return true;
}

bool fsb_step_delete(struct fsb *b, struct fsb_actor *a)
{
	struct fsb_file *f;
	uint32_t ino;
	char name[16];

	if (!take(b, a))
		return false;
	f = file_of(b, a);
	ino = f->ino;
	fsb_name(a->file, name);
	fsb_remove(b, b->set.dirs[f->dir].ino, name, b->set.are_dirs);
	fsb_forget(b, ino);
	fsb_vanish(b, a->file);
	f->busy = false;
	return true;
}

bool fsb_step_stat(struct fsb *b, struct fsb_actor *a)
{
	if (!take(b, a))
		return false;
	fsb_size(b, file_of(b, a)->ino);
	file_of(b, a)->busy = false;
	return true;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fs_cuts.h"
#include "tests/unit/unit.h"

uint32_t fs_cuts_find(struct annex_fs *fs, const char *path)
{
	uint32_t ino = ANNEX_FS_ROOT;
	char copy[64], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		struct annex_fs_attr a;

		if (annex_fs_lookup(fs, ino, name, &a))
			return 0;
		annex_fs_forget(fs, a.ino, 1);
		ino = a.ino;
	}
	return ino;
}

int fs_cuts_make(struct annex_fs *fs, uint32_t dir, const char *name, uint32_t mode)
{
	const struct annex_fs_new what = {mode, 0, 0, 0};
	struct annex_fs_attr a;
	int err = annex_fs_make(fs, dir, name, &what, &a);

	if (!err)
		annex_fs_forget(fs, a.ino, 1);
	return err;
}

int fs_cuts_write(struct annex_fs *fs, const char *path, uint64_t at, uint32_t n, int seed)
{
	uint32_t ino = fs_cuts_find(fs, path);
	char buf[16384];
	ssize_t got;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = (char)(seed + i * 7 + i / 97);
	got = ino ? annex_fs_write(fs, ino, at, buf, n) : -ENOENT;
	return got == (ssize_t)n ? 0 : got < 0 ? (int)got : -EIO;
}

static int op_create(struct annex_fs *fs)
{
	return fs_cuts_make(fs, 1, "n", S_IFREG | 0644);
}

static int op_mkdir(struct annex_fs *fs)
{
	return fs_cuts_make(fs, 1, "a-directory-with-a-name-that-takes-more-than-one-line-of-it",
			    S_IFDIR);
}

static int op_symlink(struct annex_fs *fs)
{
	const struct annex_fs_new what = {0};
	struct annex_fs_attr a;
	char target[600] = {0};
	int err;

	memset(target, 'x', sizeof(target) - 1);
	err = annex_fs_symlink(fs, 1, "s", target, &what, &a);
	if (!err)
		annex_fs_forget(fs, a.ino, 1);
	return err;
}

static int op_link(struct annex_fs *fs)
{
	uint32_t f = fs_cuts_find(fs, "f"), d = fs_cuts_find(fs, "d");
	struct annex_fs_attr a;
	int err = f && d ? annex_fs_link(fs, f, d, "k", &a) : -ENOENT;

	if (!err)
		annex_fs_forget(fs, f, 1);
	return err;
}

static int op_unlink(struct annex_fs *fs)
{
	return annex_fs_unlink(fs, 1, "f");
}

static int op_rmdir(struct annex_fs *fs)
{
	return annex_fs_rmdir(fs, 1, "e");
}

static int rename_f(struct annex_fs *fs, const char *name, unsigned int flags)
{
	uint32_t d = fs_cuts_find(fs, "d");

	return d ? annex_fs_rename(fs, 1, "f", d, name, flags) : -ENOENT;
}

static int op_rename(struct annex_fs *fs)
{
	return rename_f(fs, "f", 0);
}

static int op_replace(struct annex_fs *fs)
{
	return rename_f(fs, "g", 0);
}

static int op_exchange(struct annex_fs *fs)
{
	return annex_fs_rename(fs, 1, "f", 1, "d", ANNEX_FS_EXCHANGE);
}

static int op_append(struct annex_fs *fs)
{
	return fs_cuts_write(fs, "f", 12000, 5000, 1);
}

static int op_overwrite(struct annex_fs *fs)
{
	return fs_cuts_write(fs, "f", 100, 9000, 2);
}

static int op_small(struct annex_fs *fs)
{
	return fs_cuts_write(fs, "d/g", 10, 50, 3);
}

static int op_far(struct annex_fs *fs)
{
	return fs_cuts_write(fs, "f", 70000, 200, 4);
}

static int op_truncate(struct annex_fs *fs)
{
	struct annex_fs_attr a = {.size = 3000};
	uint32_t f = fs_cuts_find(fs, "f");

	return f ? annex_fs_setattr(fs, f, &a, ANNEX_FS_SET_SIZE) : -ENOENT;
}

static int op_punch(struct annex_fs *fs)
{
	uint32_t f = fs_cuts_find(fs, "f");

	return f ? annex_fs_fallocate(fs, f, 4096, 4096, ANNEX_FS_PUNCH_HOLE | ANNEX_FS_KEEP_SIZE)
		 : -ENOENT;
}

static int op_allocate(struct annex_fs *fs)
{
	uint32_t f = fs_cuts_find(fs, "f");

	return f ? annex_fs_fallocate(fs, f, 8000, 50000, ANNEX_FS_KEEP_SIZE) : -ENOENT;
}

static int op_xattr(struct annex_fs *fs)
{
	uint32_t f = fs_cuts_find(fs, "f");

	return f ? annex_fs_setxattr(fs, f, "user.a", "value", 5, 0) : -ENOENT;
}

static int op_chmod(struct annex_fs *fs)
{
	struct annex_fs_attr a = {.mode = 0600};
	uint32_t g = fs_cuts_find(fs, "d/g");

	return g ? annex_fs_setattr(fs, g, &a, ANNEX_FS_SET_MODE) : -ENOENT;
}

static int op_fsync(struct annex_fs *fs)
{
	return annex_fs_fsync(fs, 0);
}

const struct fs_cuts_op fs_cuts_ops[FS_CUTS_OPS] = {
	{"create", op_create, false, 0},
	{"mkdir", op_mkdir, false, 0},
	{"symlink", op_symlink, false, 0},
	{"link", op_link, false, FS_CUTS_F},
	{"unlink", op_unlink, false, FS_CUTS_F},
	{"rmdir", op_rmdir, false, 0},
	{"rename", op_rename, false, FS_CUTS_F},
	{"replace", op_replace, false, FS_CUTS_F | FS_CUTS_G},
	{"exchange", op_exchange, false, FS_CUTS_F},
	{"append", op_append, true, FS_CUTS_F},
	{"overwrite", op_overwrite, true, FS_CUTS_F},
	{"small write", op_small, true, FS_CUTS_G},
	{"far write", op_far, true, FS_CUTS_F},
	{"truncate", op_truncate, false, FS_CUTS_F},
	{"punch", op_punch, false, FS_CUTS_F},
	{"allocate", op_allocate, false, FS_CUTS_F},
	{"setxattr", op_xattr, false, FS_CUTS_F},
	{"chmod", op_chmod, false, FS_CUTS_G},
	{"fsync", op_fsync, false, FS_CUTS_F | FS_CUTS_G},
};
static void put(struct fs_cuts_state *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct fs_cuts_state *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	s->n += (size_t)vsnprintf(s->text + s->n, FS_CUTS_TEXT - s->n, fmt, args);
	va_end(args);
	CU_ASSERT_FATAL(s->n < FS_CUTS_TEXT);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct annex_fs_entry *)a)->name,
		      ((const struct annex_fs_entry *)b)->name);
}

static void put_data(struct fs_cuts_state *s, const char *path, const char *buf, size_t n)
{
	uint32_t file = 1;

	for (const char *p = path; *p; p++)
		file = file * 31 + (uint8_t)*p;
	for (size_t at = 0; at < n; at += ANNEX_FS_BLOCK) {
		struct fs_cuts_block *b = &s->blocks[s->n_blocks++];

		CU_ASSERT_FATAL(s->n_blocks < FS_CUTS_BLOCKS);
		b->which = file + (uint32_t)(at / ANNEX_FS_BLOCK);
		b->n = (uint32_t)(n - at < ANNEX_FS_BLOCK ? n - at : ANNEX_FS_BLOCK);
		memcpy(b->data, buf + at, b->n);
	}
}

static void put_file(struct fs_cuts_state *s, struct annex_fs *fs, const char *path, uint32_t ino)
{
	static char buf[100000];
	struct annex_fs_attr a;
	ssize_t n = 0;

	CU_ASSERT_EQUAL(annex_fs_getattr(fs, ino, &a), 0);
	if (S_ISREG(a.mode))
		n = annex_fs_read(fs, ino, 0, buf, sizeof(buf));
	else if (S_ISLNK(a.mode))
		n = annex_fs_readlink(fs, ino, buf, sizeof(buf)) ? -1 : (ssize_t)strlen(buf);
	put(s, "%s %o %u", path, a.mode, a.nlink);
	if (!S_ISDIR(a.mode))
		put(s, " %llu %zd", (unsigned long long)a.size, n);
	if (n > 0)
		put_data(s, path, buf, (size_t)n);
	put(s, " %zd\n", annex_fs_getxattr(fs, ino, "user.a", buf, sizeof(buf)));
}

static void put_tree(struct fs_cuts_state *s, struct annex_fs *fs, const char *path, uint32_t dir)
{
	struct annex_fs_entry *all = calloc(16, sizeof(*all));
	char below[512];
	uint64_t at = 0;
	unsigned int n = 0;
	int more = 1;

	while (n < 16 && (more = annex_fs_readdir(fs, dir, at, &all[n])) > 0)
		at = all[n++].next;
	CU_ASSERT_EQUAL(more, 0);
	qsort(all, n, sizeof(*all), by_name);
	for (unsigned int i = 0; i < n && strlen(path) < 200; i++) {
		snprintf(below, sizeof(below), "%s/%s", path, all[i].name);
		put_file(s, fs, below, all[i].ino);
		if (S_ISDIR(all[i].type) && strcmp(all[i].name, ".") && strcmp(all[i].name, ".."))
			put_tree(s, fs, below, all[i].ino);
	}
	free(all);
}

void fs_cuts_look(struct annex_fs *fs, struct fs_cuts_state *out)
{
	out->n = out->n_blocks = 0;
	put_tree(out, fs, "", ANNEX_FS_ROOT);
}

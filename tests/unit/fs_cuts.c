// SPDX-License-Identifier: MIT
/*
 * Pairs of operations, with a power cut in each write to the disk below: the file system is one of
 * those that its promises allow, and has no fault.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/fs.h>
#include "cxlssd_rig.h"
#include "random.h"
#include "unit.h"

#define LOG "&dram=1M&log=bytefs"
#define TEXT 8192u

/* struct state - All names, attributes, and data of a file system, as text. */
struct state {
	size_t n;
	char text[TEXT];
};

/* struct op - @writes: it may not last. @touches: bits of files whose earlier writes last then. */
struct op {
	const char *name;
	int (*run)(struct annex_fs *fs);
	bool writes;
	unsigned int touches;
};

enum { FILE_F = 1, FILE_G = 2 };

static struct {
	uint64_t states, wrong;
} cuts;

static uint32_t find(struct annex_fs *fs, const char *path)
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

static int make(struct annex_fs *fs, uint32_t dir, const char *name, uint32_t mode)
{
	const struct annex_fs_new what = {mode, 0, 0, 0};
	struct annex_fs_attr a;
	int err = annex_fs_make(fs, dir, name, &what, &a);

	if (!err)
		annex_fs_forget(fs, a.ino, 1);
	return err;
}

static int write_to(struct annex_fs *fs, const char *path, uint64_t at, uint32_t n, int seed)
{
	uint32_t ino = find(fs, path);
	char buf[16384];
	ssize_t got;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = (char)(seed + i * 7 + i / 97);
	got = ino ? annex_fs_write(fs, ino, at, buf, n) : -ENOENT;
	return got == (ssize_t)n ? 0 : got < 0 ? (int)got : -EIO;
}

static int op_create(struct annex_fs *fs)
{
	return make(fs, 1, "n", S_IFREG | 0644);
}

static int op_mkdir(struct annex_fs *fs)
{
	return make(fs, 1, "a-directory-with-a-name-that-takes-more-than-one-line-of-it", S_IFDIR);
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
	uint32_t f = find(fs, "f"), d = find(fs, "d");
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
	uint32_t d = find(fs, "d");

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
	return write_to(fs, "f", 12000, 5000, 1);
}

static int op_overwrite(struct annex_fs *fs)
{
	return write_to(fs, "f", 100, 9000, 2);
}

static int op_small(struct annex_fs *fs)
{
	return write_to(fs, "d/g", 10, 50, 3);
}

static int op_far(struct annex_fs *fs)
{
	return write_to(fs, "f", 70000, 200, 4);
}

static int op_truncate(struct annex_fs *fs)
{
	struct annex_fs_attr a = {.size = 3000};
	uint32_t f = find(fs, "f");

	return f ? annex_fs_setattr(fs, f, &a, ANNEX_FS_SET_SIZE) : -ENOENT;
}

static int op_punch(struct annex_fs *fs)
{
	uint32_t f = find(fs, "f");

	return f ? annex_fs_fallocate(fs, f, 4096, 4096, ANNEX_FS_PUNCH_HOLE | ANNEX_FS_KEEP_SIZE)
		 : -ENOENT;
}

static int op_allocate(struct annex_fs *fs)
{
	uint32_t f = find(fs, "f");

	return f ? annex_fs_fallocate(fs, f, 8000, 50000, ANNEX_FS_KEEP_SIZE) : -ENOENT;
}

static int op_xattr(struct annex_fs *fs)
{
	uint32_t f = find(fs, "f");

	return f ? annex_fs_setxattr(fs, f, "user.a", "value", 5, 0) : -ENOENT;
}

static int op_chmod(struct annex_fs *fs)
{
	struct annex_fs_attr a = {.mode = 0600};
	uint32_t g = find(fs, "d/g");

	return g ? annex_fs_setattr(fs, g, &a, ANNEX_FS_SET_MODE) : -ENOENT;
}

static int op_fsync(struct annex_fs *fs)
{
	return annex_fs_fsync(fs, 0);
}

static const struct op ops[] = {
	{"create", op_create, false, 0},
	{"mkdir", op_mkdir, false, 0},
	{"symlink", op_symlink, false, 0},
	{"link", op_link, false, FILE_F},
	{"unlink", op_unlink, false, FILE_F},
	{"rmdir", op_rmdir, false, 0},
	{"rename", op_rename, false, FILE_F},
	{"replace", op_replace, false, FILE_F | FILE_G},
	{"exchange", op_exchange, false, FILE_F},
	{"append", op_append, true, FILE_F},
	{"overwrite", op_overwrite, true, FILE_F},
	{"small write", op_small, true, FILE_G},
	{"far write", op_far, true, FILE_F},
	{"truncate", op_truncate, false, FILE_F},
	{"punch", op_punch, false, FILE_F},
	{"allocate", op_allocate, false, FILE_F},
	{"setxattr", op_xattr, false, FILE_F},
	{"chmod", op_chmod, false, FILE_G},
	{"fsync", op_fsync, false, FILE_F | FILE_G},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static void put(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct state *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	s->n += (size_t)vsnprintf(s->text + s->n, TEXT - s->n, fmt, args);
	va_end(args);
	CU_ASSERT_FATAL(s->n < TEXT);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct annex_fs_entry *)a)->name,
		      ((const struct annex_fs_entry *)b)->name);
}

static void put_file(struct state *s, struct annex_fs *fs, uint32_t ino)
{
	static char buf[100000];
	struct annex_fs_attr a;
	uint32_t hash = 1;
	ssize_t n = 0;

	CU_ASSERT_EQUAL(annex_fs_getattr(fs, ino, &a), 0);
	if (S_ISREG(a.mode))
		n = annex_fs_read(fs, ino, 0, buf, sizeof(buf));
	else if (S_ISLNK(a.mode))
		n = annex_fs_readlink(fs, ino, buf, sizeof(buf)) ? -1 : (ssize_t)strlen(buf);
	for (ssize_t i = 0; i < n; i++)
		hash = hash * 31 + (uint8_t)buf[i];
	put(s, " %o %u", a.mode, a.nlink);
	if (!S_ISDIR(a.mode))
		put(s, " %llu %zd %08x", (unsigned long long)a.size, n, hash);
	put(s, " %zd\n", annex_fs_getxattr(fs, ino, "user.a", buf, sizeof(buf)));
}

static void put_tree(struct state *s, struct annex_fs *fs, uint32_t dir, int depth)
{
	struct annex_fs_entry *all = calloc(16, sizeof(*all));
	uint64_t at = 0;
	unsigned int n = 0;
	int more = 1;

	while (n < 16 && (more = annex_fs_readdir(fs, dir, at, &all[n])) > 0)
		at = all[n++].next;
	CU_ASSERT_EQUAL(more, 0);
	qsort(all, n, sizeof(*all), by_name);
	for (unsigned int i = 0; i < n && depth < 4; i++) {
		put(s, "%d %s", depth, all[i].name);
		put_file(s, fs, all[i].ino);
		if (S_ISDIR(all[i].type) && strcmp(all[i].name, ".") && strcmp(all[i].name, ".."))
			put_tree(s, fs, all[i].ino, depth + 1);
	}
	free(all);
}

/* struct disk - A file in memory, and the file system in it. */
struct disk {
	int fd;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
};

static void attach(struct disk *d, const char *more)
{
	char uri[128];

	snprintf(uri, sizeof(uri), "cxlssd:/proc/self/fd/%d?%s", d->fd, more);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &d->s), 0);
}

static void detach(struct disk *d)
{
	CU_ASSERT_EQUAL(annex_fs_unmount(d->fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(d->s), 0);
	d->fs = NULL;
}

/* The tree that each pair finds: f, d/g, and the empty directory e. */
static int make_first(void)
{
	struct disk d = {.fd = memfd_create("fs", MFD_CLOEXEC)};

	CU_ASSERT_FATAL(d.fd >= 0);
	attach(&d, "size=2M&durable=model" LOG);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(d.s, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(d.s, NULL, &d.fs), 0);
	CU_ASSERT_EQUAL(make(d.fs, 1, "f", S_IFREG | 0644), 0);
	CU_ASSERT_EQUAL(make(d.fs, 1, "d", S_IFDIR | 0755), 0);
	CU_ASSERT_EQUAL(make(d.fs, 1, "e", S_IFDIR | 0755), 0);
	CU_ASSERT_EQUAL(make(d.fs, find(d.fs, "d"), "g", S_IFREG | 0644), 0);
	CU_ASSERT_EQUAL(write_to(d.fs, "f", 0, 12000, 8), 0);
	CU_ASSERT_EQUAL(write_to(d.fs, "d/g", 0, 100, 9), 0);
	detach(&d);
	return d.fd;
}

static struct disk copy_of(int first, const char *more)
{
	struct disk d = {.fd = memfd_create("fs", MFD_CLOEXEC)};
	struct stat st;
	char *all;

	CU_ASSERT_FATAL(d.fd >= 0 && !fstat(first, &st) && !ftruncate(d.fd, st.st_size));
	all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, first, 0);
	CU_ASSERT_FATAL(all != MAP_FAILED);
	/* Holes stay holes. */
	for (off_t at = 0, end; (at = lseek(first, at, SEEK_DATA)) >= 0; at = end) {
		end = lseek(first, at, SEEK_HOLE);
		CU_ASSERT_EQUAL(pwrite(d.fd, all + at, (size_t)(end - at), at), end - at);
	}
	munmap(all, (size_t)st.st_size);
	attach(&d, more);
	return d;
}

static void mount_on(struct disk *d)
{
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(d->s, NULL, &d->fs), 0);
}

/* A state that is allowed: the first operations, without the writes of @dropped. */
static void expected(int first, const struct op *const *pair, unsigned int n, unsigned int dropped,
		     struct state *out)
{
	struct disk d = copy_of(first, "durable=model" LOG);

	mount_on(&d);
	for (unsigned int i = 0; i < n; i++)
		if (!(dropped >> i & 1))
			pair[i]->run(d.fs);
	out->n = 0;
	put_tree(out, d.fs, 1, 0);
	detach(&d);
	close(d.fd);
}

/* Whether the write @i of @n operations may not be there: nothing after it touched its file. */
static bool may_drop(const struct op *const *pair, unsigned int n, unsigned int i)
{
	if (!pair[i]->writes)
		return false;
	for (unsigned int k = i + 1; k < n; k++)
		if (pair[k]->touches & pair[i]->touches && !pair[k]->writes)
			return false;
	return true;
}

static bool allowed(int first, const struct op *const *pair, unsigned int n,
		    const struct state *got)
{
	static struct state want;

	for (unsigned int dropped = 0; dropped < 1u << n; dropped++) {
		bool may = true;

		for (unsigned int i = 0; i < n; i++)
			may &= !(dropped >> i & 1) || may_drop(pair, n, i);
		/* Not the later one of two writes to a file alone. */
		if (n == 2 && dropped == 1 && pair[1]->writes &&
		    pair[0]->touches == pair[1]->touches)
			may = false;
		if (!may)
			continue;
		expected(first, pair, n, dropped, &want);
		if (want.n == got->n && !memcmp(want.text, got->text, got->n))
			return true;
	}
	return false;
}

static void tell(void *ctx, const struct annex_fs_problem *p)
{
	(void)ctx;
	printf("%s\n", p->what);
}

/* The disk dies in its write @writes. Return: whether it did before both had ended. */
static bool cut(int first, const struct op *const *pair, unsigned int writes, uint64_t *rng)
{
	struct disk d = copy_of(first, "durable=host" LOG);
	struct annex_fs_report report = {0};
	static struct state got;
	unsigned int done = 0;
	bool dead;

	mount_on(&d);
	cxlssd_disk_on(writes);
	while (done < 2 && !cxlssd_rig_dead()) {
		pair[done]->run(d.fs);
		done += !cxlssd_rig_dead();
	}
	dead = cxlssd_rig_dead();
	cxlssd_rig_doom(0);
	annex_fs_unmount(d.fs);
	annex_cxlssd_cut(d.s, NULL, 0);
	cxlssd_disk_lose(d.fd, rng);
	attach(&d, "durable=model" LOG);
	mount_on(&d);
	got.n = 0;
	put_tree(&got, d.fs, 1, 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(d.fs), 0);
	CU_ASSERT_EQUAL(annex_fs_check(d.s, false, tell, NULL, &report), 0);
	cuts.wrong += report.problems != 0;
	CU_ASSERT_EQUAL(annex_cxlssd_close(d.s), 0);
	close(d.fd);
	cuts.states++;
	if (!allowed(first, pair, done, &got) &&
	    (done == 2 || !allowed(first, pair, done + 1, &got))) {
		if (!cuts.wrong++)
			printf("%s, %s, write %u, %u done:\n%s", pair[0]->name, pair[1]->name,
			       writes, done, got.text);
	}
	return dead;
}

static void pairs(void)
{
	uint64_t rng = random_seed("fs cuts");
	const int first = make_first();
	const char *given = getenv("ANNEX_PAIRS");
	const unsigned int skip = given ? 1 : 7;

	for (unsigned int i = 0; i < OPS * OPS; i += skip) {
		const struct op *const pair[] = {&ops[i / OPS], &ops[i % OPS]};
		unsigned int writes = 1;

		while (cut(first, pair, writes, &rng))
			writes++;
	}
	printf("%llu states ", (unsigned long long)cuts.states);
	CU_ASSERT(cuts.states > 300);
	CU_ASSERT_EQUAL(cuts.wrong, 0);
	close(first);
}

UNIT_SUITE(fs_cuts, {"pairs of operations", pairs})

// SPDX-License-Identifier: MIT
/*
 * The file system: the same as a model after random operations, and after its promises were put to
 * the test by power cuts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <annex/models/fs.h>
#include <annex/log.h>
#include "fs_model.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define URI "cxlssd:?log=bytefs&durable=model"

static struct annex_cxlssd *endpoint(const char *more)
{
	struct annex_cxlssd *s = NULL;
	char uri[128];

	snprintf(uri, sizeof(uri), "%s%s", URI, more);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	return s;
}

static uint32_t operations(void)
{
	const char *given = getenv("ANNEX_OPERATIONS");

	return given ? (uint32_t)strtoul(given, NULL, 0) : 4000;
}

/* On a device with room, and on one that is full most of the time. */
static void beside_a_model(void)
{
	static const struct {
		enum annex_fs_design design;
		const char *sizes[2];
		struct annex_fs_opts opts;
	} kinds[] = {
		{ANNEX_FS_BYTEFS, {"&size=64M", "&size=2M&dram=1M"}, {0}},
		{ANNEX_FS_BYTEFS,
		 {"&size=64M", "&size=2M&dram=1M"},
		 {.cache = 1 << 20, .alpha = 1}},
		{ANNEX_FS_BYTEFS, {"&size=64M", "&size=2M&dram=1M"}, {.alpha = 100}},
		{ANNEX_FS_BYTEFS,
		 {"&size=64M", "&size=2M&dram=1M"},
		 {.cache = 1 << 20, .through = true}},
		{ANNEX_FS_BYTEFS, {"&size=64M", "&size=2M&dram=1M"}, {.twice = true}},
		{ANNEX_FS_EXT4_LIKE, {"&size=64M", "&size=5632K&dram=1M"}, {0}},
		{ANNEX_FS_EXT4_LIKE, {"&size=64M", "&size=5632K&dram=1M"}, {.cache = 1 << 20}}};
	uint64_t rng = random_seed("fs"), full[ANNEX_FS_DESIGNS] = {0};
	static struct fs_model m;

	for (unsigned int k = 0; k < 2 * sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct annex_cxlssd *s = endpoint(kinds[k / 2].sizes[k % 2]);

		fs_model_open(&m, s, kinds[k / 2].design, &kinds[k / 2].opts);
		for (uint32_t i = 0; i < operations(); i++) {
			fs_model_step(&m, &rng);
			if (i % 500 == 499)
				fs_model_remount(&m);
			if (i % 100 == 99)
				fs_model_compare(&m);
		}
		CU_ASSERT_EQUAL(m.wrong, 0);
		CU_ASSERT(k % 2 || !m.full);
		full[kinds[k / 2].design] += m.full;
		fs_model_close(&m);
		CU_ASSERT_EQUAL(m.wrong, 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
	CU_ASSERT(full[ANNEX_FS_BYTEFS] > 10 && full[ANNEX_FS_EXT4_LIKE] > 0);
}

static struct annex_fs *made(struct annex_cxlssd *s, const struct annex_fs_opts *opts)
{
	struct annex_fs *fs = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(s, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, opts, &fs), 0);
	return fs;
}

static uint32_t new_file(struct annex_fs *fs, const char *name)
{
	const struct annex_fs_new what = {S_IFREG | 0644, 0, 0, 0};
	struct annex_fs_attr a = {0};

	CU_ASSERT_EQUAL(annex_fs_make(fs, ANNEX_FS_ROOT, name, &what, &a), 0);
	return a.ino;
}

static void refusals(void)
{
	const struct annex_fs_mkfs_opts many = {.inodes = 1ull << 32}, more = {.inodes = 100000};
	const struct annex_fs_opts alpha = {.alpha = 101};
	struct annex_cxlssd *s = NULL;
	struct annex_fs *fs = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open("cxlssd:?size=8M", &s), 0);
	CU_ASSERT_EQUAL(annex_fs_mkfs(s, NULL), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "log=bytefs") != NULL);
	annex_cxlssd_close(s);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open("cxlssd:?size=8M&page=8192&log=bytefs", &s), 0);
	CU_ASSERT_EQUAL(annex_fs_mkfs(s, NULL), -EINVAL);
	annex_cxlssd_close(s);
	s = endpoint("&size=8M&dram=512K");
	CU_ASSERT_EQUAL(annex_fs_mount(s, NULL, &fs), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "log_size") != NULL);
	annex_cxlssd_close(s);
	s = endpoint("&size=8M");
	CU_ASSERT_EQUAL(annex_fs_mount(s, NULL, &fs), -EILSEQ);
	CU_ASSERT_EQUAL(annex_fs_mkfs(s, &many), -EINVAL);
	CU_ASSERT_EQUAL(annex_fs_mkfs(s, &more), -ENOSPC);
	CU_ASSERT_EQUAL(annex_fs_mkfs(s, NULL), 0);
	CU_ASSERT_EQUAL(annex_fs_mount(s, &alpha, &fs), -EINVAL);
	CU_ASSERT_PTR_NULL(fs);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void read_only(void)
{
	const struct annex_fs_opts ro = {.read_only = true};
	const struct annex_fs_new what = {S_IFREG, 0, 0, 0};
	struct annex_cxlssd *s = endpoint("&size=8M");
	struct annex_fs *fs = made(s, NULL);
	struct annex_cxlssd_stats before, after;
	struct annex_fs_attr a = {0};
	uint32_t f = new_file(fs, "f");
	char buf[3];

	CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, "abc", 3), 3);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, &ro, &fs), 0);
	annex_cxlssd_get_stats(s, &before);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, ANNEX_FS_ROOT, "f", &a), 0);
	CU_ASSERT_EQUAL(annex_fs_read(fs, a.ino, 0, buf, 3), 3);
	CU_ASSERT(!memcmp(buf, "abc", 3));
	CU_ASSERT_EQUAL(annex_fs_write(fs, a.ino, 0, "x", 1), -EROFS);
	CU_ASSERT_EQUAL(annex_fs_make(fs, ANNEX_FS_ROOT, "g", &what, &a), -EROFS);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "f"), -EROFS);
	CU_ASSERT_EQUAL(annex_fs_setattr(fs, ANNEX_FS_ROOT, &a, ANNEX_FS_SET_MODE), -EROFS);
	CU_ASSERT_EQUAL(annex_fs_setxattr(fs, 1, "user.a", "", 0, 0), -EROFS);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	annex_cxlssd_get_stats(s, &after);
	CU_ASSERT(before.writes == after.writes && before.flash_writes == after.flash_writes);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static uint64_t sum(uint64_t (*of)[2], unsigned int how)
{
	uint64_t n = 0;

	for (unsigned int c = 0; c < ANNEX_FS_CLASSES; c++)
		n += of[c][how];
	return n;
}

/* Small things go by bytes, whole pages as blocks, and all of it takes virtual time. */
static void interfaces(void)
{
	uint64_t clock = 1000000, before;
	const struct annex_fs_opts opts = {.clock = &clock};
	struct annex_cxlssd *s = endpoint("&size=64M");
	struct annex_fs *fs = made(s, &opts);
	struct annex_fs_stats a, b;
	uint32_t f = new_file(fs, "f");
	static char buf[16 * 4096];

	before = clock;
	annex_fs_get_stats(fs, &a);
	new_file(fs, "another");
	annex_fs_get_stats(fs, &b);
	CU_ASSERT(clock > before && clock < before + 20000);
	/* The inode, the directory, its name, and a bit: lines of 64 bytes. */
	CU_ASSERT(sum(b.written, 0) - sum(a.written, 0) <= 6 * 64);
	CU_ASSERT_EQUAL(sum(b.written, 1), sum(a.written, 1));
	CU_ASSERT_EQUAL(b.commits, a.commits + 1);
	/* 100 bytes of a file that has them already. */
	CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, buf, sizeof(buf)), sizeof(buf));
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
	annex_fs_get_stats(fs, &a);
	CU_ASSERT_EQUAL(a.written[ANNEX_FS_DATA][1], sizeof(buf));
	CU_ASSERT_EQUAL(a.written[ANNEX_FS_DATA][0], 0);
	CU_ASSERT_EQUAL(annex_fs_write(fs, f, 5000, buf, 100), 100);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
	annex_fs_get_stats(fs, &b);
	CU_ASSERT_EQUAL(b.written[ANNEX_FS_DATA][1], a.written[ANNEX_FS_DATA][1]);
	CU_ASSERT(b.written[ANNEX_FS_DATA][0] >= 100 && b.written[ANNEX_FS_DATA][0] <= 3 * 64);
	/* More than half of a page. */
	CU_ASSERT_EQUAL(annex_fs_write(fs, f, 8192, buf, 33 * 64), 33 * 64);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
	annex_fs_get_stats(fs, &a);
	CU_ASSERT_EQUAL(a.written[ANNEX_FS_DATA][1], b.written[ANNEX_FS_DATA][1] + 4096);
	/* Nothing is late: nothing is written. */
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
	annex_fs_get_stats(fs, &b);
	CU_ASSERT_EQUAL(a.commits, b.commits);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A file without a name gets one, or goes with its last reference. */
static void nameless(void)
{
	const struct annex_fs_new what = {S_IFREG | 0600, 1, 2, 0};
	struct annex_cxlssd *s = endpoint("&size=8M");
	struct annex_fs *fs = made(s, NULL);
	struct annex_fs_attr a = {0}, b = {0}, named = {0};
	struct annex_fs_stats before, after;

	CU_ASSERT_EQUAL(annex_fs_make(fs, 0, NULL, &what, &a), 0);
	CU_ASSERT(a.ino && !a.nlink && a.uid == 1);
	CU_ASSERT_EQUAL(annex_fs_write(fs, a.ino, 0, "late", 4), 4);
	CU_ASSERT_EQUAL(annex_fs_link(fs, a.ino, ANNEX_FS_ROOT, "named", &named), 0);
	CU_ASSERT(named.ino == a.ino && named.nlink == 1 && named.size == 4);
	annex_fs_get_stats(fs, &before);
	CU_ASSERT_EQUAL(annex_fs_make(fs, 0, NULL, &what, &b), 0);
	annex_fs_forget(fs, b.ino, 1);
	annex_fs_get_stats(fs, &after);
	CU_ASSERT_EQUAL(before.free_inodes, after.free_inodes);
	CU_ASSERT_EQUAL(annex_fs_getattr(fs, b.ino, &b), -ESTALE);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* Ten thousand names in a directory, and a file that its map needs three levels for. */
static void large(void)
{
	struct annex_cxlssd *s = endpoint("&size=64M");
	struct annex_fs_mkfs_opts opts = {.inodes = 20000};
	struct annex_fs_attr a;
	struct annex_fs *fs = NULL;
	char name[16], got[5];
	uint32_t f;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(s, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	for (unsigned int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		annex_fs_forget(fs, new_file(fs, name), 1);
	}
	for (unsigned int i = 0; i < 10000; i += 2) {
		snprintf(name, sizeof(name), "name%u", i);
		CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, name), 0);
	}
	f = new_file(fs, "far");
	for (uint64_t at = 1; at < 1ull << 42; at *= 8)
		CU_ASSERT_EQUAL(annex_fs_write(fs, f, at, "here", 5), 5);
	CU_ASSERT_EQUAL(annex_fs_write(fs, f, UINT64_MAX - 2, "here", 5), -EFBIG);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	for (unsigned int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		CU_ASSERT_EQUAL(annex_fs_lookup(fs, ANNEX_FS_ROOT, name, &a), i % 2 ? 0 : -ENOENT);
	}
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, ANNEX_FS_ROOT, "far", &a), 0);
	for (uint64_t at = 1; at < 1ull << 42; at *= 8) {
		CU_ASSERT_EQUAL(annex_fs_read(fs, f, at, got, 5), 5);
		CU_ASSERT_STRING_EQUAL(got, "here");
	}
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "far"), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(fs, {"beside a model", beside_a_model}, {"refusals", refusals}, {"read only", read_only},
	   {"interfaces", interfaces}, {"large", large}, {"nameless", nameless})

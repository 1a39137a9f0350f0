// SPDX-License-Identifier: MIT
/*
 * The journal of the design ext4-like: mounts and checks find its contents after a crash, and
 * report damage.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <annex/models/fs.h>
#include <annex/log.h>
#include "models/fs/journal.h"
#include "models/fs/super.h"
#include "tests/unit/unit.h"

#define URI "cxlssd:?size=16M&dram=1M&log=bytefs&durable=model"
#define BYTES (16u << 20)

static const struct annex_fs_mkfs_opts ext4_like = {.design = ANNEX_FS_EXT4_LIKE};

static struct annex_cxlssd *endpoint(void)
{
	struct annex_cxlssd *s = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(URI, &s), 0);
	return s;
}

static void make(struct annex_fs *fs, const char *name)
{
	const struct annex_fs_new what = {S_IFREG | 0644, 0, 0, 0};
	struct annex_fs_attr a;

	CU_ASSERT_EQUAL(annex_fs_make(fs, ANNEX_FS_ROOT, name, &what, &a), 0);
	CU_ASSERT_EQUAL(annex_fs_write(fs, a.ino, 0, name, strlen(name)), (ssize_t)strlen(name));
	annex_fs_forget(fs, a.ino, 1);
}

/* A device as a crash leaves it: "first" and "second" are in the journal, in two transactions;
 * "third" was not synced. */
static struct annex_cxlssd *crashed(void)
{
	struct annex_cxlssd *s = endpoint(), *left = endpoint();
	char *all = malloc(BYTES);
	struct annex_fs *fs = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(s, &ext4_like), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	make(fs, "first");
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	make(fs, "second");
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	make(fs, "third");
	CU_ASSERT_EQUAL(annex_cxlssd_read_blocks(s, 0, all, BYTES, NULL), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(left, 0, all, BYTES, NULL), 0);
	free(all);
	return left;
}

static uint32_t journal_of(void)
{
	struct fs_super s;

	CU_ASSERT_EQUAL(fs_super_plan(&s, BYTES / FS_BLOCK, 0, ANNEX_FS_EXT4_LIKE), 0);
	return s.journal;
}

/* A byte of the journal's block @block changes. */
static void damage(struct annex_cxlssd *s, uint32_t block)
{
	const uint64_t at = (uint64_t)(journal_of() + block) * FS_BLOCK + 9;
	char byte;

	CU_ASSERT_EQUAL(annex_cxlssd_read(s, at, &byte, 1, NULL), 0);
	byte ^= 4;
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, at, &byte, 1, NULL), 0);
}

/* The file system has these, the first of the three, with their bytes. */
static void has(struct annex_cxlssd *s, bool read_only, unsigned int n)
{
	static const char *const names[] = {"first", "second", "third"};
	const struct annex_fs_opts opts = {.read_only = read_only};
	struct annex_fs *fs = NULL;
	struct annex_fs_attr a;
	char buf[16];

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, &opts, &fs), 0);
	for (unsigned int i = 0; i < 3; i++) {
		int err = annex_fs_lookup(fs, ANNEX_FS_ROOT, names[i], &a);

		CU_ASSERT_EQUAL(err, i < n ? 0 : -ENOENT);
		if (err)
			continue;
		memset(buf, 0, sizeof(buf));
		CU_ASSERT_EQUAL(annex_fs_read(fs, a.ino, 0, buf, sizeof(buf)),
				(ssize_t)strlen(names[i]));
		CU_ASSERT_STRING_EQUAL(buf, names[i]);
	}
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
}

static uint64_t problems(struct annex_cxlssd *s, uint64_t files)
{
	struct annex_fs_report r;

	CU_ASSERT_EQUAL(annex_fs_check(s, NULL, NULL, &r), 0);
	CU_ASSERT_EQUAL(r.files, files);
	return r.problems;
}

static void after_a_crash(void)
{
	struct annex_cxlssd *s = crashed();
	struct annex_cxlssd_stats before, after;

	annex_cxlssd_get_stats(s, &before);
	has(s, true, 2);
	CU_ASSERT_EQUAL(problems(s, 3), 0);
	annex_cxlssd_get_stats(s, &after);
	CU_ASSERT(before.writes == after.writes && before.flash_writes == after.flash_writes);
	has(s, false, 2);
	CU_ASSERT_EQUAL(problems(s, 3), 0);
	has(s, false, 2);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A transaction that is not whole did not last, nor those behind it. */
static void damaged(void)
{
	struct annex_cxlssd *s = crashed();
	struct annex_fs *fs = NULL;

	damage(s, 1);
	CU_ASSERT_EQUAL(problems(s, 1), 0);
	has(s, true, 0);
	has(s, false, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	s = crashed();
	damage(s, 3);
	has(s, true, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	/* Without a header its contents are unknown. */
	s = crashed();
	damage(s, 0);
	CU_ASSERT_EQUAL(annex_fs_mount(s, NULL, &fs), -EIO);
	CU_ASSERT(strstr(annex_last_error(), "run fsck") != NULL);
	CU_ASSERT_EQUAL(problems(s, 1), 1);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* In virtual time a commit takes time, and commits that arrive meanwhile share the next one. */
static void shared_commits(void)
{
	uint64_t clock = 1000000, first;
	const struct annex_fs_opts opts = {.clock = &clock, .link = {1000, 500, 1000, 20000}};
	struct annex_cxlssd *s = endpoint();
	struct annex_fs_stats before, after;
	struct annex_fs *fs = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(s, &ext4_like), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, &opts, &fs), 0);
	annex_fs_get_stats(fs, &before);
	make(fs, "a");
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	first = clock;
	CU_ASSERT(first > 1000000 + 2 * 20000);
	clock = 1000000 + 50000;
	make(fs, "b");
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), -EAGAIN);
	CU_ASSERT_EQUAL(clock, first);
	clock = 1000000 + 60000;
	make(fs, "c");
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), -EAGAIN);
	CU_ASSERT_EQUAL(clock, first);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	CU_ASSERT(clock > first + 2 * 20000);
	clock = first;
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	annex_fs_get_stats(fs, &after);
	CU_ASSERT_EQUAL(after.commits, before.commits + 2);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(fs_journal, {"after a crash", after_a_crash}, {"damaged", damaged},
	   {"shared commits", shared_commits})

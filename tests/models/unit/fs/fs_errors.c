// SPDX-License-Identifier: MIT
/*
 * A file that cannot be written back: its error is its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/models/fs.h>
#include <annex/log.h>
#include "tests/unit/unit.h"

#define BLOCK ANNEX_FS_BLOCK
#define IDLE 1100u /* more files than are remembered without a reference */

/* struct rig - @bad: a file whose first page is damaged in flash, and dirty. */
struct rig {
	int fd;
	char uri[128];
	struct annex_cxlssd *s;
	struct annex_fs *fs;
	uint32_t bad;
};

static const struct annex_fs_opts whole = {.alpha = 1, .cache = 1 << 20};

static uint32_t make(struct annex_fs *fs, const char *name)
{
	const struct annex_fs_new what = {S_IFREG | 0644, 0, 0, 0};
	struct annex_fs_attr a = {0};

	CU_ASSERT_EQUAL_FATAL(annex_fs_make(fs, ANNEX_FS_ROOT, name, &what, &a), 0);
	return a.ino;
}

/* A byte of that page changes wherever the backing file has it. */
static void damage(int fd, const uint8_t *page)
{
	uint8_t some[BLOCK], wrong = (uint8_t)~page[7];
	uint32_t found = 0;
	struct stat st;

	CU_ASSERT_EQUAL(fstat(fd, &st), 0);
	for (off_t at = 0; at + BLOCK <= st.st_size; at += 512) {
		if (pread(fd, some, BLOCK, at) != BLOCK || memcmp(some, page, BLOCK) != 0)
			continue;
		CU_ASSERT_EQUAL(pwrite(fd, &wrong, 1, at + 7), 1);
		found++;
	}
	CU_ASSERT(found > 0);
}

static void open_again(struct rig *r)
{
	snprintf(r->uri, sizeof(r->uri),
		 "cxlssd:/proc/self/fd/%d?size=16M&dram=1M&log=bytefs&durable=model", r->fd);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(r->uri, &r->s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(r->s, &whole, &r->fs), 0);
}

/* Lines are written to the damaged page, so that its other lines are read at write-back. */
static void begin(struct rig *r, enum annex_fs_design design)
{
	const struct annex_fs_mkfs_opts opts = {.inodes = 2 * IDLE, .design = design};
	uint8_t page[BLOCK];

	r->fd = unit_memfd(0, NULL);
	snprintf(r->uri, sizeof(r->uri),
		 "cxlssd:/proc/self/fd/%d?size=16M&dram=1M&log=bytefs&durable=model", r->fd);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(r->uri, &r->s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(r->s, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(r->s, &whole, &r->fs), 0);
	memset(page, 'B', sizeof(page));
	r->bad = make(r->fs, "bad");
	CU_ASSERT_EQUAL(annex_fs_write(r->fs, r->bad, 0, page, BLOCK), BLOCK);
	CU_ASSERT_EQUAL(annex_fs_unmount(r->fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(r->s), 0);
	damage(r->fd, page);
	open_again(r);
	CU_ASSERT_EQUAL(annex_fs_write(r->fs, r->bad, 0, page, 64), 64);
	CU_ASSERT_EQUAL(annex_fs_fsync(r->fs, r->bad), -EIO);
}

static void end(struct rig *r)
{
	CU_ASSERT_EQUAL(annex_cxlssd_close(r->s), 0);
	close(r->fd);
}

/* Is there, with the bytes that were written to it. */
static bool is_whole(struct annex_fs *fs, const char *name, uint64_t at)
{
	struct annex_fs_attr a = {0};
	char got[4];

	return !annex_fs_lookup(fs, ANNEX_FS_ROOT, name, &a) &&
	       annex_fs_read(fs, a.ino, at, got, sizeof(got)) == 4 && !memcmp(got, "good", 4);
}

/* The process dies: the device is used as its file is now. */
static void die(struct rig *r)
{
	const int fd = unit_memfd(0, NULL);
	uint8_t some[BLOCK];
	ssize_t n = BLOCK;

	for (off_t at = 0; n == BLOCK; at += BLOCK) {
		n = pread(r->fd, some, BLOCK, at);
		CU_ASSERT_EQUAL_FATAL(pwrite(fd, some, (size_t)n, at), n);
	}
	annex_fs_unmount(r->fs);
	end(r);
	r->fd = fd;
	open_again(r);
}

/* After annex_fs_fsync() of all files, and after an unmount. */
static void others_last(void)
{
	for (unsigned int k = 0; k < 2 * ANNEX_FS_DESIGNS; k++) {
		struct rig r;
		char name[] = "a";

		begin(&r, k / 2);
		for (; *name <= 'z'; ++*name)
			CU_ASSERT_EQUAL(annex_fs_write(r.fs, make(r.fs, name), 9999, "good", 4), 4);
		if (k % 2) {
			CU_ASSERT_EQUAL(annex_fs_fsync(r.fs, 0), -EIO);
			die(&r);
		} else {
			CU_ASSERT_EQUAL(annex_fs_unmount(r.fs), -EIO);
			CU_ASSERT(strstr(annex_last_error(), "1 files cannot be") != NULL);
			CU_ASSERT_EQUAL(annex_cxlssd_close(r.s), 0);
			open_again(&r);
		}
		for (*name = 'a'; *name <= 'z'; ++*name)
			CU_ASSERT(is_whole(r.fs, name, 9999));
		CU_ASSERT_EQUAL(annex_fs_unmount(r.fs), 0);
		end(&r);
	}
}

/* Calls on other files never have that error: with a full cache, many files, and no room. */
static void others_succeed(void)
{
	static char bytes[4 * ANNEX_FS_WRITE];

	for (unsigned int d = 0; d < ANNEX_FS_DESIGNS; d++) {
		struct annex_fs_attr a = {0};
		ssize_t got = 1;
		uint32_t other;
		struct rig r;

		begin(&r, d);
		other = make(r.fs, "other");
		CU_ASSERT_EQUAL(annex_fs_write(r.fs, other, 0, bytes, sizeof(bytes)),
				sizeof(bytes));
		for (unsigned int i = 0; i < IDLE && d == ANNEX_FS_BYTEFS; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%u", i);
			a.ino = make(r.fs, name);
			CU_ASSERT_EQUAL(annex_fs_write(r.fs, a.ino, 0, "good", 4), 4);
			CU_ASSERT_EQUAL(annex_fs_fsync(r.fs, a.ino), 0);
			annex_fs_forget(r.fs, a.ino, 1);
		}
		for (uint64_t at = sizeof(bytes); got > 0; at += BLOCK)
			got = annex_fs_write(r.fs, other, at, bytes, BLOCK);
		CU_ASSERT_EQUAL(got, -ENOSPC);
		CU_ASSERT_EQUAL(annex_fs_fsync(r.fs, other), 0);
		/* Without the file there is no error. */
		CU_ASSERT_EQUAL(annex_fs_fsync(r.fs, 0), -EIO);
		CU_ASSERT_EQUAL(annex_fs_unlink(r.fs, ANNEX_FS_ROOT, "bad"), 0);
		annex_fs_forget(r.fs, r.bad, 1);
		CU_ASSERT_EQUAL(annex_fs_fsync(r.fs, 0), 0);
		CU_ASSERT_EQUAL(annex_fs_unmount(r.fs), 0);
		end(&r);
	}
}

UNIT_SUITE(fs_errors, {"other files last", others_last}, {"other files", others_succeed})

// SPDX-License-Identifier: MIT
/*
 * Damage to directories, and files that have lost their names.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "models/fs/dir.h"
#include "fs_check_rig.h"
#include "tests/unit/unit.h"

/* Names that are wrong, in one way each. */
static void names(void)
{
	struct annex_cxlssd *s;
	struct fsck_place at;
	struct fs_line l;

	s = fsck_make(FSCK_URI);
	at = fsck_find(s, 1, "b");
	fsck_spoil(s, at.block, at.line);
	fsck_mends(s, "no directory has a name", 0);
	s = fsck_make(FSCK_URI);
	at = fsck_find(s, fsck.dir, fsck_long_name('c'));
	fsck_spoil(s, at.block, at.line);
	fsck_mends(s, "no directory has a name", 0);
	s = fsck_make(FSCK_URI);
	fsck_spoil(s, at.block, at.line + 2);
	fsck_mends(s, "no directory has a name", 0);
	s = fsck_make(FSCK_URI);
	fsck_spoil(s, at.block, at.line + 40); /* behind the last name */
	fsck_mends(s, "is damaged", 0);
	s = fsck_make(FSCK_URI);
	at = fsck_find(s, fsck.many, "file 700");
	fsck_set_head(s, at, 999, 8);
	fsck_mends(s, "is of inode 999, which is not there", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, at, 0xfffffff0, 8);
	fsck_mends(s, "\"file 700\" is of inode 4294967280, which is not there", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, at, 0, 8);
	fsck_mends(s, "is of inode 0, which is not there", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, at, fsck.one, 4);
	fsck_mends(s, "\"file 700\" has another type", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, at, fsck.sub, 4);
	fsck_mends(s, "which has another name", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, at, 1, 4);
	fsck_mends(s, "is of directory 1, which has another name", 0);
	s = fsck_make(FSCK_URI);
	l = fsck_get_line(s, at.block, at.line);
	l.payload[8 + 5] = '1';
	fsck_put_line(s, at.block, at.line, &l);
	fsck_mends(s, "the name \"file 100\" is there twice", 0);
	for (uint32_t k = 0; k < 4; k++) {
		static const char *const text[] = {"a/", ".", "..", "\0"};

		s = fsck_make(FSCK_URI);
		memcpy(l.payload + 8, text[k], 2);
		l.payload[5] = k == 1 ? 1 : 2;
		fsck_put_line(s, at.block, at.line, &l);
		fsck_mends(s, "cannot be", 0);
	}
}

/* Names that would go where the device has no room are not taken. */
static void refuses_names(struct annex_cxlssd *s)
{
	const struct annex_fs_new what = {S_IFREG, 0, 0, 0};
	struct annex_fs_attr a;
	struct annex_fs *fs = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_make(fs, fsck.many, "new", &what, &a), -EIO);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
}

/* Names behind the end, and an end that is too early for the next block. */
static void ends_of_blocks(uint32_t node)
{
	struct fs_line none = {0}, l;

	for (uint32_t k = 0; k < 5; k++) {
		struct annex_cxlssd *s = fsck_make(FSCK_URI);
		const uint32_t block = fsck_get_pointer(s, node, 5);

		if (k < 2)
			fsck_put_line(s, block, k ? 63 : 20, &none);
		for (uint32_t line = 50; k == 2 && line < 64; line++)
			fsck_put_line(s, block, line, &none);
		l = fsck_get_line(s, block, 20);
		l.payload[6] = 9;
		l.payload[7] = k == 3 ? FS_DIR_FREE : FS_DIR_NAME;
		if (k > 2)
			fsck_put_line(s, block, 20, &l);
		if (k == 4)
			fsck_spoil(s, block, 25);
		if (k == 2 || k == 3)
			refuses_names(s);
		fsck_mends(s,
			   k == 0   ? "is no name"
			   : k == 2 ? "ends at line 50"
			   : k == 1 ? "no directory has a name"
				    : "has too much room",
			   0);
	}
}

/* Blocks of directories that are not as they should be. */
static void blocks_of_directories(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct fs_line l;
	struct fs_inode i = fsck_get_inode(s, fsck.many);
	const uint32_t node = i.map[0];
	struct fsck_place at;

	CU_ASSERT_EQUAL(i.height, 1);
	fsck_spoil(s, node, 0);
	fsck_mends(s, "of its map is damaged", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_pointer(s, node, 3, 0);
	fsck_mends(s, "the last one of 13", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_pointer(s, node, 3, FS_UNWRITTEN | fsck_get_pointer(s, node, 3));
	fsck_mends(s, "cannot be", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_pointer(s, node, 30, fsck_set_pointer(s, node, 12, 0));
	fsck_mends(s, "the last one of 31", 0);
	s = fsck_make(FSCK_URI);
	i.height = 2;
	fsck_put_inode(s, fsck.many, &i);
	fsck_mends(s, "cannot be", 0);
	ends_of_blocks(node);
	/* Lines that were given back are taken again. */
	s = fsck_make(FSCK_URI);
	at = fsck_find(s, fsck.dir, fsck_long_name('c'));
	l = fsck_get_line(s, at.block, at.line);
	l.payload[7] = FS_DIR_FREE;
	fsck_put_line(s, at.block, at.line, &l);
	fsck_spoil(s, at.block, at.line + 1);
	fsck_mends(s, "is damaged", 0);
	/* All of a block. */
	s = fsck_make(FSCK_URI);
	for (uint32_t line = 0; line < FS_LINES; line++)
		fsck_spoil(s, fsck_get_pointer(s, node, 5), line);
	fsck_mends(s, "line 63 of block", 0);
}

/* The tree of directories. */
static void trees(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct fs_line none = {0};
	struct fsck_place at, sub;

	/* Nobody names it; those below it stay there. */
	at = fsck_find(s, 1, "dir");
	sub = fsck_find(s, fsck.dir, "sub");
	fsck_put_line(s, at.block, at.line, &none);
	fsck_mends(s, "no directory has a name", 0);
	/* A circle: dir has sub, and sub has dir. */
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, fsck_find(s, fsck.sub, "deep"), fsck.dir, S_IFDIR >> 12);
	fsck_put_line(s, at.block, at.line, &none);
	fsck_mends(s, "no directory has a name", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, sub, fsck.dir, S_IFDIR >> 12); /* of itself */
	fsck_mends(s, "which has another name", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_head(s, fsck_find(s, 1, "a"), fsck.sub, S_IFDIR >> 12);
	fsck_mends(s, "which has another name", 0);
}

/* Many files without a name; there is a directory for them, or something else of that name. */
static void lost_files(void)
{
	char name[16];

	for (uint32_t k = 0; k < 4; k++) {
		struct annex_cxlssd *s = fsck_make(FSCK_URI);
		struct annex_fs_attr attr;
		struct annex_fs *fs;
		struct fs_inode i;

		CU_ASSERT_EQUAL(annex_fs_mount(s, NULL, &fs), 0);
		if (k == 1)
			fsck_file(fs, 1, "lost+found", S_IFREG | 0600);
		if (k > 1)
			attr.ino = fsck_file(fs, 1, "lost+found", S_IFDIR | 0600);
		if (k == 2) {
			snprintf(name, sizeof(name), "#%u", fsck.one);
			fsck_file(fs, attr.ino, name, S_IFIFO | 0600);
		}
		if (k == 3) /* All other inodes are taken. */
			for (uint32_t n = 0; n < 200; n++) {
				const struct annex_fs_new what = {.mode = S_IFREG | 0600};

				snprintf(name, sizeof(name), "more %u", n);
				if (!annex_fs_make(fs, fsck.dir, name, &what, &attr))
					annex_fs_forget(fs, attr.ino, 1);
			}
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		i = fsck_get_inode(s, fsck.many);
		memset(i.map, 0, sizeof(i.map));
		fsck_put_inode(s, fsck.many, &i);
		fsck_mends(s, "no directory has a name", 0);
	}
}

static void where_they_are_found(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct annex_fs_attr lost, attr;
	struct fs_line none = {0};
	struct annex_fs *fs;
	struct fsck_place at = fsck_find(s, 1, "dir");
	char name[16];

	fsck_put_line(s, at.block, at.line, &none);
	at = fsck_find(s, fsck.many, "file 700");
	fsck_put_line(s, at.block, at.line, &none);
	fsck_check(s, true, "no directory has a name");
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, 1, "lost+found", &lost), 0);
	CU_ASSERT_EQUAL(lost.nlink, 3);
	snprintf(name, sizeof(name), "#%u", fsck.dir);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, lost.ino, name, &attr), 0);
	CU_ASSERT_EQUAL(attr.ino, fsck.dir);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, fsck.dir, "..", &attr), 0);
	CU_ASSERT_EQUAL(attr.ino, lost.ino);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, fsck.dir, "sub", &attr), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* Files wait for a name until there is room for it. */
static void no_room(void)
{
	const struct annex_fs_new what = {.mode = S_IFREG | 0600};
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct annex_fs_report r;
	struct annex_fs_attr attr;
	struct fs_line none = {0};
	struct annex_fs *fs;
	struct fsck_place at;
	static char buf[65536];
	uint32_t node;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_make(fs, 1, "all", &what, &attr), 0);
	for (uint64_t end = 0; annex_fs_write(fs, attr.ino, end, buf, sizeof(buf)) > 0;)
		end += sizeof(buf);
	for (uint64_t end = 0; end < FSCK_BYTES; end += 4096)
		annex_fs_fallocate(fs, attr.ino, end, 4096, 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	at = fsck_find(s, 1, "a");
	fsck_put_line(s, at.block, at.line, &none);
	at = fsck_find(s, 1, "b");
	fsck_put_line(s, at.block, at.line, &none);
	/* Its new map goes where the old one was. */
	node = fsck_get_inode(s, fsck.many).map[0];
	fsck_set_pointer(s, node, 30, fsck_set_pointer(s, node, 12, 0));
	for (uint32_t k = 0; k < 2; k++) {
		r = fsck_check(s, true, "no directory has a name");
		CU_ASSERT(r.problems > r.mended);
		CU_ASSERT_EQUAL(fsck_count_wrong(s), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, 1, "all"), 0);
	annex_fs_forget(fs, attr.ino, 1);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	fsck_mends(s, "no directory has a name", 0);
}

/* No inode is free for lost+found: they go to the root. */
static void no_inode(void)
{
	const struct annex_fs_new what = {.mode = S_IFREG | 0600};
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct annex_fs_attr attr = {0};
	struct fs_line none = {0};
	struct annex_fs *fs;
	struct fsck_place at;
	char name[16];

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	do
		snprintf(name, sizeof(name), "more %u", attr.ino);
	while (!annex_fs_make(fs, fsck.sub, name, &what, &attr));
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	at = fsck_find(s, fsck.dir, "sub");
	fsck_put_line(s, at.block, at.line, &none);
	fsck_check(s, true, "no directory has a name");
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, 1, "lost+found", &attr), -ENOENT);
	snprintf(name, sizeof(name), "#%u", fsck.sub);
	CU_ASSERT_EQUAL(annex_fs_lookup(fs, 1, name, &attr), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(fsck_check(s, false, NULL).problems, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(fs_check_dirs, {"names", names}, {"blocks", blocks_of_directories},
	   {"the tree of directories", trees}, {"lost files", lost_files},
	   {"where lost files are found", where_they_are_found}, {"no room for names", no_room},
	   {"no inode for lost+found", no_inode})

// SPDX-License-Identifier: MIT
/*
 * Damage to a file system: each kind is told, and mended; the rest of the files stay as they were,
 * and afterwards nothing is wrong.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "models/fs/node.h"
#include "fs_check_rig.h"
#include "tests/unit/unit.h"

static void clean(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	const struct annex_fs_report r = fsck_check(s, false, NULL);

	CU_ASSERT_EQUAL(r.problems, 0);
	CU_ASSERT_EQUAL(r.files, FSCK_MANY - 1 + 13);
	CU_ASSERT_EQUAL(r.directories, 4);
	CU_ASSERT_EQUAL(fsck_check(s, true, NULL).problems, 0);
	CU_ASSERT_EQUAL(fsck_count_wrong(s), 0);
	CU_ASSERT_EQUAL(fsck_walk(s), r.files);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void superblocks(void)
{
	struct annex_fs_report out;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
	struct fs_line l;

	s = fsck_make(FSCK_URI);
	fsck_spoil(s, 0, 0);
	CU_ASSERT_EQUAL(annex_fs_mount(s, NULL, &fs), -EILSEQ);
	fsck_mends(s, "superblock in block 0 is damaged", 0);
	s = fsck_make(FSCK_URI);
	fsck_spoil(s, fsck_super.blocks - 1, 0);
	fsck_mends(s, "superblock in block 4095 is damaged", 0);
	s = fsck_make(FSCK_URI);
	fsck_spoil(s, 0, 1);
	memset(&l, 7, sizeof(l));
	fsck_put_line(s, fsck_super.blocks - 1, 0, &l);
	fsck_mends(s, "superblock in block 4095 is damaged", 0);
	s = fsck_make(FSCK_URI);
	memset(&l, 0, sizeof(l));
	l.payload[0] = 9;
	fsck_put_line(s, 0, 1, &l);
	fsck_mends(s, "list of orphans is damaged", 0);
	s = fsck_make(FSCK_URI);
	l = fsck_get_line(s, 0, 0);
	l.payload[8] = 2;
	fsck_put_line(s, 0, 0, &l);
	CU_ASSERT_EQUAL(annex_fs_check(s, true, NULL, NULL, &out), -EPROTONOSUPPORT);
	fsck_spoil(s, 0, 0);
	fsck_spoil(s, fsck_super.blocks - 1, 0);
	CU_ASSERT_EQUAL(annex_fs_check(s, true, NULL, NULL, &out), -EILSEQ);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open("cxlssd:?size=4M&page=512", &s), 0);
	CU_ASSERT_EQUAL(annex_fs_check(s, true, NULL, NULL, &out), -EILSEQ);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static uint32_t root = ANNEX_FS_ROOT;

#define FIELD(name) offsetof(struct fs_inode, name), sizeof(((struct fs_inode *)0)->name)

/* A field of an inode gets a value; so many files lose something. */
static const struct {
	uint32_t *ino;
	size_t at, bytes;
	uint64_t value;
	const char *want;
	uint32_t wrong;
} cases[] = {
	{&fsck.b, FIELD(height), 9, "height of 9", 1},
	{&fsck.b, FIELD(size), 1ull << 60, "no file has", 1},
	{&fsck.fast, FIELD(size), 1ull << 60, "no file has", 1},
	{&fsck.b, FIELD(map[1]), 0xfffffff, "cannot be", 1},
	{&fsck.b, FIELD(map[0]), 3, "cannot be", 1},
	{&fsck.tall, FIELD(map[0]), 4095, "cannot be", 1},
	{&fsck.tall, FIELD(map[0]), FS_UNWRITTEN | 4000, "cannot be", 1},
	{&fsck.tall, FIELD(map[5]), 200, "more than one root", 0},
	{&fsck.tall, FIELD(height), 0, "blocks, not", 1},
	{&fsck.tall, FIELD(height), 4, "of its map is damaged", 1},
	{&fsck.b, FIELD(xattr), 5, "cannot lie in block 5", 0},
	{&fsck.b, FIELD(mode), 0170000, "no file has mode", 1},
	{&fsck.b, FIELD(mode), 0, "which is not there", 1},
	{&fsck.b, FIELD(mode), S_IFDIR | 0700, "type", 1},
	{&fsck.b, FIELD(mode), S_IFIFO | 0700, "no file that has data", 1},
	{&fsck.link, FIELD(mode), S_IFREG | 0700, "cannot be", 1},
	{&fsck.dir, FIELD(mode), S_IFREG | 0700, "no directory has a name", 0},
	{&fsck.b, FIELD(nlink), 7, "1 links, not 7", 0},
	{&fsck.a, FIELD(nlink), 1, "2 links, not 1", 0},
	{&fsck.b, FIELD(nlink), 0, "1 links, not 0", 0},
	{&fsck.dir, FIELD(nlink), 2, "3 links, not 2", 0},
	{&root, FIELD(nlink), 0, "4 links, not 0", 0},
	{&fsck.b, FIELD(flags), 4, "unknown flags", 0},
	{&fsck.b, FIELD(flags), 1, "list of orphans", 0},
	{&root, FIELD(flags), 1, "list of orphans", 0},
	{&fsck.b, FIELD(orphan), 9, "cannot be the next orphan", 0},
	{&fsck.b, FIELD(orphan), 0xffffff, "cannot be the next orphan", 0},
	{&fsck.b, FIELD(blocks), 99, "it has 5 blocks, not 99", 0},
	{&fsck.fifo, FIELD(size), 5, "no file that has data", 0},
	{&fsck.fifo, FIELD(map[3]), 300, "no file that has data", 0},
	{&fsck.link, FIELD(size), 0, "no file has mode", 1},
	{&fsck.path, FIELD(size), 4096, "no file has mode", 1},
	{&fsck.path, FIELD(map[0]), 0, "target of the link is lost", 1},
	{&fsck.path, FIELD(map[0]), 20, "target of the link is lost", 1},
	{&fsck.path, FIELD(map[0]), FS_UNWRITTEN | 3000, "target of the link is lost", 1},
	{&fsck.link, FIELD(height), 1, "height of 1", 0},
	{&fsck.dir, FIELD(rdev), 77, "parent is 1, not 77", 0},
	{&root, FIELD(rdev), 77, "parent is 1, not 77", 0},
	{&fsck.dir, FIELD(size), 5000, "of 5000 bytes", 0},
	{&fsck.dir, FIELD(size), 0, "of 0 bytes", 0},
	{&fsck.dir, FIELD(size), 1ull << 63, "bytes", 0},
	{&fsck.many, FIELD(size), 8192, "of 8192 bytes", 0},
	{&fsck.many, FIELD(map[0]), 0, "no directory has a name", 0},
	{&fsck.dir, FIELD(map[0]), 0, "no directory has a name", 0},
	{&root, FIELD(mode), S_IFREG | 0700, "the root, and no directory", 0},
	{&root, FIELD(mode), 0, "the root, and no directory", 0},
};

static void fields(void)
{
	for (uint32_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct annex_cxlssd *s = fsck_make(FSCK_URI);
		struct fs_inode i = fsck_get_inode(s, *cases[k].ino);

		memcpy((char *)&i + cases[k].at, &cases[k].value, cases[k].bytes);
		fsck_put_inode(s, *cases[k].ino, &i);
		fsck_mends(s, cases[k].want, cases[k].wrong);
	}
}

static void lines_of_inodes(void)
{
	static const struct {
		uint32_t *ino;
		uint32_t wrong;
	} f[] = {{&fsck.b, 1},   {&fsck.tall, 1}, {&fsck.link, 1}, {&fsck.dir, 0},
		 {&fsck.sub, 0}, {&fsck.many, 0}, {&root, 0}};
	char want[64];

	for (uint32_t k = 0; k < 2 * sizeof(f) / sizeof(f[0]); k++) {
		struct annex_cxlssd *s = fsck_make(FSCK_URI);
		uint32_t block, line;

		fs_node_lines(&fsck_super, *f[k / 2].ino, &block, &line);
		fsck_spoil(s, block, line + k % 2);
		snprintf(want, sizeof(want), "inode %u: line %u is damaged", *f[k / 2].ino, k % 2);
		fsck_mends(s, want, f[k / 2].wrong);
	}
	for (uint32_t k = 0; k < 2; k++) {
		struct annex_cxlssd *s = fsck_make(FSCK_URI);

		/* Of no file, and of number 0, which is none. */
		fsck_spoil(s, fsck_super.itable + (k ? (fsck_super.inodes - 1) / FS_INODES : 0),
			   k ? 63 : 1);
		fsck_mends(s, "line 1 is damaged", 0);
	}
}

static void maps(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct fs_inode i = fsck_get_inode(s, fsck.tall), b;
	uint32_t node = fsck_get_pointer(s, i.map[0], 0);

	CU_ASSERT_EQUAL(i.height, 2);
	fsck_spoil(s, node, 1);
	fsck_mends(s, "of its map is damaged", 1);
	s = fsck_make(FSCK_URI);
	fsck_spoil(s, i.map[0], 0);
	fsck_mends(s, "of its map is damaged", 1);
	s = fsck_make(FSCK_URI);
	fsck_set_pointer(s, node, 39, i.map[0]); /* a circle */
	fsck_mends(s, "is another's already", 1);
	s = fsck_make(FSCK_URI);
	fsck_set_pointer(s, i.map[0], 900, i.map[0]);
	fsck_mends(s, "is another's already", 0);
	s = fsck_make(FSCK_URI);
	fsck_set_pointer(s, i.map[0], 5, FS_UNWRITTEN | fsck_get_pointer(s, i.map[0], 0));
	fsck_mends(s, "cannot be", 0);
	s = fsck_make(FSCK_URI);
	b = fsck_get_inode(s, fsck.b);
	b.map[0] = fsck_get_inode(s, fsck.a).map[0];
	fsck_put_inode(s, fsck.b, &b);
	fsck_mends(s, "is another's already", 1);
	s = fsck_make(FSCK_URI);
	b = fsck_get_inode(s, fsck.b);
	b.map[7] = b.xattr; /* of the same file */
	fsck_put_inode(s, fsck.b, &b);
	fsck_mends(s, "the block of its extended attributes", 0);
	/* Behind the largest file. */
	s = fsck_make(FSCK_URI);
	i = fsck_get_inode(s, fsck.tall);
	i.height = 4;
	fsck_set_pointer(s, i.map[0], 950, 4000);
	fsck_put_inode(s, fsck.tall, &i);
	fsck_mends(s, "cannot be", 1);
}

static void attributes(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	const uint32_t block = fsck_get_inode(s, fsck.b).xattr;
	struct fs_line l;

	fsck_spoil(s, block, 0);
	fsck_mends(s, "its extended attributes are damaged", 0);
	s = fsck_make(FSCK_URI);
	fsck_spoil(s, block, 63);
	fsck_mends(s, "its extended attributes are damaged", 0);
	s = fsck_make(FSCK_URI);
	l = fsck_get_line(s, block, 0);
	l.payload[2] = 0x80;
	fsck_put_line(s, block, 0, &l);
	fsck_mends(s, "its extended attributes are damaged", 0);
}

/* A file that a crash left to be cut is no problem, and is cut. */
static void finishes(struct annex_cxlssd *s)
{
	struct annex_fs_report before = fsck_check(s, false, NULL), out;

	CU_ASSERT(!before.problems && before.unfinished == 1);
	out = fsck_check(s, true, NULL);
	CU_ASSERT(!out.problems && out.unfinished == 1 && out.blocks < before.blocks);
	out = fsck_check(s, false, NULL);
	CU_ASSERT(!out.problems && !out.unfinished && out.files == before.files);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void orphans(void)
{
	struct annex_cxlssd *s;
	struct fs_line l = {0};
	struct annex_fs *fs;
	struct fs_inode i;
	struct fsck_place at;

	for (uint32_t k = 0; k < 7; k++) {
		uint32_t ino;

		s = fsck_make(FSCK_URI);
		ino = k == 5 ? fsck.b : k == 6 ? fsck.path : fsck.tall;
		at = fsck_find(s, k == 6 ? fsck.sub : 1, k == 5 ? "b" : k == 6 ? "path" : "tall");
		i = fsck_get_inode(s, ino);
		i.flags = FS_ORPHAN;
		i.nlink = 0;
		i.orphan = k == 3 ? ino : 0;
		if (k != 4)
			fsck_set_head(s, at, fsck.a, S_IFREG >> 12);
		if (k == 4) { /* It has a name, and blocks behind its size. */
			i.nlink = 1;
			i.size = 20 * 4096;
		}
		memcpy(l.payload, &ino, 4);
		fsck_put_line(s, 0, 1, &l);
		fsck_put_inode(s, ino, &i);
		if (k == 1)
			fsck_spoil(s, 0, 1);
		if (k == 4)
			finishes(s);
		else
			fsck_mends(s,
				   k == 1   ? "line 1 of the superblock is damaged"
				   : k == 3 ? "list of orphans is damaged"
					    : "links, not",
				   1);
	}
	/* The same file system, by mounting it. */
	s = fsck_make(FSCK_URI);
	i = fsck_get_inode(s, fsck.tall);
	i.flags = FS_ORPHAN;
	i.size = 20 * 4096;
	memcpy(l.payload, &fsck.tall, 4);
	fsck_put_line(s, 0, 1, &l);
	fsck_put_inode(s, fsck.tall, &i);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(fsck_check(s, false, NULL).problems, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A file whose map is damaged cannot be freed; another that ends with it is. */
static void ends(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	const struct fs_inode i = fsck_get_inode(s, fsck.tall);
	struct annex_fs_stats before, after;
	struct annex_fs *fs;

	CU_ASSERT_FATAL(i.height > 0);
	fsck_spoil(s, i.map[0], 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	annex_fs_get_stats(fs, &before);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "tall"), 0);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "b"), 0);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), -EIO);
	annex_fs_get_stats(fs, &after);
	CU_ASSERT_EQUAL(after.free_inodes, before.free_inodes + 1);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), -EIO);
	CU_ASSERT(fsck_check(s, true, NULL).problems > 0);
	CU_ASSERT_EQUAL(fsck_check(s, false, NULL).problems, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void bitmaps(void)
{
	for (uint32_t k = 0; k < 4; k++) {
		const uint32_t block = k < 2 ? fsck_super.ibitmap : fsck_super.bbitmap;
		struct annex_cxlssd *s = fsck_make(FSCK_URI);
		struct fs_line l = fsck_get_line(s, block, 1);

		l.payload[9] ^= 0x12;
		if (k % 2)
			fsck_spoil(s, block, 1);
		else
			fsck_put_line(s, block, 1, &l);
		fsck_mends(s,
			   k == 0   ? "line 1 of the bitmap of inodes is wrong"
			   : k == 1 ? "line 1 of the bitmap of inodes is damaged"
			   : k == 2 ? "line 1 of the bitmap of blocks is wrong"
				    : "line 1 of the bitmap of blocks is damaged",
			   0);
	}
}

UNIT_SUITE(fs_check, {"a file system that is whole", clean}, {"superblocks", superblocks},
	   {"fields of inodes", fields}, {"lines of inodes", lines_of_inodes}, {"maps", maps},
	   {"extended attributes", attributes}, {"orphans", orphans}, {"ends", ends},
	   {"bitmaps", bitmaps})

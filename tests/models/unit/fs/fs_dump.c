// SPDX-License-Identifier: MIT
/*
 * A file system in lines of text: what is there, and what is damaged.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "models/fs/map.h"
#include "fs_check_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static char text[4u << 20];
static size_t end;

static void take(void *ctx, const char *line)
{
	const size_t n = strlen(line);

	(void)ctx;
	CU_ASSERT(n > 0 && !strchr(line, '\n'));
	for (size_t i = 0; i < n; i++)
		CU_ASSERT(line[i] >= ' ' && line[i] <= '~');
	if (end + n + 2 > sizeof(text))
		return;
	memcpy(text + end, line, n);
	text[end + n] = '\n';
	end += n + 1;
	text[end] = 0;
}

/* The lines of a dump, each with its end. */
static const char *dump(struct annex_cxlssd *s, uint32_t ino)
{
	end = 1;
	strcpy(text, "\n");
	CU_ASSERT_EQUAL(annex_fs_dump(s, ino, take, NULL), 0);
	return text;
}

/* One of them begins so. */
static void has(const char *lines, const char *want)
{
	char line[512];

	snprintf(line, sizeof(line), "\n%s", want);
	CU_ASSERT_PTR_NOT_NULL(strstr(lines, line));
	if (!strstr(lines, line))
		printf(" [no \"%s\"] ", want);
}

static void whole_line(const char *lines, const char *want)
{
	char line[512];

	snprintf(line, sizeof(line), "%s\n", want);
	has(lines, line);
}

static void a_file_system(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	const char *lines = dump(s, 0);
	struct annex_fs_stats stats;
	struct annex_fs *fs;
	char want[64];

	whole_line(lines, "version: 1");
	whole_line(lines, "blocks: 4096 of 4096 bytes");
	whole_line(lines, "inodes: 1024");
	whole_line(lines, "superblock: 0, copy: 4095");
	whole_line(lines, "bitmap of inodes: 1-1");
	whole_line(lines, "bitmap of blocks: 2-2");
	whole_line(lines, "table of inodes: 3-34");
	whole_line(lines, "files and directories: 35-4094");
	whole_line(lines, "no orphans");
	CU_ASSERT_PTR_NULL(strstr(lines, "damaged"));
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	annex_fs_get_stats(fs, &stats);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	snprintf(want, sizeof(want), "free inodes: %u", (unsigned int)stats.free_inodes);
	whole_line(lines, want);
	snprintf(want, sizeof(want), "free blocks: %u", (unsigned int)stats.free_blocks);
	whole_line(lines, want);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void files(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct annex_fs_attr attr = {0};
	const char *lines = dump(s, fsck.b);
	struct annex_fs *fs;
	struct fs_inode i;
	char want[64];

	whole_line(lines, "type: file");
	whole_line(lines, "mode: 0600");
	whole_line(lines, "links: 1");
	whole_line(lines, "owner: 3:4");
	whole_line(lines, "size: 12293");
	whole_line(lines, "blocks: 5");
	whole_line(lines, "height: 0");
	whole_line(lines, "extended attribute: \"user.b\", 5 bytes");
	i = fsck_get_inode(s, fsck.b);
	snprintf(want, sizeof(want), "blocks 0-3: %u-%u", i.map[0], i.map[0] + 3);
	whole_line(lines, want);
	lines = dump(s, fsck.tall);
	has(lines, "node of height 2: ");
	has(lines, "node of height 1: ");
	has(lines, "blocks 0-");
	has(lines, "block 1000: ");
	lines = dump(s, fsck.fast);
	i = fsck_get_inode(s, fsck.fast);
	snprintf(want, sizeof(want), "blocks 1-9: %u-%u unwritten", i.map[1] & ~FS_UNWRITTEN,
		 (i.map[1] & ~FS_UNWRITTEN) + 8);
	whole_line(lines, want);
	lines = dump(s, fsck.link);
	whole_line(lines, "type: link");
	whole_line(lines, "target: \"tttttttttttttttttttttttttttttttttttttttt\"");
	has(dump(s, fsck.path),
	    "target: \"tttttttttttttttttttttttttttttttttttttttttttttttttttttttt");
	whole_line(dump(s, fsck.fifo), "type: fifo");
	/* A time that is known, and a device. */
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	attr.mtime = 1000000000123456789;
	CU_ASSERT_EQUAL(annex_fs_setattr(fs, fsck.a, &attr, ANNEX_FS_SET_MTIME), 0);
	attr.mtime = INT64_MIN;
	CU_ASSERT_EQUAL(annex_fs_setattr(fs, fsck.link, &attr, ANNEX_FS_SET_MTIME), 0);
	attr.ino = fsck_file(fs, 1, "null", S_IFCHR | 0666);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	whole_line(dump(s, fsck.a), "modified: 2001-09-09T01:46:40.123456789Z");
	whole_line(dump(s, fsck.link), "modified: 1677-09-21T00:12:43.145224192Z");
	whole_line(dump(s, attr.ino), "device: 0x0");
	CU_ASSERT_EQUAL(annex_fs_dump(s, 1000, take, NULL), -ESTALE);
	CU_ASSERT_EQUAL(annex_fs_dump(s, 5000, take, NULL), -ESTALE);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void directories(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct annex_fs *fs;
	const char *lines;
	uint32_t ino;
	char want[400];

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	ino = fsck_file(fs, fsck.dir, "tab\there \"\\ \xc3\xa4", S_IFREG);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	lines = dump(s, fsck.dir);
	whole_line(lines, "type: directory");
	whole_line(lines, "parent: 1");
	snprintf(want, sizeof(want), "name: \"sub\", inode %u, directory", fsck.sub);
	whole_line(lines, want);
	snprintf(want, sizeof(want), "name: \"%s\", inode %u, file", fsck_long_name('c'), fsck.c);
	whole_line(lines, want);
	snprintf(want, sizeof(want), "name: \"tab\\x09here \\x22\\x5c \\xc3\\xa4\", inode %u, file",
		 ino);
	whole_line(lines, want);
	lines = dump(s, fsck.many);
	snprintf(want, sizeof(want), "name: \"file %u\", inode %u, file", FSCK_MANY - 1, fsck.one);
	whole_line(lines, want);
	CU_ASSERT_PTR_NULL(strstr(lines, "\"file 7\""));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void damaged_files(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct fs_inode i = fsck_get_inode(s, fsck.tall);

	fsck_spoil(s, i.map[0], 3);
	has(dump(s, fsck.tall), "line 3 of block ");
	fsck_set_pointer(s, i.map[0], 0, 4095);
	has(dump(s, fsck.tall), "block 0: 0x00000fff points nowhere");
	/* A circle that is as high as can be. */
	for (uint32_t k = 0; k < 3 * FS_POINTERS; k++)
		fsck_set_pointer(s, i.map[0], k, i.map[0]);
	i.height = FS_HEIGHT;
	fsck_put_inode(s, fsck.tall, &i);
	has(dump(s, fsck.tall), "the map is damaged: it has more blocks than the device");
	i.height = 5;
	fsck_put_inode(s, fsck.tall, &i);
	has(dump(s, fsck.tall), "the map is damaged: no map is so high");
	i = fsck_get_inode(s, fsck.path);
	i.map[0] = 1;
	fsck_put_inode(s, fsck.path, &i);
	has(dump(s, fsck.path), "the target is lost");
	i.size = 5000;
	fsck_put_inode(s, fsck.path, &i);
	has(dump(s, fsck.path), "the target is damaged");
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void damaged_lines(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct fs_inode i;
	struct fs_line l = {0};
	struct fsck_place at;

	i = fsck_get_inode(s, fsck.b);
	fsck_spoil(s, i.xattr, 1);
	has(dump(s, fsck.b), "extended attributes: line 1 is damaged");
	l.payload[0] = 5;
	l.payload[2] = 0xff;
	fsck_put_line(s, i.xattr, 0, &l);
	has(dump(s, fsck.b), "extended attributes: one crosses the end");
	i.xattr = 7;
	i.mode = 0;
	fsck_put_inode(s, fsck.b, &i);
	CU_ASSERT_EQUAL(annex_fs_dump(s, fsck.b, take, NULL), -ESTALE);
	i.mode = 0170000;
	fsck_put_inode(s, fsck.b, &i);
	has(dump(s, fsck.b), "extended attributes: no such block");
	at = fsck_find(s, fsck.dir, fsck_long_name('c'));
	fsck_spoil(s, at.block, at.line + 1);
	has(dump(s, fsck.dir), "line 2 of block ");
	fsck_spoil(s, at.block, at.line);
	has(dump(s, fsck.dir), "line 1 of block ");
	fsck_spoil(s, fsck_super.itable, 5);
	has(dump(s, 2), "inode 2: line 1 is damaged");
	fsck_spoil(s, fsck_super.itable, 4);
	has(dump(s, 2), "inode 2: line 0 is damaged");
	fsck_spoil(s, fsck_super.bbitmap, 2);
	has(dump(s, 0), "line 2 of the bitmap of blocks is damaged");
	memset(&l, 0, sizeof(l));
	l.payload[0] = (uint8_t)fsck.a;
	fsck_put_line(s, 0, 1, &l);
	has(dump(s, 0), "the list of orphans is damaged");
	fsck_spoil(s, 0, 1);
	has(dump(s, 0), "line 1 of the superblock is damaged");
	fsck_spoil(s, 0, 0);
	has(dump(s, 0), "the superblock in block 0 is damaged: this is its copy");
	fsck_spoil(s, fsck_super.blocks - 1, 0);
	CU_ASSERT_EQUAL(annex_fs_dump(s, 0, take, NULL), -EILSEQ);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* Whatever the metadata are, it ends. */
static void garbage(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	uint64_t rng = random_seed("dump");

	for (unsigned int k = 0; k < 20; k++) {
		for (uint32_t block = fsck_super.itable; block < fsck_super.data + 100; block++)
			for (uint32_t line = 0; line < FS_LINES; line++) {
				struct fs_line l;

				random_fill(&rng, &l, sizeof(l));
				/* A type, a height, and pointers that are near. */
				l.payload[1] = (uint8_t)(random_next(&rng) % 16 << 4);
				l.payload[3] = (uint8_t)(random_next(&rng) % 5);
				for (unsigned int i = 2; i < 14; i++)
					l.payload[i * 4 + 1] &= l.payload[i * 4 + 2] =
						l.payload[i * 4 + 3] = 0;
				fsck_put_line(s, block, line, &l);
			}
		for (unsigned int i = 0; i < 10; i++)
			annex_fs_dump(s, 1 + (uint32_t)(random_next(&rng) % 1000), take, NULL);
		end = 0;
	}
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(fs_dump, {"a file system", a_file_system}, {"files", files},
	   {"directories", directories}, {"damaged files", damaged_files},
	   {"damaged lines", damaged_lines}, {"garbage", garbage})

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "models/fs/buf.h"
#include "models/fs/dir.h"
#include "models/fs/map.h"
#include "models/fs/node.h"
#include "fs_check_rig.h"
#include "tests/unit/unit.h"

struct fsck_files fsck;
struct fs_super fsck_super;

/* struct told - Problems: how many have the words @want. */
struct told {
	const char *want;
	uint32_t found;
};

uint32_t fsck_file(struct annex_fs *fs, uint32_t parent, const char *name, uint32_t mode)
{
	const struct annex_fs_new what = {.mode = mode, .uid = 3, .gid = 4};
	struct annex_fs_attr attr = {0};

	CU_ASSERT_EQUAL_FATAL(annex_fs_make(fs, parent, name, &what, &attr), 0);
	annex_fs_forget(fs, attr.ino, 1);
	return attr.ino;
}

static uint32_t make_link(struct annex_fs *fs, uint32_t parent, const char *name, size_t n)
{
	const struct annex_fs_new what = {0};
	struct annex_fs_attr attr = {0};
	char target[4096];

	memset(target, 't', n);
	target[n] = 0;
	CU_ASSERT_EQUAL_FATAL(annex_fs_symlink(fs, parent, name, target, &what, &attr), 0);
	annex_fs_forget(fs, attr.ino, 1);
	return attr.ino;
}

static void fill(uint32_t ino, uint64_t at, char *buf, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (char)((ino * 31 + (at + i) * 7 + (at + i) / 4096) % 251 + 1);
}

static void put(struct annex_fs *fs, uint32_t ino, uint64_t at, size_t n)
{
	char *buf = malloc(n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	fill(ino, at, buf, n);
	CU_ASSERT_EQUAL(annex_fs_write(fs, ino, at, buf, n), (ssize_t)n);
	free(buf);
}

const char *fsck_long_name(char c)
{
	static char name[201];

	memset(name, c, 200);
	return name;
}

static void make_tree(struct annex_fs *fs)
{
	struct annex_fs_attr attr;
	char name[16];

	fsck.a = fsck_file(fs, 1, "a", S_IFREG | 0644);
	put(fs, fsck.a, 0, 100);
	fsck.b = fsck_file(fs, 1, "b", S_IFREG | 0600);
	put(fs, fsck.b, 0, 3 * 4096 + 5);
	CU_ASSERT_EQUAL(annex_fs_setxattr(fs, fsck.b, "user.b", "value", 5, 0), 0);
	fsck.tall = fsck_file(fs, 1, "tall", S_IFREG | 0600);
	put(fs, fsck.tall, 0, 40 * 4096);
	put(fs, fsck.tall, 1000 * 4096, 4096);
	fsck.fast = fsck_file(fs, 1, "fast", S_IFREG | 0600);
	CU_ASSERT_EQUAL(annex_fs_fallocate(fs, fsck.fast, 0, 40960, ANNEX_FS_KEEP_SIZE), 0);
	put(fs, fsck.fast, 0, 4000);
	fsck.dir = fsck_file(fs, 1, "dir", S_IFDIR | 0755);
	fsck.sub = fsck_file(fs, fsck.dir, "sub", S_IFDIR | 0755);
	fsck.c = fsck_file(fs, fsck.dir, fsck_long_name('c'), S_IFREG | 0600);
	put(fs, fsck.c, 0, 20 * 4096);
	fsck.deep = fsck_file(fs, fsck.sub, "deep", S_IFREG | 0600);
	put(fs, fsck.deep, 0, 5000);
	fsck.link = make_link(fs, fsck.sub, "link", 40);
	fsck.path = make_link(fs, fsck.sub, "path", 3000);
	fsck.fifo = fsck_file(fs, fsck.sub, "fifo", S_IFIFO | 0600);
	CU_ASSERT_EQUAL(annex_fs_link(fs, fsck.a, fsck.sub, "a too", &attr), 0);
	annex_fs_forget(fs, fsck.a, 1);
	fsck.many = fsck_file(fs, 1, "many", S_IFDIR | 0755);
	for (uint32_t i = 0; i < FSCK_MANY; i++) {
		snprintf(name, sizeof(name), "file %u", i);
		fsck.one = fsck_file(fs, fsck.many, name, S_IFREG | 0600);
	}
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, fsck.many, "file 7"), 0);
	CU_ASSERT_EQUAL(annex_fs_setxattr(fs, fsck.dir, "user.dir", "v", 1, 0), 0);
}

struct annex_cxlssd *fsck_make(const char *uri)
{
	const struct annex_fs_mkfs_opts opts = {.inodes = 1000};
	struct annex_cxlssd *s;
	struct annex_fs *fs;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(s, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	fsck_super = fs->super;
	make_tree(fs);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	return s;
}

static uint8_t seen[4096];

/* Each name below a directory is of a file that can be read; how many files there are. */
static uint32_t walk(struct annex_fs *fs, uint32_t dir)
{
	struct annex_fs_entry e = {0};
	struct annex_fs_attr attr;
	char buf[4096];
	uint32_t n = 0;
	int more;

	for (uint32_t k = 0; (more = annex_fs_readdir(fs, dir, e.next, &e)) == 1; k++) {
		if (k < 2)
			continue;
		CU_ASSERT_FATAL(e.ino < sizeof(seen));
		n += !seen[e.ino];
		seen[e.ino] = 1;
		CU_ASSERT_EQUAL(annex_fs_lookup(fs, dir, e.name, &attr), 0);
		CU_ASSERT(attr.ino == e.ino && (attr.mode & S_IFMT) == e.type);
		annex_fs_listxattr(fs, e.ino, buf, sizeof(buf));
		if (S_ISDIR(attr.mode))
			n += walk(fs, e.ino);
		else if (S_ISLNK(attr.mode))
			CU_ASSERT_EQUAL(annex_fs_readlink(fs, e.ino, buf, sizeof(buf)), 0);
		for (uint64_t at = 0; S_ISREG(attr.mode) && at < attr.size && at < 1u << 20;
		     at += 4096)
			CU_ASSERT(annex_fs_read(fs, e.ino, at, buf, sizeof(buf)) > 0);
		annex_fs_forget(fs, e.ino, 1);
	}
	CU_ASSERT_EQUAL(more, 0);
	return n;
}

uint32_t fsck_walk(struct annex_cxlssd *s)
{
	struct annex_fs *fs;
	uint32_t n;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	memset(seen, 0, sizeof(seen));
	n = 1 + walk(fs, 1);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	return n;
}

static void listen(void *ctx, const char *what)
{
	struct told *told = ctx;

	CU_ASSERT(strlen(what) > 8 && !strchr(what, '\n'));
	told->found += told->want && strstr(what, told->want) != NULL;
}

struct annex_fs_report fsck_check(struct annex_cxlssd *s, const char *want)
{
	struct annex_cxlssd_stats before, after;
	struct told told = {want, 0};
	struct annex_fs_report out;

	annex_cxlssd_get_stats(s, &before);
	CU_ASSERT_EQUAL(annex_fs_check(s, listen, &told, &out), 0);
	annex_cxlssd_get_stats(s, &after);
	CU_ASSERT_EQUAL(before.writes, after.writes);
	if (want && !told.found)
		printf(" [\"%s\" is not told, of %llu] ", want, (unsigned long long)out.problems);
	CU_ASSERT(!want || told.found > 0);
	return out;
}

struct fs_line fsck_get_line(struct annex_cxlssd *s, uint32_t block, uint32_t line)
{
	struct fs_line l;

	CU_ASSERT_EQUAL(annex_cxlssd_read(s, ((uint64_t)block * FS_LINES + line) * FS_LINE, &l,
					  sizeof(l), NULL),
			0);
	return l;
}

/* A line gets a payload, with the checksum that it should have. */
void fsck_put_line(struct annex_cxlssd *s, uint32_t block, uint32_t line, struct fs_line *l)
{
	l->crc = fs_line_sum(l, block, line);
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, ((uint64_t)block * FS_LINES + line) * FS_LINE, l,
					   sizeof(*l), NULL),
			0);
}

void fsck_flip(struct annex_cxlssd *s, uint32_t block, uint32_t bit)
{
	const uint64_t at = (uint64_t)block * FS_BLOCK + bit / 8;
	uint8_t byte;

	CU_ASSERT_EQUAL(annex_cxlssd_read(s, at, &byte, 1, NULL), 0);
	byte ^= (uint8_t)(1u << bit % 8);
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, at, &byte, 1, NULL), 0);
}

void fsck_spoil(struct annex_cxlssd *s, uint32_t block, uint32_t line)
{
	fsck_flip(s, block, line * FS_LINE * 8 + 77);
}

struct fs_inode fsck_get_inode(struct annex_cxlssd *s, uint32_t ino)
{
	struct fs_line first, second;
	uint32_t block, line;
	struct fs_inode i;

	fs_node_lines(&fsck_super, ino, &block, &line);
	first = fsck_get_line(s, block, line);
	second = fsck_get_line(s, block, line + 1);
	fs_inode_unpack(&i, first.payload, second.payload);
	return i;
}

void fsck_put_inode(struct annex_cxlssd *s, uint32_t ino, const struct fs_inode *i)
{
	struct fs_line first = {0}, second = {0};
	uint32_t block, line;

	fs_node_lines(&fsck_super, ino, &block, &line);
	fs_inode_pack(i, first.payload, second.payload);
	fsck_put_line(s, block, line, &first);
	fsck_put_line(s, block, line + 1, &second);
}

/* A pointer of a node; the one that was there. */
uint32_t fsck_set_pointer(struct annex_cxlssd *s, uint32_t node, uint32_t i, uint32_t pointer)
{
	struct fs_line l = fsck_get_line(s, node, i / FS_POINTERS);
	const uint32_t was = fs_map_pointer(l.payload, i);

	memcpy(l.payload + i % FS_POINTERS * 4, &pointer, 4);
	fsck_put_line(s, node, i / FS_POINTERS, &l);
	return was;
}

uint32_t fsck_get_pointer(struct annex_cxlssd *s, uint32_t node, uint32_t i)
{
	const struct fs_line l = fsck_get_line(s, node, i / FS_POINTERS);

	return fs_map_pointer(l.payload, i);
}

struct fsck_place fsck_find(struct annex_cxlssd *s, uint32_t dir, const char *name)
{
	const struct fs_inode i = fsck_get_inode(s, dir);
	const size_t n = strlen(name) < FS_DIR_FIRST ? strlen(name) : FS_DIR_FIRST;

	for (uint32_t k = 0; k < i.size / FS_BLOCK; k++) {
		const uint32_t block = i.height ? fsck_get_pointer(s, i.map[0], k) : i.map[k];

		for (uint32_t line = 0; line < FS_LINES; line++) {
			const struct fs_line l = fsck_get_line(s, block, line);

			if (l.payload[7] == FS_DIR_NAME && l.payload[5] == strlen(name) &&
			    !memcmp(l.payload + 8, name, n))
				return (struct fsck_place){block, line};
		}
	}
	CU_FAIL_FATAL("no such name");
	return (struct fsck_place){0, 0};
}

/* The head of a name changes. */
void fsck_set_head(struct annex_cxlssd *s, struct fsck_place at, uint32_t ino, uint8_t type)
{
	struct fs_line l = fsck_get_line(s, at.block, at.line);

	memcpy(l.payload, &ino, 4);
	l.payload[4] = type;
	fsck_put_line(s, at.block, at.line, &l);
}

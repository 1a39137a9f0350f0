// SPDX-License-Identifier: MIT
/*
 * Damage of any kind to the metadata of a file system: a check ends, and a file system in which it
 * finds nothing can be used.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fs_check_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/*
 * struct rig - @image: blocks [0, @used) and the last one, as they are when nothing is wrong.
 * @metadata: blocks of @image that are not contents of files.
 */
struct rig {
	struct annex_cxlssd *s;
	uint8_t *image;
	uint32_t used;
	uint32_t metadata[1024], n;
	uint64_t rng;
};

static void add(struct rig *r, uint32_t block)
{
	CU_ASSERT_FATAL(r->n < sizeof(r->metadata) / sizeof(r->metadata[0]));
	r->metadata[r->n++] = block;
}

static void add_node(struct rig *r, uint32_t node, unsigned int height, bool directory)
{
	if (!node || (!height && !directory))
		return;
	add(r, node);
	for (uint32_t i = 0; height && i < FS_FAN; i++)
		add_node(r, fsck_get_pointer(r->s, node, i), height - 1, directory);
}

static void add_all(struct rig *r)
{
	for (uint32_t block = 0; block < fsck_super.data; block++)
		add(r, block);
	add(r, fsck_super.blocks - 1);
	for (uint32_t ino = 1; ino < fsck_super.inodes; ino++) {
		const struct fs_inode i = fsck_get_inode(r->s, ino);

		if (i.xattr)
			add(r, i.xattr);
		for (uint32_t k = 0; k < FS_DIRECT && !S_ISLNK(i.mode); k++)
			add_node(r, i.map[k], i.height, S_ISDIR(i.mode));
	}
}

static void rig_make(struct rig *r, const char *test)
{
	memset(r, 0, sizeof(*r));
	r->rng = random_seed(test);
	r->s = fsck_make(FSCK_URI);
	add_all(r);
	r->used = fsck_super.data + (uint32_t)fsck_check(r->s, NULL).blocks + 64;
	r->image = malloc((size_t)(r->used + 1) * FS_BLOCK);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->image);
	CU_ASSERT_EQUAL(
		annex_cxlssd_read_blocks(r->s, 0, r->image, (size_t)r->used * FS_BLOCK, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read_blocks(r->s, (uint64_t)FSCK_BYTES - FS_BLOCK,
						 r->image + (size_t)r->used * FS_BLOCK, FS_BLOCK,
						 NULL),
			0);
}

static void rig_free(struct rig *r)
{
	CU_ASSERT_EQUAL(annex_cxlssd_close(r->s), 0);
	free(r->image);
}

/* Bytes that were changed are as before. */
static void restore(struct rig *r)
{
	for (uint32_t k = 0; k <= r->used; k++) {
		const uint64_t at = (uint64_t)(k < r->used ? k : fsck_super.blocks - 1) * FS_BLOCK;
		const uint8_t *was = r->image + (size_t)k * FS_BLOCK;
		uint8_t now[FS_BLOCK];

		CU_ASSERT_EQUAL(annex_cxlssd_read_blocks(r->s, at, now, FS_BLOCK, NULL), 0);
		if (memcmp(now, was, FS_BLOCK) != 0)
			CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(r->s, at, was, FS_BLOCK, NULL),
					0);
	}
}

/* Names come and go in a directory, of several lengths. */
static void use_directory(struct rig *r, struct annex_fs *fs, uint32_t dir)
{
	const struct annex_fs_new what = {.mode = S_IFREG | 0600};
	struct annex_fs_attr attr;
	char name[256];

	for (unsigned int k = 0; k < 12; k++) {
		const int n = snprintf(name, sizeof(name), "new %u ", k);
		const uint64_t more = random_next(&r->rng) % (random_next(&r->rng) & 1 ? 20 : 240);
		int err;

		memset(name + n, 'n', more);
		name[n + more] = 0;
		err = annex_fs_make(fs, dir, name, &what, &attr);
		CU_ASSERT(!err || err == -ENOSPC || err == -EEXIST);
		if (!err)
			annex_fs_forget(fs, attr.ino, 1);
		if (!err && random_next(&r->rng) & 1)
			CU_ASSERT_EQUAL(annex_fs_unlink(fs, dir, name), 0);
	}
}

/* A file system with nothing wrong can be used. */
static void use(struct rig *r)
{
	struct annex_fs_attr attr;
	struct annex_fs *fs;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(r->s, NULL, &fs), 0);
	for (uint32_t ino = 1; ino < fsck_super.inodes; ino++)
		if (!annex_fs_getattr(fs, ino, &attr) && S_ISDIR(attr.mode))
			use_directory(r, fs, ino);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(fsck_walk(r->s), fsck_check(r->s, NULL).files);
	CU_ASSERT_EQUAL(fsck_check(r->s, NULL).problems, 0);
}

static void check_all(struct rig *r)
{
	const struct annex_fs_report told = fsck_check(r->s, NULL);

	if (!told.problems && !told.unfinished)
		CU_ASSERT_EQUAL(fsck_walk(r->s), told.files);
	if (!told.problems && !(random_next(&r->rng) % 8))
		use(r);
}

static uint32_t any_block(struct rig *r)
{
	return r->metadata[random_next(&r->rng) % r->n];
}

static void bit_flips(void)
{
	const unsigned int rounds = UNIT_SANITIZED ? 500 : 2000;
	struct rig r;

	rig_make(&r, "flips");
	for (unsigned int k = 0; k < rounds; k++) {
		const uint32_t block = any_block(&r), bit = random_next(&r.rng) % (FS_BLOCK * 8);

		fsck_flip(r.s, block, bit);
		check_all(&r);
		restore(&r);
	}
	CU_ASSERT_EQUAL(fsck_check(r.s, NULL).problems, 0);
	rig_free(&r);
}

/* A number that may mean something. */
static uint32_t number(struct rig *r)
{
	static const uint32_t some[] = {0, 1, 2, 5, 64, 0x4000, 0x8000, FS_UNWRITTEN, UINT32_MAX};

	switch (random_next(&r->rng) % 4) {
	case 0:
		return any_block(r);
	case 1:
		return (uint32_t)(random_next(&r->rng) % 900);
	case 2:
		return some[random_next(&r->rng) % 9];
	default:
		return (uint32_t)random_next(&r->rng);
	}
}

/* A line that has something, mostly, gets another payload, which its checksum is right for. */
static void change_line(struct rig *r)
{
	static const struct fs_line none;
	uint32_t block = any_block(r), line = (uint32_t)(random_next(&r->rng) % FS_LINES);
	struct fs_line l = fsck_get_line(r->s, block, line);

	for (unsigned int k = 0; k < 20 && !memcmp(&l, &none, sizeof(l)); k++) {
		block = any_block(r);
		line = (uint32_t)(random_next(&r->rng) % FS_LINES);
		l = fsck_get_line(r->s, block, line);
	}
	/* The superblocks say where all the rest is. */
	if (!line && (!block || block == fsck_super.blocks - 1))
		return;
	for (uint64_t n = 1 + random_next(&r->rng) % 4; n; n--) {
		const uint32_t word = number(r);

		if (random_next(&r->rng) & 1)
			memcpy(l.payload + random_next(&r->rng) % 15 * 4, &word, 4);
		else
			l.payload[random_next(&r->rng) % FS_PAYLOAD] = (uint8_t)word;
	}
	if (!(random_next(&r->rng) % 16))
		random_fill(&r->rng, l.payload, FS_PAYLOAD);
	fsck_put_line(r->s, block, line, &l);
}

static void wrong_lines(void)
{
	const unsigned int rounds = UNIT_SANITIZED ? 300 : 1500;
	struct rig r;

	rig_make(&r, "lines");
	for (unsigned int k = 0; k < rounds; k++) {
		for (uint64_t n = 1ull << random_next(&r.rng) % 8; n; n--)
			change_line(&r);
		check_all(&r);
		restore(&r);
	}
	rig_free(&r);
}

/* All of it; every other round all but the superblocks, which a checksum makes good again. */
static void garbage(void)
{
	struct annex_fs_report out;
	struct rig r;

	rig_make(&r, "garbage");
	for (unsigned int k = 0; k < 50; k++) {
		for (uint32_t i = 0; i < r.n; i++)
			for (uint32_t line = 0; line < FS_LINES; line++) {
				const bool is_super = !line &&
						      (!r.metadata[i] ||
						       r.metadata[i] == fsck_super.blocks - 1);
				struct fs_line l;

				if (is_super && k % 2)
					continue;
				random_fill(&r.rng, &l, sizeof(l));
				fsck_put_line(r.s, r.metadata[i], line, &l);
				if (is_super || k % 4 == 1 ||
				    (k % 4 == 3 && random_next(&r.rng) & 1))
					fsck_spoil(r.s, r.metadata[i], line);
			}
		if (k % 2)
			check_all(&r);
		else
			CU_ASSERT_EQUAL(annex_fs_check(r.s, NULL, NULL, &out), -EILSEQ);
		restore(&r);
	}
	rig_free(&r);
}

static void uri_of(int fd, char *uri, size_t n)
{
	snprintf(uri, n, "cxlssd:/proc/self/fd/%d?size=16M&log=bytefs&durable=model", fd);
}

/* Where a page of flash lies in a backing file. */
static off_t look_for(int fd, const uint8_t *page)
{
	uint8_t some[FS_BLOCK];
	struct stat st;

	CU_ASSERT_EQUAL(fstat(fd, &st), 0);
	for (off_t at = 0; at + FS_BLOCK <= st.st_size; at += 512)
		if (pread(fd, some, FS_BLOCK, at) == FS_BLOCK && !memcmp(some, page, FS_BLOCK))
			return at;
	CU_FAIL_FATAL("no such page");
	return 0;
}

/* Pages of flash that are damaged: the device refuses to read them. */
static void damaged_pages(void)
{
	struct fs_inode i;

	for (uint32_t k = 0; k < 8; k++) {
		const int fd = unit_memfd(0, NULL);
		uint8_t page[FS_BLOCK];
		struct annex_cxlssd *s;
		struct annex_fs *fs;
		char uri[128];
		uint32_t block;
		off_t at;

		uri_of(fd, uri, sizeof(uri));
		s = fsck_make(uri);
		i = fsck_get_inode(s, k == 3   ? fsck.tall
				      : k == 4 ? fsck.b
				      : k == 6 ? 1
					       : fsck.many);
		block = k == 0   ? 0
			: k == 1 ? fsck_super.bbitmap
			: k == 2 ? fsck_super.itable
			: k == 4 ? i.xattr
			: k == 5 ? fsck_get_pointer(s, i.map[0], 5)
			: k == 7 ? fsck_super.ibitmap
				 : i.map[0];
		CU_ASSERT_EQUAL(
			annex_cxlssd_read(s, (uint64_t)block * FS_BLOCK, page, FS_BLOCK, NULL), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		at = look_for(fd, page) + 5;
		page[5] ^= 1;
		CU_ASSERT_EQUAL(pwrite(fd, page + 5, 1, at), 1);
		CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
		CU_ASSERT(k > 2 || annex_fs_mount(s, NULL, &fs) != 0);
		fsck_check(s, "cannot be read");
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(fd);
	}
}

UNIT_SUITE(fs_check_random, {"bits that flip", bit_flips}, {"lines that are wrong", wrong_lines},
	   {"garbage", garbage}, {"damaged pages of flash", damaged_pages})

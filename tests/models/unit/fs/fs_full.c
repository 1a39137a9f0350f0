// SPDX-License-Identifier: MIT
/*
 * Full devices: each write that was accepted reaches the device, whatever the shape of the file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/models/fs.h>
#include <annex/log.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BLOCK ANNEX_FS_BLOCK
#define FILES 4u
#define SLOTS 16384u
#define STEPS 1000u

/* struct page - Bytes that page @index of file @file must have. */
struct page {
	bool used;
	uint32_t file, index;
	uint8_t data[BLOCK];
};

/* struct rig - A file system beside a copy of its files. Pages without a copy are zero. @fill: the
 * file that keeps the device full. @refused: writes without room. */
struct rig {
	struct annex_cxlssd *s;
	struct annex_fs *fs;
	struct annex_fs_opts opts;
	uint64_t rng;
	uint32_t ino[FILES], fill;
	uint64_t size[FILES];
	struct page *pages;
	uint32_t n_pages, refused;
};

static uint8_t bytes[ANNEX_FS_WRITE];

static uint64_t below(struct rig *r, uint64_t n)
{
	return random_next(&r->rng) % n;
}

static struct page *find(struct rig *r, uint32_t file, uint32_t index, bool make)
{
	uint32_t at = (index * 0x9e3779b1u + file) % SLOTS;

	while (r->pages[at].used && (r->pages[at].file != file || r->pages[at].index != index))
		at = (at + 1) % SLOTS;
	if (!r->pages[at].used && make) {
		CU_ASSERT_FATAL(r->n_pages++ < SLOTS - 1);
		r->pages[at] = (struct page){.used = true, .file = file, .index = index};
	}
	return r->pages[at].used ? &r->pages[at] : NULL;
}

static uint32_t make(struct annex_fs *fs, const char *name)
{
	const struct annex_fs_new what = {S_IFREG | 0644, 0, 0, 0};
	struct annex_fs_attr a = {0};

	CU_ASSERT_EQUAL_FATAL(annex_fs_make(fs, ANNEX_FS_ROOT, name, &what, &a), 0);
	return a.ino;
}

/* All blocks but @leave are taken. */
static void fill_up(struct annex_fs *fs, uint32_t fill, uint64_t leave)
{
	struct annex_fs_attr a = {0};
	int err = 0;

	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	CU_ASSERT_EQUAL(annex_fs_getattr(fs, fill, &a), 0);
	for (uint64_t step = 256 * BLOCK; step; step = err ? step / 16 / BLOCK * BLOCK : step) {
		err = annex_fs_fallocate(fs, fill, a.size, step, 0);
		CU_ASSERT(!err || err == -ENOSPC);
		a.size += err ? 0 : step;
	}
	CU_ASSERT_EQUAL(annex_fs_getattr(fs, fill, &a), 0);
	a.size = a.size > leave * BLOCK ? a.size - leave * BLOCK : 0;
	CU_ASSERT_EQUAL(annex_fs_setattr(fs, fill, &a, ANNEX_FS_SET_SIZE), 0);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
}

/* In each level of a map, at the edges of its nodes, and near other pages. */
static uint64_t some_page(struct rig *r)
{
	static const uint64_t edges[] = {12, 960, 1920, 960 * 960, 960ull * 960 * 960, 1ull << 30};
	const uint64_t edge = edges[below(r, 6)];

	switch (below(r, 4)) {
	case 0:
		return below(r, 300);
	case 1:
		return edge - 8 + below(r, 16);
	case 2:
		return edge * (1 + below(r, (1ull << 30) / edge)) + below(r, 3);
	default:
		return below(r, 1ull << 30);
	}
}

static void copy(struct rig *r, uint32_t f, uint64_t at, const uint8_t *from, uint64_t n)
{
	while (n) {
		const uint32_t to = at % BLOCK;
		const uint64_t m = n < BLOCK - to ? n : BLOCK - to;
		struct page *p = find(r, f, (uint32_t)(at / BLOCK), true);

		memcpy(p->data + to, from, m);
		at += m;
		from += m;
		n -= m;
	}
}

static void write_some(struct rig *r, uint32_t f)
{
	static const uint32_t most[] = {200, BLOCK, 16 * BLOCK, 64 * BLOCK, sizeof(bytes)};
	const uint32_t n = 1 + (uint32_t)below(r, most[below(r, below(r, 4) ? 2 : 5)]);
	const uint64_t at = some_page(r) * BLOCK + (below(r, 2) ? below(r, BLOCK) : 0);
	const uint64_t first = random_next(&r->rng);
	ssize_t got;

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(first + i * 7 + i / BLOCK);
	got = annex_fs_write(r->fs, r->ino[f], at, bytes, n);
	CU_ASSERT(got > 0 || got == -ENOSPC);
	r->refused += got != (ssize_t)n;
	if (got <= 0)
		return;
	copy(r, f, at, bytes, (uint64_t)got);
	r->size[f] = at + (uint64_t)got > r->size[f] ? at + (uint64_t)got : r->size[f];
}

/* Bytes of a file become zeroes in the copy. */
static void forget(struct rig *r, uint32_t f, uint64_t from, uint64_t end)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct page *p = &r->pages[i];
		const uint64_t at = (uint64_t)p->index * BLOCK;

		if (!p->used || p->file != f || at >= end || at + BLOCK <= from)
			continue;
		memset(p->data + (from > at ? from - at : 0), 0,
		       (end < at + BLOCK ? end - at : BLOCK) - (from > at ? from - at : 0));
	}
}

static void punch(struct rig *r, uint32_t f)
{
	const uint64_t at = some_page(r) * BLOCK + below(r, BLOCK), n = 1 + below(r, 1 << 19);

	CU_ASSERT_EQUAL(annex_fs_fallocate(r->fs, r->ino[f], at, n,
					   ANNEX_FS_PUNCH_HOLE | ANNEX_FS_KEEP_SIZE),
			0);
	forget(r, f, at, at + n);
}

static void cut(struct rig *r, uint32_t f)
{
	struct annex_fs_attr a = {.size = some_page(r) * BLOCK + below(r, BLOCK)};

	if (a.size >= r->size[f])
		return;
	r->size[f] = a.size;
	CU_ASSERT_EQUAL(annex_fs_setattr(r->fs, r->ino[f], &a, ANNEX_FS_SET_SIZE), 0);
	forget(r, f, a.size, UINT64_MAX);
}

/* Blocks that were allocated take each write. */
static void allocate(struct rig *r, uint32_t f)
{
	const uint64_t at = some_page(r) * BLOCK;
	const uint32_t pages = 1 + (uint32_t)below(r, 64);
	int err = annex_fs_fallocate(r->fs, r->ino[f], at, (uint64_t)pages * BLOCK,
				     ANNEX_FS_KEEP_SIZE);

	CU_ASSERT(!err || err == -ENOSPC);
	if (err || below(r, 2))
		return;
	memset(bytes, 'p', (size_t)pages * BLOCK);
	CU_ASSERT_EQUAL(annex_fs_write(r->fs, r->ino[f], at, bytes, (size_t)pages * BLOCK),
			(ssize_t)pages * BLOCK);
	copy(r, f, at, bytes, (uint64_t)pages * BLOCK);
	r->size[f] = at + (uint64_t)pages * BLOCK > r->size[f] ? at + (uint64_t)pages * BLOCK
							       : r->size[f];
}

/* The names of two files are exchanged: both are written back in that operation. */
static void exchange(struct rig *r, uint32_t f)
{
	const uint32_t g = (f + 1) % FILES;
	const char a[] = {(char)('0' + f), '\0'}, b[] = {(char)('0' + g), '\0'};

	CU_ASSERT_EQUAL(
		annex_fs_rename(r->fs, ANNEX_FS_ROOT, a, ANNEX_FS_ROOT, b, ANNEX_FS_EXCHANGE), 0);
}

static void compare(struct rig *r)
{
	static const uint8_t zeroes[BLOCK];
	uint8_t got[BLOCK];
	uint32_t wrong = 0;

	for (uint32_t f = 0; f < FILES; f++) {
		struct annex_fs_attr a = {0};

		CU_ASSERT_EQUAL(annex_fs_getattr(r->fs, r->ino[f], &a), 0);
		wrong += a.size != r->size[f];
	}
	for (uint32_t i = 0; i < SLOTS + 64; i++) {
		const struct page *p = i < SLOTS ? &r->pages[i] : NULL;
		const uint32_t f = p ? p->file : i % FILES;
		const uint32_t index = p ? p->index : (uint32_t)some_page(r);
		const uint64_t at = (uint64_t)index * BLOCK;
		const uint64_t left = at < r->size[f] ? r->size[f] - at : 0;
		const ssize_t want = (ssize_t)(left < BLOCK ? left : BLOCK);

		if (p && !p->used)
			continue;
		p = p ? p : find(r, f, index, false);
		wrong += annex_fs_read(r->fs, r->ino[f], at, got, BLOCK) != want ||
			 memcmp(got, p ? p->data : zeroes, (size_t)want) != 0;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void remount(struct rig *r)
{
	struct annex_fs_report report;

	CU_ASSERT_EQUAL(annex_fs_unmount(r->fs), 0);
	CU_ASSERT_EQUAL(annex_fs_check(r->s, NULL, NULL, &report), 0);
	CU_ASSERT_EQUAL(report.problems, 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(r->s, &r->opts, &r->fs), 0);
	compare(r);
}

static void step(struct rig *r)
{
	static void (*const others[])(struct rig *, uint32_t) = {punch, cut, allocate, exchange};
	const uint32_t f = (uint32_t)below(r, FILES);
	const uint64_t kind = below(r, 32);

	if (kind >= 8)
		return write_some(r, f);
	if (kind < 6)
		return others[kind % 4](r, f);
	CU_ASSERT_EQUAL(annex_fs_fsync(r->fs, below(r, 2) ? r->ino[f] : 0), 0);
}

static void shapes(struct rig *r, const char *uri, const struct annex_fs_mkfs_opts *mkfs)
{
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &r->s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(r->s, mkfs), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(r->s, &r->opts, &r->fs), 0);
	memset(r->pages, 0, SLOTS * sizeof(*r->pages));
	memset(r->size, 0, sizeof(r->size));
	r->n_pages = r->refused = 0;
	for (uint32_t f = 0; f < FILES; f++)
		r->ino[f] = make(r->fs, (const char[]){(char)('0' + f), '\0'});
	r->fill = make(r->fs, "fill");
	for (uint32_t i = 0; i < STEPS; i++) {
		if (i > 40 && i % 40 < 20 && i % 4 == 0)
			fill_up(r->fs, r->fill, below(r, 3) * below(r, 80));
		step(r);
		if (i % 100 == 99)
			remount(r);
	}
	CU_ASSERT(r->refused > 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(r->fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(r->s), 0);
}

/* Both designs, with many pages in memory and with few. */
static void every_shape(void)
{
	static const struct {
		const char *uri;
		struct annex_fs_mkfs_opts mkfs;
		struct annex_fs_opts opts;
	} kinds[] = {
		{"cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", {0}, {0}},
		{"cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", {0}, {.alpha = 100}},
		{"cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", {0}, {.cache = 1 << 20}},
		{"cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", {0}, {.twice = true}},
		{"cxlssd:?log=bytefs&durable=model&size=24M&dram=1M",
		 {.design = ANNEX_FS_EXT4_LIKE},
		 {0}},
		{"cxlssd:?log=bytefs&durable=model&size=24M&dram=1M",
		 {.design = ANNEX_FS_EXT4_LIKE},
		 {.cache = 1 << 20}},
	};
	struct rig *r = calloc(1, sizeof(*r));

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	r->rng = random_seed("fs_full");
	r->pages = malloc(SLOTS * sizeof(*r->pages));
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->pages);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		r->opts = kinds[k].opts;
		shapes(r, kinds[k].uri, &kinds[k].mkfs);
	}
	free(r->pages);
	free(r);
}

static struct annex_fs *made(const char *uri, enum annex_fs_design design, struct annex_cxlssd **s)
{
	const struct annex_fs_mkfs_opts opts = {.design = design};
	struct annex_fs *fs = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(*s, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(*s, NULL, &fs), 0);
	return fs;
}

/* Blocks that a file has are written over when no other block is free, though the log of the device
 * takes 256 KiB together. */
static void overwrites(void)
{
	for (unsigned int d = 0; d < ANNEX_FS_DESIGNS; d++) {
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", d,
					   &s);
		const uint32_t big = make(fs, "big"), other = make(fs, "new");
		static uint8_t got[sizeof(bytes)];

		memset(bytes, 'a', sizeof(bytes));
		CU_ASSERT_EQUAL(annex_fs_write(fs, big, 0, bytes, sizeof(bytes)), sizeof(bytes));
		fill_up(fs, make(fs, "fill"), 0);
		memset(bytes, 'b', sizeof(bytes));
		CU_ASSERT_EQUAL(annex_fs_write(fs, big, 0, bytes, sizeof(bytes)), sizeof(bytes));
		CU_ASSERT_EQUAL(annex_fs_fsync(fs, big), 0);
		CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "fill"), 0);
		annex_fs_forget(fs, other + 1, 1);
		CU_ASSERT_EQUAL(annex_fs_write(fs, other, 0, "new", 3), 3);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
		CU_ASSERT_EQUAL(annex_fs_read(fs, big, 0, got, sizeof(got)), sizeof(got));
		CU_ASSERT(!memcmp(got, bytes, sizeof(got)));
		CU_ASSERT_EQUAL(annex_fs_read(fs, other, 0, got, 4), 3);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

/* Blocks that a write gave back are used for the next one, which is old or new, when a commit frees
 * them. */
static void replaced(void)
{
	const int fd = unit_memfd(0, NULL);
	struct annex_fs_stats st;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
	char uri[128];
	uint32_t f;

	snprintf(uri, sizeof(uri),
		 "cxlssd:/proc/self/fd/%d?size=16M&dram=1M&log=bytefs&durable=host", fd);
	fs = made(uri, ANNEX_FS_BYTEFS, &s);
	f = make(fs, "f");
	CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, bytes, sizeof(bytes)), sizeof(bytes));
	fill_up(fs, make(fs, "fill"), 300);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, bytes, sizeof(bytes)), sizeof(bytes));
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
	annex_fs_get_stats(fs, &st);
	CU_ASSERT_EQUAL(st.written[ANNEX_FS_DATA][0], 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(fd);
}

/* Pages far apart need a node of the map in each level. */
static void far_apart(void)
{
	for (unsigned int d = 0; d < ANNEX_FS_DESIGNS; d++) {
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", d,
					   &s);
		const uint32_t fill = make(fs, "fill"), f = make(fs, "sparse");
		uint64_t accepted = 0;
		ssize_t got = 4;
		char text[4];

		fill_up(fs, fill, 71);
		while (got == 4) {
			got = annex_fs_write(fs, f, (accepted + 1) << 32, "data", 4);
			accepted += got == 4;
		}
		CU_ASSERT_EQUAL(got, -ENOSPC);
		CU_ASSERT(accepted > 10 && accepted < 31);
		CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
		for (uint64_t i = 1; i <= accepted; i++) {
			CU_ASSERT_EQUAL(annex_fs_read(fs, f, i << 32, text, 4), 4);
			CU_ASSERT(!memcmp(text, "data", 4));
		}
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

/* Operations on two files of which each page has nodes of its own fit the log, or the journal. */
static void many_nodes(void)
{
	for (unsigned int d = 0; d < ANNEX_FS_DESIGNS; d++) {
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=48M&dram=1M", d,
					   &s);
		const uint32_t a = make(fs, "a"), b = make(fs, "b");
		struct annex_fs_attr attr = {.size = 60ull << 32};
		struct annex_fs_report report;

		for (uint64_t i = 1; i <= 1000; i++) {
			CU_ASSERT_EQUAL(annex_fs_write(fs, a, i << 32, "data", 4), 4);
			CU_ASSERT_EQUAL(annex_fs_write(fs, b, i << 32, "data", 4), 4);
			if (i % 199 == 0)
				CU_ASSERT_EQUAL(annex_fs_rename(fs, ANNEX_FS_ROOT, "a",
								ANNEX_FS_ROOT, "b",
								ANNEX_FS_EXCHANGE),
						0);
		}
		for (uint64_t i = 1; i < 60; i++)
			CU_ASSERT_EQUAL(annex_fs_write(fs, a, (i << 32) + (1u << 31), "more", 4),
					4);
		CU_ASSERT_EQUAL(annex_fs_setattr(fs, a, &attr, ANNEX_FS_SET_SIZE), 0);
		CU_ASSERT_EQUAL(annex_fs_fallocate(fs, b, 0, 1ull << 42,
						   ANNEX_FS_PUNCH_HOLE | ANNEX_FS_KEEP_SIZE),
				0);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(annex_fs_check(s, NULL, NULL, &report), 0);
		CU_ASSERT_EQUAL(report.problems, 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

/* Blocks that a file has been given take each write. */
static void allocated(void)
{
	for (unsigned int d = 0; d < ANNEX_FS_DESIGNS; d++) {
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", d,
					   &s);
		const uint32_t pre = make(fs, "pre");

		CU_ASSERT_EQUAL(annex_fs_fallocate(fs, pre, 0, 3 * sizeof(bytes), 0), 0);
		fill_up(fs, make(fs, "fill"), 0);
		for (uint64_t at = 0; at < 3 * sizeof(bytes); at += sizeof(bytes))
			CU_ASSERT_EQUAL(annex_fs_write(fs, pre, at, bytes, sizeof(bytes)),
					sizeof(bytes));
		CU_ASSERT_EQUAL(annex_fs_fsync(fs, pre), 0);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

/* Blocks of a file that was removed are there for the next one, however many it takes. */
static void removed(void)
{
	const size_t most = 9 * sizeof(bytes);
	char *many = calloc(1, most);

	CU_ASSERT_PTR_NOT_NULL_FATAL(many);
	for (unsigned int k = 0; k < 8 * ANNEX_FS_DESIGNS; k++) {
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=20M&dram=1M",
					   k / 8, &s);

		for (unsigned int i = 0; i < 3; i++) {
			const uint32_t f = make(fs, "f");

			if ((i + k) % 2)
				CU_ASSERT_EQUAL(annex_fs_fallocate(fs, f, 0, most, 0), 0);
			if (k % 4 > 1)
				CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, many, most),
						(ssize_t)most);
			if (k % 8 > 3)
				CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
			CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "f"), 0);
			annex_fs_forget(fs, f, 1);
		}
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
	free(many);
}

/* Files that end together fit the log, or the journal, whatever their maps are. */
static void many_ends(void)
{
	for (unsigned int k = 0; k < 2 * ANNEX_FS_DESIGNS; k++) {
		const uint64_t pages = k % 2 ? 119 : 39;
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=64M&dram=1M",
					   k / 2, &s);
		char name[] = "a";
		uint32_t f;

		unit_log_begin(UNIT_LOG(ERROR) | UNIT_LOG(WARNING), "");
		for (; *name < 'a' + 28; ++*name) {
			f = make(fs, name);
			for (uint64_t i = 1; i <= pages; i++)
				CU_ASSERT_EQUAL(annex_fs_write(fs, f, i << 32, "data", 4), 4);
			CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
			CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, name), 0);
			annex_fs_forget(fs, f, 1);
		}
		CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(unit_log_end(), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

static uint64_t blocks_of(struct annex_fs *fs, uint32_t f)
{
	struct annex_fs_attr a = {0};

	CU_ASSERT_EQUAL(annex_fs_getattr(fs, f, &a), 0);
	return a.blocks;
}

/* A block that a file has counts once, whether a page of it is dirty or not. */
static void counts(void)
{
	for (unsigned int d = 0; d < ANNEX_FS_DESIGNS; d++) {
		struct annex_cxlssd *s;
		struct annex_fs *fs = made("cxlssd:?log=bytefs&durable=model&size=16M&dram=1M", d,
					   &s);
		const uint32_t pre = make(fs, "pre"), f = make(fs, "f");
		uint64_t blocks;

		CU_ASSERT_EQUAL(annex_fs_fallocate(fs, pre, 0, 2 * BLOCK, 0), 0);
		CU_ASSERT_EQUAL(annex_fs_write(fs, pre, 0, "ab", 2), 2);
		CU_ASSERT_EQUAL(blocks_of(fs, pre), 2);
		CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, bytes, 5 * BLOCK), 5 * BLOCK);
		CU_ASSERT_EQUAL(blocks_of(fs, f), 5);
		CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, bytes, sizeof(bytes)), sizeof(bytes));
		CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
		blocks = blocks_of(fs, f);
		CU_ASSERT_EQUAL(annex_fs_write(fs, f, 0, bytes, sizeof(bytes)), sizeof(bytes));
		CU_ASSERT_EQUAL(blocks_of(fs, f), blocks);
		CU_ASSERT_EQUAL(annex_fs_write(fs, f, sizeof(bytes), "c", 1), 1);
		CU_ASSERT_EQUAL(blocks_of(fs, f), blocks + 1);
		CU_ASSERT_EQUAL(annex_fs_fsync(fs, f), 0);
		CU_ASSERT_EQUAL(blocks_of(fs, f), blocks + 1);
		CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

UNIT_SUITE(fs_full, {"every shape", every_shape}, {"overwrites", overwrites},
	   {"replaced blocks", replaced}, {"pages far apart", far_apart},
	   {"nodes of maps", many_nodes}, {"allocated blocks", allocated},
	   {"removed files", removed}, {"files that end together", many_ends},
	   {"counts of blocks", counts})

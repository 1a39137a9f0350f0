// SPDX-License-Identifier: MIT
/*
 * CXL-SSDs: wrong URIs, files that are damaged or of something else, full disks, killed processes,
 * and counters.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/cxlssd.h>
#include <annex/log.h>
#include "emu_host.h"
#include "hdm/ssd/file.h"
#include "unit.h"

#define PAGE 512u
#define PAGES 64u
#define SMALL "size=32K&page=512&channels=2&pages=4&dram=16K"

/* struct image - A backing file in memory of the process, and where its parts begin. */
struct image {
	int fd;
	char path[64];
	uint64_t half, records, pages;
};

static void new_image(struct image *m)
{
	m->fd = memfd_create("cxlssd", MFD_CLOEXEC);
	CU_ASSERT_FATAL(m->fd >= 0);
	snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", m->fd);
}

static void locate(struct image *m)
{
	struct ssd_shape none = {0};
	struct ssd_file *f;

	CU_ASSERT_EQUAL_FATAL(ssd_file_open(m->path, &none, false, &f), 0);
	m->half = f->shape.half;
	m->records = f->records;
	m->pages = f->pages;
	ssd_file_close(f);
}

static int try_open(const char *path, const char *more, struct annex_cxlssd **out)
{
	char uri[300];

	snprintf(uri, sizeof(uri), "cxlssd:%s%s%s", path, *more ? "?" : "", more);
	return annex_cxlssd_open(uri, out);
}

static struct annex_cxlssd *must_open(const char *path, const char *more)
{
	struct annex_cxlssd *s = NULL;

	CU_ASSERT_EQUAL_FATAL(try_open(path, more, &s), 0);
	return s;
}

/* struct lines - Lines of the library since the last clear, and the last one. */
static struct lines {
	unsigned int n;
	char last[512];
} lines;

static void take_line(void *ctx, enum annex_log_level level, const char *line)
{
	struct lines *l = ctx;

	l->n += level == ANNEX_LOG_ERROR;
	snprintf(l->last, sizeof(l->last), "%s", line);
}

static void listen(void)
{
	memset(&lines, 0, sizeof(lines));
	annex_set_log(take_line, &lines);
}

/* The call since listen() said why it failed, once, in a line that has a word. */
static void told(const char *word)
{
	annex_set_log(NULL, NULL);
	CU_ASSERT_EQUAL(lines.n, 1);
	CU_ASSERT(strstr(lines.last, word) != NULL);
	CU_ASSERT_STRING_EQUAL(lines.last, annex_last_error());
	CU_ASSERT_PTR_NULL(strchr(lines.last, '\n'));
	if (lines.n != 1 || !strstr(lines.last, word))
		printf(" [%u lines, no \"%s\" in \"%s\"] ", lines.n, word, lines.last);
}

static void refuse(const char *path, const char *more, int err, const char *word)
{
	struct annex_cxlssd *s = NULL;
	int got;

	listen();
	got = try_open(path, more, &s);
	CU_ASSERT_EQUAL(got, err);
	if (got != err)
		printf(" [%s?%s: %d] ", path, more, got);
	if (!got)
		annex_cxlssd_close(s);
	told(word);
}

static void wrong_uris(void)
{
	static const struct {
		const char *more, *word;
		int err;
	} cases[] = {
		{"size=64K&colour=red", "colour", -EINVAL},
		{"size=64K&size=64K", "size", -EINVAL},
		{"", "how large", -EINVAL},
		{"size=0", "size", -ERANGE},
		{"size=100000", "whole pages", -EINVAL},
		{"size=64K&page=100", "power of two", -EINVAL},
		{"size=64K&page=256", "power of two", -EINVAL},
		{"size=1M&page=128K", "power of two", -EINVAL},
		{"size=64K&channels=0", "channels", -ERANGE},
		{"size=64K&channels=1025", "channels", -EINVAL},
		{"size=64K&dies=1025", "dies", -EINVAL},
		{"size=64K&planes=65", "planes", -EINVAL},
		{"size=64K&pages=65537", "pages of a block", -EINVAL},
		{"size=64K&channels=1024&dies=1024&planes=64", "pages", -ERANGE},
		{"size=64K&channels=4294967295&dies=4294967295&planes=4294967295", "planes",
		 -ERANGE},
		{"size=64K&channels=4294967296", "channels", -ERANGE},
		{"size=1000T&page=64K", "blocks", -EINVAL},
		{"size=4194303T&spare=1000&page=64K", "blocks", -ERANGE},
		{"size=64K&spare=1001", "spare", -ERANGE},
		{"size=64K&dram=512", "no room for a page", -EINVAL},
		{"size=64K&dram=5000", "whole lines", -EINVAL},
		{"size=64K&dram=1T", "dram", -ERANGE},
		{"size=64K&dram=256G&unit=64", "units", -ERANGE},
		{"size=64K&unit=32", "unit", -EINVAL},
		{"size=64K&unit=192", "unit", -EINVAL},
		{"size=64K&unit=8192", "unit", -ERANGE},
		{"size=64K&page=512&unit=1024", "unit", -EINVAL},
		{"size=64K&queue=0", "queue", -ERANGE},
		{"size=64K&queue=65537", "queue", -ERANGE},
		{"size=64K&log=zfs", "log=", -EINVAL},
		{"size=64K&log_size=4096", "log_size", -EINVAL},
		{"size=64K&log=skybyte&log_size=512", "log_size", -ERANGE},
		{"size=64K&dram=8K&log=skybyte&log_size=8K", "no room for a page", -EINVAL},
		{"size=64K&dram=8K&log=skybyte&log_size=16K", "no room for a page", -EINVAL},
		{"size=64K&dram=16K&log=skybyte&log_size=1025", "whole lines", -EINVAL},
		{"size=64K&durable=never", "durable", -EINVAL},
		{"size=64K&delay=2", "delay", -ERANGE},
		{"size=64K&look_ns=1000001", "look_ns", -ERANGE},
		{"size=64K&media=core", "core", -EINVAL},
		{"size=64K&media=./not-there", "not-there", -ENOENT},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse("", cases[i].more, cases[i].err, cases[i].word);
	listen();
	CU_ASSERT_EQUAL(annex_cxlssd_open("cxl:?size=64K", &(struct annex_cxlssd *){NULL}),
			-EINVAL);
	told("no endpoint");
}

static void media_files(void)
{
	char path[HOST_PATH], more[HOST_PATH + 40];
	FILE *f;

	host_tmpfile(path);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("read_ns=1000\nprogram_ns=2000\nrate=1000000000\n", f);
	fclose(f);
	snprintf(more, sizeof(more), "size=64K&media=%s", path);
	refuse("", more, -EINVAL, "no erase_ns");
	f = fopen(path, "a");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("erase_ns=0\n", f);
	fclose(f);
	annex_cxlssd_close(must_open("", more));
	unlink(path);
}

/* A file knows its shape; a URI may leave it out, and must not contradict it. */
static void other_shapes(void)
{
	static const char *const others[] = {"size=64K",          "channels=4", "dies=2",
					     "planes=2",          "pages=8",    "page=1024",
					     "size=64K&page=1024"};
	struct image m;
	struct annex_cxlssd *s;

	new_image(&m);
	s = must_open(m.path, SMALL);
	CU_ASSERT_EQUAL(annex_cxlssd_bytes(s), PAGES * PAGE);
	CU_ASSERT_EQUAL(annex_cxlssd_page(s), PAGE);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char more[64];

		snprintf(more, sizeof(more), "%s&dram=16K", others[i]);
		refuse(m.path, more, -EINVAL,
		       "size=32768 channels=2 dies=1 planes=1 pages=4 "
		       "page=512");
	}
	refuse(m.path, "", -EINVAL, "less DRAM");
	refuse(m.path, "dram=32K", -EINVAL, "less DRAM");
	refuse(m.path, "dram=256", -EINVAL, "no room for a page");
	refuse(m.path, "dram=16K&unit=1024", -EINVAL, "unit");
	s = must_open(m.path, "dram=8K&unit=128");
	CU_ASSERT_EQUAL(annex_cxlssd_bytes(s), PAGES * PAGE);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	s = must_open(m.path, SMALL);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

static void no_backing_files(void)
{
	char path[HOST_PATH];
	struct image m;
	struct stat st;

	new_image(&m);
	refuse(m.path, "", -ENOENT, "empty");
	CU_ASSERT(!fstat(m.fd, &st) && !st.st_size);
	/* Text is left as it is. */
	CU_ASSERT_EQUAL(pwrite(m.fd, "some text\n", 10, 0), 10);
	refuse(m.path, SMALL, -EILSEQ, "no backing file");
	CU_ASSERT(!fstat(m.fd, &st) && st.st_size == 10);
	CU_ASSERT_EQUAL(ftruncate(m.fd, 100000), 0);
	refuse(m.path, SMALL, -EILSEQ, "no backing file");
	CU_ASSERT(!fstat(m.fd, &st) && st.st_size == 100000);
	close(m.fd);
	refuse("/", SMALL, -EISDIR, "/");
	refuse("/dev/null", SMALL, -EINVAL, "no regular file");
	host_tmpfile(path);
	unlink(path);
	refuse(path, "", -ENOENT, path);
	CU_ASSERT(stat(path, &st) && errno == ENOENT);
	/* Nothing of a file that cannot be made is left. */
	refuse(path, "size=32K&page=512&dram=256", -EINVAL, "no room for a page");
	CU_ASSERT(stat(path, &st) && errno == ENOENT);
	refuse(path, "size=32K&page=512&log=zfs", -EINVAL, "log=");
	CU_ASSERT(stat(path, &st) && errno == ENOENT);
}

static void flip(const struct image *m, uint64_t at)
{
	unsigned char byte = 0;

	CU_ASSERT_EQUAL(pread(m->fd, &byte, 1, (off_t)at), 1);
	byte ^= 4;
	CU_ASSERT_EQUAL(pwrite(m->fd, &byte, 1, (off_t)at), 1);
}

/* Words that are nowhere else. */
static void fill(unsigned char *buf, size_t n, unsigned int with)
{
	for (size_t i = 0; i < n; i += 8) {
		const uint64_t word = (with + 1) * 0x9e3779b97f4a7c15ull + i;

		memcpy(buf + i, &word, 8);
	}
}

/* A file whose pages hold something, each another thing. */
static void filled_image(struct image *m)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;

	new_image(m);
	s = must_open(m->path, SMALL);
	for (unsigned int page = 0; page < PAGES; page++) {
		fill(buf, PAGE, page);
		CU_ASSERT_EQUAL(annex_cxlssd_write(s, page * PAGE, buf, PAGE, NULL), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_close(s), 0);
	locate(m);
}

static void headers(void)
{
	const uint32_t version = 9;
	struct image m;

	filled_image(&m);
	for (unsigned int at = 12; at < 72; at++) {
		flip(&m, at);
		refuse(m.path, SMALL, -EILSEQ, "header");
		flip(&m, at);
	}
	flip(&m, 3);
	refuse(m.path, SMALL, -EILSEQ, "no backing file");
	flip(&m, 3);
	CU_ASSERT_EQUAL(pwrite(m.fd, &version, 4, 8), 4);
	refuse(m.path, SMALL, -EPROTONOSUPPORT, "version 9");
	close(m.fd);
	filled_image(&m);
	CU_ASSERT_EQUAL(ftruncate(m.fd, (off_t)m.pages + 5 * PAGE), 0);
	refuse(m.path, SMALL, -EIO, "cut short");
	CU_ASSERT_EQUAL(ftruncate(m.fd, SSD_FILE_BLOCK), 0);
	refuse(m.path, SMALL, -EIO, "cut short");
	close(m.fd);
}

/* Bytes at @at that are equal to @buf; 0: there are none. */
static uint64_t look_for(const struct image *m, uint64_t at, uint64_t end, const void *buf,
			 size_t n)
{
	unsigned char some[PAGE];

	for (; at + n <= end; at += 8)
		if (pread(m->fd, some, n, (off_t)at) == (ssize_t)n && !memcmp(some, buf, n))
			return at;
	return 0;
}

static bool has(struct annex_cxlssd *s, unsigned int page, unsigned int with)
{
	unsigned char buf[PAGE], want[PAGE];

	fill(want, PAGE, with);
	return !annex_cxlssd_read(s, page * PAGE, buf, PAGE, NULL) && !memcmp(buf, want, PAGE);
}

/* A bit that rots in flash is seen by a reader of its page, and by nobody else. */
static void damaged_pages(void)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;
	struct stat st;
	struct image m;
	uint64_t at;

	filled_image(&m);
	CU_ASSERT_EQUAL(fstat(m.fd, &st), 0);
	fill(buf, PAGE, 7);
	at = look_for(&m, m.pages, (uint64_t)st.st_size, buf, PAGE);
	CU_ASSERT_FATAL(at != 0);
	flip(&m, at + 300);
	s = must_open(m.path, SMALL);
	for (unsigned int page = 0; page < PAGES; page++)
		CU_ASSERT(page == 7 || has(s, page, page));
	listen();
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE + 64, buf, 1, NULL), -EIO);
	told("page 7 is damaged");
	listen();
	CU_ASSERT_EQUAL(annex_cxlssd_read_blocks(s, 7 * PAGE, buf, PAGE, NULL), -EIO);
	told("page 7 is damaged");
	/* So is a part of it that is stored; the whole of it heals it. */
	listen();
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, 7 * PAGE, buf, 64, NULL), -EIO);
	told("page 7 is damaged");
	fill(buf, PAGE, 99);
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 7 * PAGE, buf, PAGE, NULL), 0);
	CU_ASSERT(has(s, 7, 99) && has(s, 6, 6));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

/* A journal of groups, with a line of page 1 to 9 each, that nobody has brought to flash. */
static void journaled_image(struct image *m)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;

	filled_image(m);
	s = must_open(m->path, SMALL);
	for (unsigned int page = 1; page < 10; page++) {
		fill(buf, PAGE, 100 + page);
		CU_ASSERT_EQUAL(annex_cxlssd_write(s, page * PAGE, buf, 64, NULL), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
	}
	CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
}

/* The entry of the journal that has the line of a page. */
static uint64_t entry_of(const struct image *m, unsigned int page)
{
	unsigned char buf[64];
	uint64_t at;

	fill(buf, sizeof(buf), 100 + page);
	at = look_for(m, SSD_FILE_BLOCK, SSD_FILE_BLOCK + 2 * m->half, buf, sizeof(buf));
	CU_ASSERT_FATAL(at != 0);
	return at;
}

static void damaged_journals(void)
{
	/* From a line's bytes: itself, its number, and its group's head. */
	static const int offsets[] = {0, 63, -8, -9, -16, -40, -72};
	struct annex_cxlssd *s;
	struct image m;

	journaled_image(&m);
	for (unsigned int page = 1; page < 9; page++) {
		for (unsigned int i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			const uint64_t at = entry_of(&m, page) + (uint64_t)offsets[i];

			flip(&m, at);
			refuse(m.path, SMALL, -EILSEQ, "journal is damaged");
			flip(&m, at);
		}
	}
	/* The last one was not written whole when the power was cut. */
	flip(&m, entry_of(&m, 9) + 20);
	s = must_open(m.path, SMALL);
	CU_ASSERT(has(s, 9, 9));
	for (unsigned int page = 1; page < 9; page++) {
		unsigned char buf[64], want[64];

		fill(want, sizeof(want), 100 + page);
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, page * PAGE, buf, sizeof(buf), NULL), 0);
		CU_ASSERT(!memcmp(buf, want, sizeof(buf)));
	}
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

/* One of the calls that take a range; -ENOSYS: there are no more. */
static int call_nth(unsigned int i, struct annex_cxlssd *s, struct annex_cxlssd_tx *tx, uint64_t at,
		    size_t n)
{
	static char buf[PAGE];

	switch (i) {
	case 0:
		return annex_cxlssd_read(s, at, buf, n, NULL);
	case 1:
		return annex_cxlssd_write(s, at, buf, n, NULL);
	case 2:
		return annex_cxlssd_prefetch(s, at, n, NULL);
	case 3:
		return annex_cxlssd_tx_write(tx, at, buf, n);
	case 4:
		return annex_cxlssd_read_blocks(s, at, buf, n, NULL);
	case 5:
		return annex_cxlssd_write_blocks(s, at, buf, n, NULL);
	case 6:
		return annex_cxlssd_trim(s, at, n);
	case 7:
		return annex_cxlssd_tx_write_blocks(tx, at, buf, n);
	default:
		return -ENOSYS;
	}
}

enum { FIRST_OF_BLOCKS = 4, CALLS = 8 };

static void across_the_end(void)
{
	const uint64_t end = PAGES * PAGE;
	const struct {
		uint64_t at;
		size_t n;
	} outside[] = {{end, PAGE},
		       {end - PAGE, 2 * PAGE},
		       {end + PAGE, 0},
		       {0, end + PAGE},
		       {UINT64_MAX - PAGE + 1, PAGE},
		       {UINT64_MAX - PAGE + 1, 2 * PAGE},
		       {PAGE, SIZE_MAX - PAGE + 1}};
	struct annex_cxlssd *s = must_open("", SMALL "&log=bytefs");
	struct annex_cxlssd_tx *tx;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	for (unsigned int i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		for (unsigned int call = 0; call < CALLS; call++) {
			listen();
			CU_ASSERT_EQUAL(call_nth(call, s, tx, outside[i].at, outside[i].n),
					-EINVAL);
			told("end at 32768");
		}
	}
	/* Nothing at the end is inside. */
	for (unsigned int call = 0; call < CALLS; call++) {
		CU_ASSERT_EQUAL(call_nth(call, s, tx, end, 0), 0);
		CU_ASSERT_EQUAL(call_nth(call, s, tx, end - PAGE, PAGE), 0);
	}
	annex_cxlssd_abort(tx);
	annex_cxlssd_close(s);
}

static void odd_blocks(void)
{
	static const uint64_t odd[][2] = {{1, PAGE}, {0, PAGE - 1}, {64, PAGE}, {PAGE, 3}};
	struct annex_cxlssd *s = must_open("", SMALL "&log=bytefs");
	struct annex_cxlssd_tx *tx;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	for (unsigned int i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (unsigned int call = FIRST_OF_BLOCKS; call < CALLS; call++) {
			listen();
			CU_ASSERT_EQUAL(call_nth(call, s, tx, odd[i][0], odd[i][1]), -EINVAL);
			told("whole pages");
		}
	}
	annex_cxlssd_abort(tx);
	annex_cxlssd_close(s);
}

static void transactions(void)
{
	static const char *const without[] = {SMALL, SMALL "&log=skybyte"};
	unsigned char buf[8192], got[64];
	struct annex_cxlssd_tx *tx = NULL;
	struct annex_cxlssd *s;

	for (unsigned int i = 0; i < 2; i++) {
		s = must_open("", without[i]);
		listen();
		CU_ASSERT_EQUAL(annex_cxlssd_begin(s, &tx), -EOPNOTSUPP);
		told("log=bytefs");
		annex_cxlssd_close(s);
	}
	annex_cxlssd_abort(NULL);
	/* A log of 8192 bytes: half of that. */
	s = must_open("", SMALL "&log=bytefs");
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	fill(buf, sizeof(buf), 3);
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 0, buf, 4096 - 64), 0);
	listen();
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 8192, buf, 65), -E2BIG);
	told("4096 bytes at most");
	listen();
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 0, buf, sizeof(buf)), -E2BIG);
	told("4096 bytes at most");
	/* It is as it was: a line more is taken, and lines that it has. */
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 8192, buf, 64), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 64, buf, 1024), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 8192, got, 64, NULL), 0);
	CU_ASSERT(!got[0] && !got[63]);
	CU_ASSERT_EQUAL(annex_cxlssd_commit(tx, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 8192, got, 64, NULL), 0);
	CU_ASSERT(!memcmp(got, buf, 64));
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 64, got, 64, NULL), 0);
	CU_ASSERT(!memcmp(got, buf, 64));
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 4096 - 128, got, 64, NULL), 0);
	CU_ASSERT(!memcmp(got, buf + 4096 - 128, 64));
	/* An empty one is a fence. */
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_commit(tx, NULL), 0);
	annex_cxlssd_close(s);
}

UNIT_SUITE(cxlssd, {"wrong URIs", wrong_uris}, {"media files", media_files},
	   {"files of another shape", other_shapes}, {"no backing files", no_backing_files},
	   {"headers", headers}, {"damaged pages", damaged_pages},
	   {"damaged journals", damaged_journals}, {"across the end", across_the_end},
	   {"odd blocks", odd_blocks}, {"transactions", transactions})

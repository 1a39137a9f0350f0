// SPDX-License-Identifier: MIT
/*
 * CXL-SSDs: wrong URIs, files of something else, and calls that are refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/models/cxlssd.h>
#include <annex/log.h>
#include "tests/models/unit/cxlssd_image.h"
#include "tests/unit/unit.h"

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
		image_refuse("", cases[i].more, cases[i].err, cases[i].word);
	image_listen();
	CU_ASSERT_EQUAL(annex_cxlssd_open("cxl:?size=64K", &(struct annex_cxlssd *){NULL}),
			-EINVAL);
	image_told("no endpoint");
}

static void media_files(void)
{
	char path[UNIT_PATH], more[UNIT_PATH + 40];
	FILE *f;

	unit_tmpfile(path);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("read_ns=1000\nprogram_ns=2000\nrate=1000000000\n", f);
	fclose(f);
	snprintf(more, sizeof(more), "size=64K&media=%s", path);
	image_refuse("", more, -EINVAL, "no erase_ns");
	f = fopen(path, "a");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("erase_ns=0\n", f);
	fclose(f);
	annex_cxlssd_close(image_open("", more));
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

	image_new(&m);
	s = image_open(m.path, SMALL);
	CU_ASSERT_EQUAL(annex_cxlssd_bytes(s), PAGES * PAGE);
	CU_ASSERT_EQUAL(annex_cxlssd_page(s), PAGE);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char more[64];

		snprintf(more, sizeof(more), "%s&dram=16K", others[i]);
		image_refuse(m.path, more, -EINVAL,
			     "size=32768 channels=2 dies=1 planes=1 pages=4 "
			     "page=512");
	}
	image_refuse(m.path, "", -EINVAL, "less DRAM");
	image_refuse(m.path, "dram=32K", -EINVAL, "less DRAM");
	image_refuse(m.path, "dram=256", -EINVAL, "no room for a page");
	image_refuse(m.path, "dram=16K&unit=1024", -EINVAL, "unit");
	s = image_open(m.path, "dram=8K&unit=128");
	CU_ASSERT_EQUAL(annex_cxlssd_bytes(s), PAGES * PAGE);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	s = image_open(m.path, SMALL);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

static void no_backing_files(void)
{
	char path[UNIT_PATH];
	struct image m;
	struct stat st;

	image_new(&m);
	image_refuse(m.path, "", -ENOENT, "empty");
	CU_ASSERT(!fstat(m.fd, &st) && !st.st_size);
	/* Text is left as it is. */
	CU_ASSERT_EQUAL(pwrite(m.fd, "some text\n", 10, 0), 10);
	image_refuse(m.path, SMALL, -EILSEQ, "no backing file");
	CU_ASSERT(!fstat(m.fd, &st) && st.st_size == 10);
	CU_ASSERT_EQUAL(ftruncate(m.fd, 100000), 0);
	image_refuse(m.path, SMALL, -EILSEQ, "no backing file");
	CU_ASSERT(!fstat(m.fd, &st) && st.st_size == 100000);
	close(m.fd);
	image_refuse("/", SMALL, -EISDIR, "/");
	image_refuse("/dev/null", SMALL, -EINVAL, "no regular file");
	unit_tmpfile(path);
	unlink(path);
	image_refuse(path, "", -ENOENT, path);
	CU_ASSERT(stat(path, &st) && errno == ENOENT);
	/* Nothing of a file that cannot be made is left. */
	image_refuse(path, "size=32K&page=512&dram=256", -EINVAL, "no room for a page");
	CU_ASSERT(stat(path, &st) && errno == ENOENT);
	image_refuse(path, "size=32K&page=512&log=zfs", -EINVAL, "log=");
	CU_ASSERT(stat(path, &st) && errno == ENOENT);
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
		return annex_cxlssd_trim(s, at, n, NULL);
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
	struct annex_cxlssd *s = image_open("", SMALL "&log=bytefs");
	struct annex_cxlssd_tx *tx;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	for (unsigned int i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		for (unsigned int call = 0; call < CALLS; call++) {
			image_listen();
			CU_ASSERT_EQUAL(call_nth(call, s, tx, outside[i].at, outside[i].n),
					-EINVAL);
			image_told("end at 32768");
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
	struct annex_cxlssd *s = image_open("", SMALL "&log=bytefs");
	struct annex_cxlssd_tx *tx;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	for (unsigned int i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (unsigned int call = FIRST_OF_BLOCKS; call < CALLS; call++) {
			image_listen();
			CU_ASSERT_EQUAL(call_nth(call, s, tx, odd[i][0], odd[i][1]), -EINVAL);
			image_told("whole pages");
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
		s = image_open("", without[i]);
		image_listen();
		CU_ASSERT_EQUAL(annex_cxlssd_begin(s, &tx), -EOPNOTSUPP);
		image_told("log=bytefs");
		annex_cxlssd_close(s);
	}
	annex_cxlssd_abort(NULL);
	/* A log of 8192 bytes: half of that. */
	s = image_open("", SMALL "&log=bytefs");
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	image_fill(buf, sizeof(buf), 3);
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 0, buf, 4096 - 64), 0);
	image_listen();
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 8192, buf, 65), -E2BIG);
	image_told("4096 bytes at most");
	image_listen();
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 0, buf, sizeof(buf)), -E2BIG);
	image_told("4096 bytes at most");
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
	   {"across the end", across_the_end}, {"odd blocks", odd_blocks},
	   {"transactions", transactions})

// SPDX-License-Identifier: MIT
/*
 * Damaged backing files of CXL-SSDs: affected readers get an error, and others do not.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/models/unit/cxlssd_image.h"
#include "models/ssd/file.h"
#include "tests/unit/unit.h"

/* A file whose pages hold something, each another thing. */
static void filled_image(struct image *m)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;

	image_new(m);
	s = image_open(m->path, SMALL);
	for (unsigned int page = 0; page < PAGES; page++) {
		image_fill(buf, PAGE, page);
		CU_ASSERT_EQUAL(annex_cxlssd_write(s, page * PAGE, buf, PAGE, NULL), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_close(s), 0);
	image_locate(m);
}

static void headers(void)
{
	const uint32_t version = 9;
	struct image m;

	filled_image(&m);
	for (unsigned int at = 12; at < 72; at++) {
		image_flip(&m, at);
		image_refuse(m.path, SMALL, -EILSEQ, "header");
		image_flip(&m, at);
	}
	image_flip(&m, 3);
	image_refuse(m.path, SMALL, -EILSEQ, "no backing file");
	image_flip(&m, 3);
	CU_ASSERT_EQUAL(pwrite(m.fd, &version, 4, 8), 4);
	image_refuse(m.path, SMALL, -EPROTONOSUPPORT, "version 9");
	close(m.fd);
	filled_image(&m);
	CU_ASSERT_EQUAL(ftruncate(m.fd, (off_t)m.pages + 5 * PAGE), 0);
	image_refuse(m.path, SMALL, -EIO, "cut short");
	CU_ASSERT_EQUAL(ftruncate(m.fd, SSD_FILE_BLOCK), 0);
	image_refuse(m.path, SMALL, -EIO, "cut short");
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

	image_fill(want, PAGE, with);
	return !annex_cxlssd_read(s, page * PAGE, buf, PAGE, NULL) && !memcmp(buf, want, PAGE);
}

/* A rotten bit in flash affects readers of its page alone. */
static void damaged_pages(void)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;
	struct stat st;
	struct image m;
	uint64_t at;

	filled_image(&m);
	CU_ASSERT_EQUAL(fstat(m.fd, &st), 0);
	image_fill(buf, PAGE, 7);
	at = look_for(&m, m.pages, (uint64_t)st.st_size, buf, PAGE);
	CU_ASSERT_FATAL(at != 0);
	image_flip(&m, at + 300);
	s = image_open(m.path, SMALL);
	for (unsigned int page = 0; page < PAGES; page++)
		CU_ASSERT(page == 7 || has(s, page, page));
	image_listen();
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE + 64, buf, 1, NULL), -EIO);
	image_told("page 7 is damaged");
	image_listen();
	CU_ASSERT_EQUAL(annex_cxlssd_read_blocks(s, 7 * PAGE, buf, PAGE, NULL), -EIO);
	image_told("page 7 is damaged");
	/* So is a part of it that is stored; the whole of it heals it. */
	image_listen();
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, 7 * PAGE, buf, 64, NULL), -EIO);
	image_told("page 7 is damaged");
	image_fill(buf, PAGE, 99);
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 7 * PAGE, buf, PAGE, NULL), 0);
	CU_ASSERT(has(s, 7, 99) && has(s, 6, 6));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

/* A journal of groups, with a line of page 1 to 9 each, which are not in flash. */
static void journaled_image(struct image *m)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;

	filled_image(m);
	s = image_open(m->path, SMALL);
	for (unsigned int page = 1; page < 10; page++) {
		image_fill(buf, PAGE, 100 + page);
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

	image_fill(buf, sizeof(buf), 100 + page);
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

			image_flip(&m, at);
			image_refuse(m.path, SMALL, -EILSEQ, "journal is damaged");
			image_flip(&m, at);
		}
	}
	/* The last one was not written whole when the power was cut. */
	image_flip(&m, entry_of(&m, 9) + 20);
	s = image_open(m.path, SMALL);
	CU_ASSERT(has(s, 9, 9));
	for (unsigned int page = 1; page < 9; page++) {
		unsigned char buf[64], want[64];

		image_fill(want, sizeof(want), 100 + page);
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, page * PAGE, buf, sizeof(buf), NULL), 0);
		CU_ASSERT(!memcmp(buf, want, sizeof(buf)));
	}
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

/* The journal begins with its newer half; the older one is never taken for it. */
static void damaged_halves(void)
{
	unsigned int refused = 0;

	for (unsigned int i = 0; i < 2; i++) {
		struct annex_cxlssd *s = NULL;
		struct image m;
		int err;

		journaled_image(&m);
		image_flip(&m, SSD_FILE_BLOCK + i * m.half + 8);
		err = image_try(m.path, SMALL, &s);
		CU_ASSERT(!err || err == -EILSEQ);
		refused += err == -EILSEQ;
		for (unsigned int page = 1; !err && page < 10; page++) {
			unsigned char buf[64], want[64];

			image_fill(want, sizeof(want), 100 + page);
			CU_ASSERT_EQUAL(annex_cxlssd_read(s, page * PAGE, buf, 64, NULL), 0);
			CU_ASSERT(!memcmp(buf, want, sizeof(buf)));
		}
		annex_cxlssd_close(s);
		close(m.fd);
	}
	CU_ASSERT_EQUAL(refused, 1);
}

/* Pages of a closed file, of which the first two were trimmed. */
static void check_closed(const struct image *m)
{
	struct annex_cxlssd *s = image_open(m->path, SMALL "&readonly=1");
	unsigned char buf[PAGE], zeroes[PAGE] = {0};

	for (unsigned int page = 0; page < 2; page++)
		CU_ASSERT(!annex_cxlssd_read(s, page * PAGE, buf, PAGE, NULL) &&
			  !memcmp(buf, zeroes, PAGE));
	for (unsigned int page = 2; page < PAGES; page++)
		CU_ASSERT(has(s, page, page));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A file that was closed has its journal twice: damage of one half loses nothing. Damage of both is
 * told, and changes nothing: without it, all is there. */
static void damaged_when_closed(void)
{
	const unsigned int group = 64 + 72; /* its head, and marks of the trimmed pages */
	struct annex_cxlssd *s;
	struct image m;

	filled_image(&m);
	s = image_open(m.path, SMALL);
	CU_ASSERT_EQUAL(annex_cxlssd_trim(s, 0, 2 * PAGE, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_close(s), 0);
	for (unsigned int i = 0; i < 2 * group; i++) {
		const uint64_t at = SSD_FILE_BLOCK + i / group * m.half + i % group;

		image_flip(&m, at);
		check_closed(&m);
		image_flip(&m, SSD_FILE_BLOCK + m.half * !(i / group) + i % group);
		image_refuse(m.path, SMALL, -EILSEQ, "journal is damaged");
		image_flip(&m, SSD_FILE_BLOCK + m.half * !(i / group) + i % group);
		image_flip(&m, at);
	}
	check_closed(&m);
	/* It can be used with one half, which is whole from then on. */
	image_flip(&m, SSD_FILE_BLOCK + m.half);
	CU_ASSERT_EQUAL(annex_cxlssd_close(image_open(m.path, SMALL)), 0);
	image_flip(&m, SSD_FILE_BLOCK);
	check_closed(&m);
	close(m.fd);
}

/* Each bit of flash is checked, also of pages that were programmed last, after a clean close. */
static void rotten_flash(void)
{
	unsigned int damaged = 0;
	struct annex_cxlssd *s;
	struct image m;

	for (unsigned int i = 0; i < 96; i++) {
		unsigned int bad = 0;

		filled_image(&m);
		image_flip(&m, m.pages + i * PAGE + 77);
		s = image_open(m.path, SMALL);
		for (unsigned int page = 0; page < PAGES; page++) {
			unsigned char buf[PAGE];
			int err = annex_cxlssd_read_blocks(s, page * PAGE, buf, PAGE, NULL);

			CU_ASSERT(err == -EIO || has(s, page, page));
			bad += err == -EIO;
		}
		CU_ASSERT(bad <= 1);
		damaged += bad;
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(m.fd);
	}
	CU_ASSERT_EQUAL(damaged, PAGES);
}

static void rotten_records(void)
{
	struct image m;

	filled_image(&m);
	for (unsigned int at = 0; at < 8 * SSD_RECORD; at++) {
		image_flip(&m, m.records + at);
		image_refuse(m.path, SMALL, -EILSEQ, "flash page");
		image_flip(&m, m.records + at);
	}
	CU_ASSERT_EQUAL(annex_cxlssd_close(image_open(m.path, SMALL)), 0);
	close(m.fd);
}

/* A bit of the newest copy of a page rots. */
static void rot(const struct image *m, unsigned int page)
{
	unsigned char buf[PAGE];
	struct stat st;
	uint64_t at;

	CU_ASSERT_EQUAL(fstat(m->fd, &st), 0);
	image_fill(buf, PAGE, page);
	at = look_for(m, m->pages, (uint64_t)st.st_size, buf, PAGE);
	CU_ASSERT_FATAL(at != 0);
	image_flip(m, at + 300);
}

/* Lines are stored to a damaged page without reading it: other pages do not suffer from that. */
static void logged_to_damaged(void)
{
	unsigned char buf[PAGE], got[PAGE];
	struct annex_cxlssd *s;
	struct image m;

	for (unsigned int cut = 0; cut < 2; cut++) {
		filled_image(&m);
		rot(&m, 7);
		rot(&m, 8);
		s = image_open(m.path, SMALL "&log=skybyte");
		image_fill(buf, PAGE, 200);
		CU_ASSERT_EQUAL(annex_cxlssd_write(s, 7 * PAGE, buf, 64, NULL), 0);
		/* All lines of a page heal it. */
		for (unsigned int i = 0; i < PAGE; i += 64)
			CU_ASSERT_EQUAL(annex_cxlssd_write(s, 8 * PAGE + i, buf + i, 64, NULL), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE, got, 64, NULL), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE, got, 65, NULL), -EIO);
		CU_ASSERT(has(s, 8, 200));
		CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
		CU_ASSERT_EQUAL(cut ? annex_cxlssd_cut(s, NULL, 0) : annex_cxlssd_close(s), 0);
		s = image_open(m.path, SMALL);
		for (unsigned int page = 0; page < PAGES; page++)
			CU_ASSERT(page == 7 || has(s, page, page == 8 ? 200 : page));
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE, got, 64, NULL), -EIO);
		CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 7 * PAGE, buf, PAGE, NULL), 0);
		CU_ASSERT(has(s, 7, 200));
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(m.fd);
	}
}

/* Garbage collection moves damaged pages; none turns into an older copy or into zeroes. */
static void collected_damage(void)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd_stats stats;
	struct annex_cxlssd *s;
	struct image m;

	filled_image(&m);
	rot(&m, 7);
	for (unsigned int round = 0; round < 20; round++) {
		s = image_open(m.path, SMALL);
		for (unsigned int i = 0; i < 50; i++) {
			const unsigned int page = 20 + (round + i * 7) % 40;

			image_fill(buf, PAGE, page);
			CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, page * PAGE, buf, PAGE, NULL),
					0);
		}
		annex_cxlssd_get_stats(s, &stats);
		CU_ASSERT(stats.erased > 0);
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE, buf, 64, NULL), -EIO);
		CU_ASSERT_EQUAL(round & 1 ? annex_cxlssd_fence(s, NULL) : 0, 0);
		CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
	}
	s = image_open(m.path, SMALL);
	for (unsigned int page = 0; page < PAGES; page++)
		CU_ASSERT(page == 7 || has(s, page, page));
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE, buf, 64, NULL), -EIO);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

UNIT_SUITE(cxlssd_damage, {"headers", headers}, {"damaged pages", damaged_pages},
	   {"damaged journals", damaged_journals}, {"damaged halves", damaged_halves},
	   {"damage of a closed file", damaged_when_closed}, {"rotten flash", rotten_flash},
	   {"rotten records", rotten_records}, {"lines to a damaged page", logged_to_damaged},
	   {"damage that is collected", collected_damage})

// SPDX-License-Identifier: MIT
/*
 * Endpoints that fail beneath a tier: no byte is lost that host memory has, and errors are told.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/models/unit/cxlssd_image.h"
#include "tests/models/unit/cxlssd_rig.h"
#include "cxltier_rig.h"
#include "tests/unit/unit.h"

#define LINE ANNEX_CXLSSD_LINE

/* The endpoint's file fails: a dirty page cannot be demoted, and has all its bytes. */
static void failed_file(void)
{
	unsigned char line[LINE] = {7};
	struct annex_cxlssd_time t = {0};
	struct annex_cxltier_stats stats;
	struct annex_cxltier *tier;
	struct cxlssd_rig r;
	uint64_t written;

	cxlssd_rig_make(&r, 16, "&dram=4K");
	tier = tier_rig_open(r.s, (struct annex_cxltier_opts){.host = RIG_PAGE, .hot = 2});
	for (uint64_t now = 0; now <= 1000000; now += 1000000)
		tier_rig_load(tier, 0, now, 0);
	tier_rig_store(tier, LINE, 2000000, 5);
	cxlssd_rig_doom(1);
	cxlssd_rig_write(&r, 5 * RIG_PAGE, line, LINE);
	cxlssd_rig_fence(&r);
	CU_ASSERT_FATAL(cxlssd_rig_dead());
	/* Another page is hot, and finds no room. Its loads go on; it is not tried at each. */
	written = tier_rig_written(r.s);
	for (uint64_t now = 3000000; now < 40000000; now += 1000000)
		tier_rig_load(tier, 3 * RIG_PAGE, now, 0);
	stats = tier_rig_stats(tier);
	CU_ASSERT_EQUAL(stats.resident, 1);
	CU_ASSERT_EQUAL(stats.promoted, 1);
	CU_ASSERT_EQUAL(stats.demoted, 0);
	CU_ASSERT_EQUAL(stats.moved_bytes, RIG_PAGE);
	CU_ASSERT(tier_rig_written(r.s) > written && tier_rig_written(r.s) - written < 20);
	t.now = 41000000;
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), -EIO);
	CU_ASSERT_EQUAL(tier_rig_load(tier, LINE, 42000000, 5).done, 42000000 + TIER_LOCAL);
	CU_ASSERT_EQUAL(annex_cxltier_store(tier, 6 * RIG_PAGE, line, LINE, &t), -EIO);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), -EIO);
	cxlssd_rig_cut(&r, NULL, 0, NULL, "&dram=4K");
	cxlssd_rig_free(&r);
}

/* A store that fails while its page is on the way to host memory: the copy counts no more. */
static void failed_store(void)
{
	unsigned char line[LINE] = {7};
	struct annex_cxlssd_time t = {.now = 1500000};
	struct annex_cxltier *tier;
	struct cxlssd_rig r;

	cxlssd_rig_make(&r, 16, "&dram=4K");
	/* A page takes a millisecond. */
	tier = tier_rig_open(r.s, (struct annex_cxltier_opts){
					  .host = RIG_PAGE, .hot = 2, .rate = 1000 * RIG_PAGE});
	for (uint64_t now = 0; now <= 1000000; now += 1000000)
		tier_rig_load(tier, 0, now, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).resident, 1);
	cxlssd_rig_doom(1);
	cxlssd_rig_write(&r, 5 * RIG_PAGE, line, LINE);
	cxlssd_rig_fence(&r);
	CU_ASSERT_EQUAL(annex_cxltier_store(tier, 0, line, LINE, &t), -EIO);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).resident, 0);
	tier_rig_load(tier, 0, 3000000, tier_rig_beneath(r.s, 0));
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), -EIO);
	cxlssd_rig_cut(&r, NULL, 0, NULL, "&dram=4K");
	cxlssd_rig_free(&r);
}

/* An image whose page 7 has something, in flash alone. */
static void written_image(struct image *m, const char *uri)
{
	unsigned char buf[PAGE];
	struct annex_cxlssd *s;

	image_new(m);
	s = image_open(m->path, uri);
	image_fill(buf, PAGE, 7);
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 7 * PAGE, buf, PAGE, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_close(s), 0);
	image_locate(m);
}

/* A bit of each page of its flash. */
static void rot(const struct image *m)
{
	struct stat st;

	CU_ASSERT_EQUAL(fstat(m->fd, &st), 0);
	for (uint64_t at = m->pages; at < (uint64_t)st.st_size; at += PAGE)
		image_flip(m, at + 300);
}

/* A damaged page takes stores by the log, but cannot be copied: it stays at the endpoint. */
static void damaged_page(void)
{
	struct annex_cxlssd_time t = {0};
	unsigned char buf[PAGE];
	struct annex_cxltier *tier;
	struct annex_cxlssd *s;
	struct image m;

	written_image(&m, SMALL "&log=skybyte");
	rot(&m);
	s = image_open(m.path, SMALL "&log=skybyte");
	tier = tier_rig_open(s, (struct annex_cxltier_opts){.host = PAGE, .hot = 2});
	for (unsigned char i = 1; i < 9; i++)
		tier_rig_store(tier, 7 * PAGE, i * 1000000u, i);
	tier_rig_load(tier, 7 * PAGE, 10000000, 8);
	CU_ASSERT_EQUAL(annex_cxltier_load(tier, 7 * PAGE + LINE, buf, LINE, &t), -EIO);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).resident, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 0);
	/* The frame is free. */
	for (uint64_t now = 11000000; now < 13000000; now += 1000000)
		tier_rig_load(tier, 0, now, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).resident, 1);
	CU_ASSERT_EQUAL(tier_rig_load(tier, 0, 14000000, 0).done, 14000000 + TIER_LOCAL);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
	close(m.fd);
}

/* A page is damaged while it is in host memory: each fence tells that a line cannot be written,
 * until it can. */
static void damaged_beneath(void)
{
	struct annex_cxlssd_time t = {.now = 4000000};
	unsigned char want[PAGE], buf[PAGE];
	struct annex_cxltier *tier;
	struct annex_cxlssd *s;
	struct image m;

	written_image(&m, SMALL);
	s = image_open(m.path, SMALL);
	tier = tier_rig_open(s, (struct annex_cxltier_opts){.host = PAGE, .hot = 2});
	image_fill(want, PAGE, 7);
	for (uint64_t now = 0; now <= 1000000; now += 1000000)
		tier_rig_load(tier, 7 * PAGE, now, want[0]);
	tier_rig_store(tier, 7 * PAGE, 2000000, 3);
	/* The endpoint's DRAM forgets the page. */
	for (unsigned int page = 8; page < PAGES; page++)
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, page * PAGE, buf, PAGE, NULL), 0);
	rot(&m);
	tier_rig_store(tier, 9 * PAGE, 3000000, 4);
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), -EIO);
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), -EIO);
	CU_ASSERT_EQUAL(annex_cxlssd_unfenced(s, NULL, 0), 0);
	CU_ASSERT_EQUAL(tier_rig_load(tier, 7 * PAGE, 5000000, 3).done, 5000000 + TIER_LOCAL);
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 7 * PAGE, want, PAGE, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), 0);
	CU_ASSERT_EQUAL(tier_rig_beneath(s, 7 * PAGE), 3);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(m.fd);
}

UNIT_SUITE(cxltier_errors, {"a file that fails", failed_file}, {"a store that fails", failed_store},
	   {"a damaged page", damaged_page}, {"damage beneath a page", damaged_beneath})

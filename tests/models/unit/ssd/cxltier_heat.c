// SPDX-License-Identifier: MIT
/*
 * Hot pages of a CXL-SSD, and pages that make room for them.
 */
#include "cxltier_rig.h"
#include "tests/unit/unit.h"

/* As many loads of a page, far apart. Return: how many of them host memory served. */
static uint64_t heat(struct annex_cxltier *tier, uint64_t page, unsigned int n, uint64_t *now)
{
	const uint64_t before = tier_rig_stats(tier).host;

	for (unsigned int i = 0; i < n; i++)
		tier_rig_load(tier, page * TIER_PAGE, *now += 100000, 0);
	return tier_rig_stats(tier).host - before;
}

static void hotter_pages(void)
{
	struct annex_cxlssd *s = tier_rig_ssd(TIER_URI);
	struct annex_cxltier *tier =
		tier_rig_open(s, (struct annex_cxltier_opts){.host = 2 * TIER_PAGE, .hot = 8});
	uint64_t now = 0;

	/* An epoch is of 64 accesses. */
	CU_ASSERT_EQUAL(heat(tier, 0, 20, &now), 12);
	CU_ASSERT_EQUAL(heat(tier, 1, 10, &now), 2);
	/* With 16 accesses a page is hot, and twice as hot as page 1, but not as page 0. */
	CU_ASSERT_EQUAL(heat(tier, 2, 19, &now), 0);
	CU_ASSERT_EQUAL(heat(tier, 2, 3, &now), 2);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).demoted, 1);
	CU_ASSERT_EQUAL(heat(tier, 0, 1, &now), 1);
	/* Page 1 is cold: it must become hot again. */
	CU_ASSERT_EQUAL(heat(tier, 1, 7, &now), 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 3);
	/* Two pages that are as hot as those in host memory do not drive them out. */
	for (unsigned int i = 0; i < 200; i++)
		for (unsigned int page = 0; page < 4; page++)
			heat(tier, page, 1, &now);
	CU_ASSERT(tier_rig_stats(tier).promoted <= 5);
	/* Pages that were hot long ago make room. */
	CU_ASSERT(heat(tier, 5, 200, &now) > 100);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).resident, 2);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* Few accesses among many others do not make a page hot, however long it goes on. */
static void forgotten(void)
{
	struct annex_cxlssd *s = tier_rig_ssd(TIER_URI);
	struct annex_cxltier *tier =
		tier_rig_open(s, (struct annex_cxltier_opts){.host = TIER_PAGE, .hot = 8});
	uint64_t now = 0;

	for (unsigned int i = 0; i < 20; i++)
		for (unsigned int page = 0; page < 32; page++)
			heat(tier, page, 1, &now);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 0);
	CU_ASSERT_EQUAL(heat(tier, 7, 20, &now), 12);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A page that made room is not hot any more. */
static void demoted_pages(void)
{
	struct annex_cxlssd *s = tier_rig_ssd(TIER_URI);
	struct annex_cxltier *tier =
		tier_rig_open(s, (struct annex_cxltier_opts){.host = TIER_PAGE, .hot = 64});
	uint64_t now = 0;

	/* An epoch is of 256 accesses. */
	heat(tier, 0, 64, &now);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 1);
	heat(tier, 1, 128, &now);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 2);
	/* Page 0 begins with none: 63 become 31, and 97 more make twice the half of page 1's. */
	heat(tier, 0, 63 + 96, &now);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 2);
	heat(tier, 0, 1, &now);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 3);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).demoted, 2);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* The coldest of all pages makes room, when several are cold enough. */
static void coldest_page(void)
{
	static const unsigned int counts[] = {20, 18, 40};
	const uint64_t second = 1000000000;
	struct annex_cxlssd *s = tier_rig_ssd(TIER_URI);
	/* A page takes a second, an epoch is of 192 accesses. */
	struct annex_cxltier *tier = tier_rig_open(
		s,
		(struct annex_cxltier_opts){.host = 3 * TIER_PAGE, .hot = 16, .rate = TIER_PAGE});

	for (unsigned int page = 0; page < 3; page++)
		for (unsigned int i = 0; i < counts[page]; i++)
			tier_rig_load(tier, page * TIER_PAGE, page * second, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 3);
	for (unsigned int i = 0; i < 100; i++)
		tier_rig_load(tier, 3 * TIER_PAGE, 3 * second - 1, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).refused, 85);
	tier_rig_load(tier, 3 * TIER_PAGE, 3 * second, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).demoted, 1);
	for (unsigned int page = 0; page < 4; page++) {
		const uint64_t took = tier_rig_load(tier, page * TIER_PAGE, 4 * second, 0).done -
				      4 * second;

		CU_ASSERT_EQUAL(took == TIER_LOCAL, page != 1);
	}
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A page that is on its way to host memory, slowly, does not make room for another one. */
static void page_on_its_way(void)
{
	struct annex_cxlssd *s = tier_rig_ssd("cxlssd:?size=4M&dram=64K&media=nand");
	struct annex_cxltier *tier = tier_rig_open(
		s, (struct annex_cxltier_opts){.host = TIER_PAGE, .hot = 2, .rate = 1ull << 40});
	char page[TIER_PAGE] = {0};

	for (uint64_t at = 0; at < 2 * TIER_PAGE; at += TIER_PAGE)
		CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, at, page, TIER_PAGE, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		tier_rig_load(tier, 0, 1000000000, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 1);
	for (unsigned int i = 0; i < 5; i++)
		tier_rig_load(tier, TIER_PAGE, 1000000100, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).demoted, 0);
	tier_rig_load(tier, TIER_PAGE, 2000000000, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).demoted, 1);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 2);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(cxltier_heat, {"hotter pages", hotter_pages}, {"seldom used pages", forgotten},
	   {"demoted pages", demoted_pages}, {"the coldest page", coldest_page},
	   {"a page on its way", page_on_its_way})

// SPDX-License-Identifier: MIT
#include <string.h>
#include "cxltier_rig.h"
#include "tests/unit/unit.h"

struct annex_cxlssd *tier_rig_ssd(const char *uri)
{
	struct annex_cxlssd *s = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	return s;
}

struct annex_cxltier *tier_rig_open(struct annex_cxlssd *s, struct annex_cxltier_opts opts)
{
	struct annex_cxltier *tier = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxltier_create(s, &opts, &tier), 0);
	return tier;
}

struct annex_cxltier_stats tier_rig_stats(const struct annex_cxltier *tier)
{
	struct annex_cxltier_stats stats;

	annex_cxltier_get_stats(tier, &stats);
	return stats;
}

struct annex_cxlssd_time tier_rig_load(struct annex_cxltier *tier, uint64_t at, uint64_t now,
				       unsigned char want)
{
	struct annex_cxlssd_time t = {.now = now};
	unsigned char buf[ANNEX_CXLSSD_LINE] = {0};

	CU_ASSERT_EQUAL(annex_cxltier_load(tier, at, buf, ANNEX_CXLSSD_LINE, &t), 0);
	CU_ASSERT_EQUAL(buf[0], want);
	CU_ASSERT(t.told >= now && t.done >= t.told);
	return t;
}

struct annex_cxlssd_time tier_rig_store(struct annex_cxltier *tier, uint64_t at, uint64_t now,
					unsigned char byte)
{
	struct annex_cxlssd_time t = {.now = now};
	unsigned char buf[ANNEX_CXLSSD_LINE];

	memset(buf, byte, sizeof(buf));
	CU_ASSERT_EQUAL(annex_cxltier_store(tier, at, buf, ANNEX_CXLSSD_LINE, &t), 0);
	CU_ASSERT(t.told >= now && t.done >= t.told);
	return t;
}

unsigned char tier_rig_beneath(struct annex_cxlssd *s, uint64_t at)
{
	unsigned char byte = 0;

	CU_ASSERT_EQUAL(annex_cxlssd_read(s, at, &byte, 1, NULL), 0);
	return byte;
}

uint64_t tier_rig_written(struct annex_cxlssd *s)
{
	struct annex_cxlssd_stats stats;

	annex_cxlssd_get_stats(s, &stats);
	return stats.writes;
}

/* SPDX-License-Identifier: MIT */
/*
 * Single accesses to a tier, and its endpoint.
 */
#ifndef ANNEX_TESTS_CXLTIER_RIG_H
#define ANNEX_TESTS_CXLTIER_RIG_H

#include <annex/models/cxltier.h>

#define TIER_PAGE 4096u /* of TIER_URI, and of endpoints whose URI has no page= */
#define TIER_URI "cxlssd:?size=4M&dram=64K"
#define TIER_LOCAL 46u /* default nanoseconds of host memory */

struct annex_cxlssd *tier_rig_ssd(const char *uri);
struct annex_cxltier *tier_rig_open(struct annex_cxlssd *s, struct annex_cxltier_opts opts);
struct annex_cxltier_stats tier_rig_stats(const struct annex_cxltier *tier);

/* A load of a line, whose first byte is @want. A store of a line of equal bytes. */
struct annex_cxlssd_time tier_rig_load(struct annex_cxltier *tier, uint64_t at, uint64_t now,
				       unsigned char want);
struct annex_cxlssd_time tier_rig_store(struct annex_cxltier *tier, uint64_t at, uint64_t now,
					unsigned char byte);

/* The byte that the endpoint has, and how many lines were stored to it. */
unsigned char tier_rig_beneath(struct annex_cxlssd *s, uint64_t at);
uint64_t tier_rig_written(struct annex_cxlssd *s);

#endif

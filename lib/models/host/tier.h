/* SPDX-License-Identifier: MIT */
/*
 * Internals of a tier (annex/models/cxltier.h): accesses (tier.c) and migration of pages
 * (promotion.c).
 */
#ifndef ANNEX_HDM_HOST_TIER_H
#define ANNEX_HDM_HOST_TIER_H

#include <annex/models/cxltier.h>
#include "frames.h"

#define TIER_RESIDENT (1u << 31) /* a page has a frame */

/*
 * struct annex_cxltier - A tier.
 * @s: the endpoint.
 * @o: options.
 * @bytes: bytes of the endpoint.
 * @shift: binary logarithm of the page size.
 * @pages: for each page TIER_RESIDENT and its frame, or its heat; NULL: no page is ever hot.
 * @frames: frames of host memory.
 * @heat: the current epoch.
 * @turn: earliest time of the next promotion.
 * @answered: time at which the endpoint has answered all stores.
 * @last: time of the last call.
 * @load: load in the endpoint's last response.
 * @stats: counters.
 */
struct annex_cxltier {
	struct annex_cxlssd *s;
	struct annex_cxltier_opts o;
	uint64_t bytes;
	uint32_t shift;
	uint32_t *pages;
	struct frames frames;
	struct heat heat;
	uint64_t turn, answered, last;
	enum annex_cxlssd_load load;
	struct annex_cxltier_stats stats;
};

static inline uint64_t tier_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * tier_write_back() - Store the dirty lines of a frame to the endpoint; add their bytes to *@bytes.
 */
int tier_write_back(struct annex_cxltier *tier, uint32_t frame, uint64_t now, uint64_t *bytes);

/* tier_drop() - Evict the page of a clean frame, and mark it as cold. */
void tier_drop(struct annex_cxltier *tier, uint32_t frame);

/*
 * tier_promote() - Promote a hot page with that count, if the rate permits and there is a free
 * frame or a colder page to evict.
 */
void tier_promote(struct annex_cxltier *tier, uint32_t page, uint32_t count, uint64_t now);

#endif

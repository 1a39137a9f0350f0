/* SPDX-License-Identifier: MIT */
/*
 * The inside of a tier (annex/models/cxltier.h): accesses (tier.c) and pages that move
 * (promotion.c).
 */
#ifndef ANNEX_HDM_HOST_TIER_H
#define ANNEX_HDM_HOST_TIER_H

#include <annex/models/cxltier.h>
#include "frames.h"

#define TIER_RESIDENT (1u << 31) /* a page has a frame */

/*
 * struct annex_cxltier - @bytes: of the endpoint.
 * @pages: of each page TIER_RESIDENT and its frame, or its heat; NULL: no page is ever hot.
 * @turn: when the next promotion may begin. @answered: when the endpoint has answered all stores.
 * @last: when the last call came. @load: of the endpoint's last response.
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

/* tier_write_back() - Store the dirty lines of a frame to the endpoint; *@bytes grows by them. */
int tier_write_back(struct annex_cxltier *tier, uint32_t frame, uint64_t now, uint64_t *bytes);

/* tier_drop() - A frame's page leaves, and is cold. Its dirty lines have been written. */
void tier_drop(struct annex_cxltier *tier, uint32_t frame);

/* tier_promote() - Promote a hot page with that count, if the rate allows it and there is a frame
 * or a page that makes room. */
void tier_promote(struct annex_cxltier *tier, uint32_t page, uint32_t count, uint64_t now);

#endif

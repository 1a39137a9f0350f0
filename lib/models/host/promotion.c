// SPDX-License-Identifier: MIT
/*
 * Pages that move between an endpoint and host memory.
 */
#include <annex/detail/clock.h>
#include "tier.h"

int tier_write_back(struct annex_cxltier *tier, uint32_t frame, uint64_t now, uint64_t *bytes)
{
	struct frames *f = &tier->frames;
	const uint64_t at = (uint64_t)f->v[frame].page << f->shift;
	uint32_t first, end = 0;

	while (frames_run(f, frame, &first, &end)) {
		struct annex_cxlssd_time e = {.now = now + tier->o.link_ns};
		const size_t from = (size_t)first * ANNEX_CXLSSD_LINE;
		const size_t n = (size_t)(end - first) * ANNEX_CXLSSD_LINE;
		int err = annex_cxlssd_write(tier->s, at + from, frames_data(f, frame) + from, n,
					     &e);

		tier->load = e.load;
		if (err)
			return err;
		frames_mark_clean(f, frame, first, end);
		*bytes += n;
		tier->answered = tier_later(tier->answered, e.done + tier->o.link_ns);
	}
	return 0;
}

void tier_drop(struct annex_cxltier *tier, uint32_t frame)
{
	tier->pages[tier->frames.v[frame].page] = 0;
	frames_give(&tier->frames, frame);
}

/* A free frame for a page with that count. A colder page makes room. When the lines of that one
 * cannot be written, it stays, and the page must become hot once more. */
static uint32_t make_room(struct annex_cxltier *tier, uint32_t page, uint32_t count, uint64_t now,
			  uint64_t *moved)
{
	struct frames *f = &tier->frames;
	uint32_t frame = frames_take(f, page);

	if (frame != FRAMES_NONE)
		return frame;
	frame = frames_coldest(f, &tier->heat, count / 2, now);
	if (frame == FRAMES_NONE)
		return FRAMES_NONE;
	if (tier_write_back(tier, frame, now, moved)) {
		tier->pages[page] = 0;
		return FRAMES_NONE;
	}
	tier->stats.demoted++;
	tier_drop(tier, frame);
	return frames_take(f, page);
}

/* Copy a hot page to host memory. When the endpoint cannot read it, it is cold again. */
static void copy(struct annex_cxltier *tier, uint32_t page, uint32_t frame, uint64_t now,
		 uint64_t *moved)
{
	struct frame *f = &tier->frames.v[frame];
	struct annex_cxlssd_time e = {.now = now + tier->o.link_ns};
	const size_t bytes = (size_t)1 << tier->shift;
	int err = annex_cxlssd_read(tier->s, (uint64_t)page << tier->shift,
				    frames_data(&tier->frames, frame), bytes, &e);

	tier->load = e.load;
	f->heat = tier->pages[page];
	f->ready = e.done + tier->o.link_ns;
	tier->pages[page] = TIER_RESIDENT | frame;
	if (err) {
		tier_drop(tier, frame);
		return;
	}
	*moved += bytes;
	tier->stats.promoted++;
}

void tier_promote(struct annex_cxltier *tier, uint32_t page, uint32_t count, uint64_t now)
{
	uint64_t moved = 0;
	uint32_t frame;

	if (now < tier->turn) {
		tier->stats.refused++;
		return;
	}
	frame = make_room(tier, page, count, now, &moved);
	if (frame != FRAMES_NONE)
		copy(tier, page, frame, now, &moved);
	if (!moved)
		return;
	tier->turn = now + (moved * ANNEX_NSEC_PER_SEC + tier->o.rate - 1) / tier->o.rate;
	tier->stats.moved_bytes += moved;
	if (tier->pages[page] & TIER_RESIDENT)
		tier->frames.v[frame].ready = tier_later(tier->frames.v[frame].ready, tier->turn);
}

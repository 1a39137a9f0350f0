// SPDX-License-Identifier: MIT
/*
 * Hot pages of an endpoint in host memory: loads, stores and fences.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "tier.h"

#define DEFAULT_HOST (16ull << 20)
#define DEFAULT_HOT 16u
#define DEFAULT_RATE (1ull << 30)
#define DEFAULT_LINK_NS 20u
#define DEFAULT_LOCAL_NS 46u
#define EPOCH 4u /* an epoch has so many times the accesses that make all frames hot */
static int set_up(struct annex_cxltier *tier, const struct annex_cxltier_opts *opts)
{
	struct annex_cxltier_opts *o = &tier->o;
	const uint32_t page = annex_cxlssd_page(tier->s);
	uint64_t pages, frames;

	if (opts)
		*o = *opts;
	o->host = o->host ? o->host : DEFAULT_HOST;
	o->hot = o->hot ? o->hot : DEFAULT_HOT;
	o->rate = o->rate ? o->rate : DEFAULT_RATE;
	o->link_ns = o->link_ns ? o->link_ns : DEFAULT_LINK_NS;
	o->local_ns = o->local_ns ? o->local_ns : DEFAULT_LOCAL_NS;
	if (o->host < page || (o->hot > HEAT_MOST && o->hot != ANNEX_CXLTIER_NEVER))
		return annex_fail(-EINVAL,
				  "CXL tier: %llu bytes of host memory, pages hot from %u "
				  "accesses on: at least %u, 1 to %u",
				  (ull)o->host, o->hot, page, HEAT_MOST);
	tier->bytes = annex_cxlssd_bytes(tier->s);
	tier->shift = (uint32_t)__builtin_ctz(page);
	if (o->hot == ANNEX_CXLTIER_NEVER)
		return 0;
	pages = tier->bytes >> tier->shift;
	frames = o->host >> tier->shift;
	frames = frames < pages ? frames : pages;
	frames = frames < FRAMES_NONE ? frames : FRAMES_NONE;
	tier->heat.period = tier->heat.left = frames * o->hot * EPOCH;
	tier->pages = calloc(pages, sizeof(*tier->pages));
	if (!tier->pages || !frames_init(&tier->frames, (uint32_t)frames, page))
		return annex_fail(-ENOMEM, "CXL tier: out of memory");
	return 0;
}

static void give_back(struct annex_cxltier *tier)
{
	frames_free(&tier->frames);
	free(tier->pages);
	free(tier);
}

int annex_cxltier_create(struct annex_cxlssd *s, const struct annex_cxltier_opts *opts,
			 struct annex_cxltier **out)
{
	struct annex_cxltier *tier = calloc(1, sizeof(*tier));
	int err;

	if (!tier)
		return annex_fail(-ENOMEM, "CXL tier: out of memory");
	tier->s = s;
	err = set_up(tier, opts);
	if (err) {
		give_back(tier);
		return err;
	}
	*out = tier;
	return 0;
}

int annex_cxltier_destroy(struct annex_cxltier *tier)
{
	struct annex_cxlssd_time t = {0};
	int err;

	if (!tier)
		return 0;
	t.now = tier->last;
	err = annex_cxltier_fence(tier, &t);
	give_back(tier);
	return err;
}

/* The endpoint's DRAM need not have a page that host memory has. */
static void release(struct annex_cxltier *tier, uint32_t page, uint64_t now)
{
	struct annex_cxlssd_time e = {.now = now + tier->o.link_ns};

	annex_cxlssd_release(tier->s, (uint64_t)page << tier->shift, (size_t)1 << tier->shift, &e);
	tier->load = e.load;
}

/* The frame of a page whose copy has arrived; FRAMES_NONE. */
static inline uint32_t find(struct annex_cxltier *tier, uint64_t page, uint64_t now)
{
	struct frame *f;
	uint32_t word;

	if (!tier->pages)
		return FRAMES_NONE;
	heat_tick(&tier->heat);
	word = tier->pages[page];
	if (!(word & TIER_RESIDENT))
		return FRAMES_NONE;
	f = &tier->frames.v[word & ~TIER_RESIDENT];
	f->heat = heat_more(&tier->heat, f->heat);
	if (f->ready > now)
		return FRAMES_NONE;
	/* The copy has arrived for good, even if an access comes at an earlier time. */
	if (f->ready)
		release(tier, page, now);
	f->ready = 0;
	return word & ~TIER_RESIDENT;
}

/* An access was served by the endpoint: its page may be hot now. */
static void warm(struct annex_cxltier *tier, uint32_t page, uint64_t now)
{
	uint32_t count;

	if (!tier->pages || tier->pages[page] & TIER_RESIDENT)
		return;
	tier->pages[page] = heat_more(&tier->heat, tier->pages[page]);
	count = heat_count(&tier->heat, tier->pages[page]);
	if (count >= tier->o.hot)
		tier_promote(tier, page, count, now);
}

/* The endpoint's answer to a part of an access. */
static void answer(struct annex_cxltier *tier, const struct annex_cxlssd_time *e,
		   struct annex_cxlssd_time *t)
{
	t->done = tier_later(t->done, e->done + tier->o.link_ns);
	t->told = tier_later(t->told, e->told + tier->o.link_ns);
	t->hit &= e->hit;
	t->late |= e->late;
	t->load = tier->load = e->load;
}

/* Load bytes of one page. */
static inline int load(struct annex_cxltier *tier, uint64_t at, char *buf, uint32_t bytes,
		       struct annex_cxlssd_time *t)
{
	const uint32_t page = (uint32_t)(at >> tier->shift);
	const uint32_t frame = find(tier, page, t->now);
	struct annex_cxlssd_time e;
	int err;

	tier->stats.loads++;
	if (frame != FRAMES_NONE) {
		memcpy(buf, frames_data(&tier->frames, frame) + at % (1u << tier->shift), bytes);
		t->done = tier_later(t->done, t->now + tier->o.local_ns);
		tier->stats.host++;
		return 0;
	}
	e.now = t->now + tier->o.link_ns;
	err = annex_cxlssd_read(tier->s, at, buf, bytes, &e);
	answer(tier, &e, t);
	if (!err)
		warm(tier, page, t->now);
	return err;
}

/* Store to the copy of a page that is moving to host memory too. After an error it is unknown which
 * bytes the endpoint has. */
static void amend(struct annex_cxltier *tier, uint64_t at, const char *buf, uint32_t bytes, int err)
{
	const uint32_t word = tier->pages ? tier->pages[at >> tier->shift] : 0;

	if (!(word & TIER_RESIDENT))
		return;
	if (err)
		tier_drop(tier, word & ~TIER_RESIDENT);
	else
		memcpy(frames_data(&tier->frames, word & ~TIER_RESIDENT) + at % (1u << tier->shift),
		       buf, bytes);
}

/* Store bytes of one page. */
static inline int store(struct annex_cxltier *tier, uint64_t at, const char *buf, uint32_t bytes,
			struct annex_cxlssd_time *t)
{
	const uint32_t page = (uint32_t)(at >> tier->shift);
	const uint32_t in_page = at % (1u << tier->shift);
	const uint32_t frame = find(tier, page, t->now);
	struct annex_cxlssd_time e;
	int err;

	tier->stats.stores++;
	if (frame != FRAMES_NONE) {
		memcpy(frames_data(&tier->frames, frame) + in_page, buf, bytes);
		frames_mark_dirty(&tier->frames, frame, in_page, bytes);
		t->done = tier_later(t->done, t->now + tier->o.local_ns);
		tier->stats.host++;
		return 0;
	}
	e.now = t->now + tier->o.link_ns;
	err = annex_cxlssd_write(tier->s, at, buf, bytes, &e);
	answer(tier, &e, t);
	tier->answered = tier_later(tier->answered, t->done);
	amend(tier, at, buf, bytes, err);
	if (!err)
		warm(tier, page, t->now);
	return err;
}

/* An access comes; 0: it is inside. */
static inline int begin(struct annex_cxltier *tier, uint64_t at, size_t bytes,
			struct annex_cxlssd_time *t)
{
	tier->last = tier_later(tier->last, t->now);
	t->done = t->told = t->now;
	t->load = tier->load;
	t->hit = true;
	t->late = false;
	if (at <= tier->bytes && bytes <= tier->bytes - at)
		return 0;
	return annex_fail(-EINVAL, "CXL tier: %zu bytes at %llu cross the end at %llu", bytes,
			  (ull)at, (ull)tier->bytes);
}

/* The first of @bytes bytes at @at that are of one page. */
static inline uint32_t part(const struct annex_cxltier *tier, uint64_t at, size_t bytes)
{
	const uint32_t left = (1u << tier->shift) - at % (1u << tier->shift);

	return bytes < left ? (uint32_t)bytes : left;
}

int annex_cxltier_load(struct annex_cxltier *tier, uint64_t at, void *buf, size_t bytes,
		       struct annex_cxlssd_time *t)
{
	char *to = buf;
	int err = begin(tier, at, bytes, t);

	while (!err && bytes) {
		const uint32_t n = part(tier, at, bytes);

		err = load(tier, at, to, n, t);
		at += n;
		to += n;
		bytes -= n;
	}
	return err;
}

int annex_cxltier_store(struct annex_cxltier *tier, uint64_t at, const void *buf, size_t bytes,
			struct annex_cxlssd_time *t)
{
	const char *from = buf;
	int err = begin(tier, at, bytes, t);

	while (!err && bytes) {
		const uint32_t n = part(tier, at, bytes);

		err = store(tier, at, from, n, t);
		at += n;
		from += n;
		bytes -= n;
	}
	return err;
}

/* Clean all frames. A frame that cannot be written stays in the list. */
static int clean_all(struct annex_cxltier *tier, uint64_t now)
{
	struct frames *f = &tier->frames;
	const uint32_t n = f->n_soiled;
	int first = 0;

	f->n_soiled = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t frame = f->soiled[i];
		int err = tier_write_back(tier, frame, now, &tier->stats.fenced_bytes);

		if (err)
			f->soiled[f->n_soiled++] = frame;
		else
			f->v[frame].listed = false;
		first = first ? first : err;
	}
	return first;
}

int annex_cxltier_fence(struct annex_cxltier *tier, struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time e;
	int err, first;

	tier->last = tier_later(tier->last, t->now);
	first = clean_all(tier, t->now);
	e.now = tier_later(t->now, tier->answered) + tier->o.link_ns;
	err = annex_cxlssd_fence(tier->s, &e);
	t->told = t->done = e.done + tier->o.link_ns;
	t->load = tier->load = e.load;
	t->hit = e.hit;
	t->late = e.late;
	return first ? first : err;
}

void annex_cxltier_get_stats(const struct annex_cxltier *tier, struct annex_cxltier_stats *out)
{
	*out = tier->stats;
	out->resident = tier->frames.n_used;
}

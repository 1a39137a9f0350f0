// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <sys/mman.h>
#include "frames.h"

#define LOOK 16u                    /* frames that a search for a cold one visits */
#define HUGE_PAGE ((size_t)2 << 20) /* random accesses to frames are faster with these */

bool frames_init(struct frames *f, uint32_t n, uint32_t page)
{
	const size_t bytes = ((size_t)n * page + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;

	f->n = n;
	f->shift = (uint32_t)__builtin_ctz(page);
	f->words = (page / ANNEX_CXLSSD_LINE + 63) / 64;
	f->v = calloc(n, sizeof(*f->v));
	f->data = aligned_alloc(HUGE_PAGE, bytes);
	f->dirty = calloc((size_t)n * f->words, sizeof(*f->dirty));
	f->soiled = calloc(n, sizeof(*f->soiled));
	if (!f->v || !f->data || !f->dirty || !f->soiled)
		return false;
	madvise(f->data, bytes, MADV_HUGEPAGE); /* a wish: ordinary pages serve as well */
	for (uint32_t i = 0; i < n; i++)
		f->v[i].page = i + 1 < n ? i + 1 : FRAMES_NONE;
	return true;
}

void frames_free(struct frames *f)
{
	free(f->v);
	free(f->data);
	free(f->dirty);
	free(f->soiled);
}

uint32_t frames_take(struct frames *f, uint32_t page)
{
	const uint32_t i = f->free;

	if (i == FRAMES_NONE)
		return i;
	f->free = f->v[i].page;
	f->v[i].page = page;
	f->v[i].used = true;
	f->n_used++;
	return i;
}

void frames_give(struct frames *f, uint32_t i)
{
	f->v[i].page = f->free;
	f->v[i].used = false;
	f->free = i;
	f->n_used--;
}

uint32_t frames_coldest(struct frames *f, const struct heat *h, uint32_t count, uint64_t now)
{
	const uint32_t look = f->n < LOOK ? f->n : LOOK;
	uint32_t best = FRAMES_NONE;

	for (uint32_t k = 0; k < look; k++) {
		const uint32_t i = f->hand;
		const uint32_t own = heat_count(h, f->v[i].heat);

		f->hand = i + 1 < f->n ? i + 1 : 0;
		if (!f->v[i].used || f->v[i].ready > now || own > count ||
		    (own == count && best != FRAMES_NONE))
			continue;
		best = i;
		count = own;
	}
	return best;
}

void frames_mark_dirty(struct frames *f, uint32_t i, uint32_t from, uint32_t bytes)
{
	uint64_t *dirty = f->dirty + (size_t)i * f->words;

	for (uint32_t line = from / ANNEX_CXLSSD_LINE;
	     line <= (from + bytes - 1) / ANNEX_CXLSSD_LINE; line++)
		dirty[line / 64] |= 1ull << line % 64;
	if (f->v[i].listed)
		return;
	f->v[i].listed = true;
	f->soiled[f->n_soiled++] = i;
}

bool frames_run(const struct frames *f, uint32_t i, uint32_t *first, uint32_t *end)
{
	const uint64_t *dirty = f->dirty + (size_t)i * f->words;
	const uint32_t lines = (1u << f->shift) / ANNEX_CXLSSD_LINE;
	uint32_t line = *end;

	while (line < lines && !(dirty[line / 64] >> line % 64 & 1))
		line++;
	*first = line;
	while (line < lines && dirty[line / 64] >> line % 64 & 1)
		line++;
	*end = line;
	return *first < line;
}

void frames_mark_clean(struct frames *f, uint32_t i, uint32_t first, uint32_t end)
{
	uint64_t *dirty = f->dirty + (size_t)i * f->words;

	for (uint32_t line = first; line < end; line++)
		dirty[line / 64] &= ~(1ull << line % 64);
}

// SPDX-License-Identifier: MIT
#include "link.h"

#define PAGES (ANNEX_SERVE_ARENA / 4096)

static bool is_used(const struct emu_link *l, uint32_t page)
{
	return l->map[page / 64] >> page % 64 & 1;
}

static void mark(struct emu_link *l, uint32_t page, uint32_t pages)
{
	for (uint32_t i = page; i < page + pages; i++)
		l->map[i / 64] ^= 1ull << i % 64;
}

/* The first page of so many free ones, between two pages. */
static uint32_t find(const struct emu_link *l, uint32_t from, uint32_t to, uint32_t pages)
{
	uint32_t run = 0;

	for (uint32_t i = from; i < to; i++) {
		if (!(i % 64) && l->map[i / 64] == UINT64_MAX) {
			run = 0;
			i += 63;
			continue;
		}
		run = is_used(l, i) ? 0 : run + 1;
		if (run == pages)
			return i + 1 - pages;
	}
	return UINT32_MAX;
}

uint32_t annex_emu_arena_take(struct emu_link *l, uint32_t pages)
{
	uint32_t page = find(l, l->page, PAGES, pages);

	if (page == UINT32_MAX)
		page = find(l, 0, PAGES, pages);
	if (page == UINT32_MAX)
		return page;
	mark(l, page, pages);
	/* Not the coldest: what was used last is still in the processor's caches. */
	l->page = page + pages < PAGES / 8 ? page + pages : 0;
	return page;
}

void annex_emu_arena_give(struct emu_link *l, uint32_t page, uint32_t pages)
{
	mark(l, page, pages);
}

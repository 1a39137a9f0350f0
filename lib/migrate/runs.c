// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "runs.h"

#define BITS 64u

int annex_runs_init(struct runs *r, uint32_t n, bool low)
{
	size_t words = (n + BITS - 1) / BITS + 1;

	*r = (struct runs){.n = n, .free = n, .low = low};
	r->taken = calloc(3 * words, sizeof(*r->taken));
	r->written = r->taken ? r->taken + words : NULL;
	r->suspect = r->taken ? r->written + words : NULL;
	return r->taken ? 0 : -ENOMEM;
}

void annex_runs_fini(struct runs *r)
{
	free(r->taken);
	r->taken = NULL;
}

static bool is_taken(const struct runs *r, uint32_t i)
{
	return r->taken[i / BITS] >> i % BITS & 1;
}

/* Pages that count as allocated, too. */
#define SUSPECT 1u
#define UNWRITTEN 2u

/* The first allocated (or free) page from @i on, below @end; @end: none. @but: bits of these. */
static uint32_t find(const struct runs *r, uint32_t i, uint32_t end, bool taken, unsigned int but)
{
	while (i < end) {
		uint64_t word = r->taken[i / BITS];

		word |= but & SUSPECT ? r->suspect[i / BITS] : 0;
		word |= but & UNWRITTEN ? ~r->written[i / BITS] : 0;
		word = (taken ? word : ~word) >> i % BITS;
		if (word) {
			i += (uint32_t)__builtin_ctzll(word);
			return i < end ? i : end;
		}
		i = (i / BITS + 1) * BITS;
	}
	return end;
}

/* The first run of at least @least free pages in [@from, @end), at most @want; 0: none. */
static uint32_t search(const struct runs *r, uint32_t from, uint32_t end, uint32_t least,
		       uint32_t want, uint32_t *first, unsigned int but)
{
	while ((from = find(r, from, end, false, but)) < end) {
		uint32_t limit = end - from < want ? end : from + want;
		uint32_t stop = find(r, from, limit, true, but);

		if (stop - from >= least) {
			*first = from;
			return stop - from;
		}
		from = stop;
	}
	return 0;
}

/* Page from which searches return to the first page, unless free pages below are too scattered. */
static uint32_t window(const struct runs *r)
{
	uint64_t pages = 2 * (uint64_t)(r->n - r->free) + RUNS_SLACK;

	return r->low || pages > r->n ? r->n : (uint32_t)pages;
}

static void mark(uint64_t *map, uint32_t first, uint32_t end, bool on)
{
	for (uint32_t i = first; i < end; i++) {
		uint64_t bit = 1ull << i % BITS;

		map[i / BITS] = on ? map[i / BITS] | bit : map[i / BITS] & ~bit;
	}
}

static void set_taken(struct runs *r, uint32_t first, uint32_t n)
{
	mark(r->taken, first, first + n, true);
	r->free -= n;
}

/* As search(), from the hand on, then from the first page: a run may begin before the hand and end
 * after it. */
static uint32_t turn(const struct runs *r, uint32_t end, uint32_t least, uint32_t want,
		     uint32_t *first, unsigned int but)
{
	uint32_t n = search(r, r->hand, end, least, want, first, but);

	return n ? n : search(r, 0, end, least, want, first, but);
}

static uint32_t take(struct runs *r, uint32_t least, uint32_t want, uint32_t *first)
{
	uint32_t n = 0;

	if (!want || r->free < least)
		return 0;
	if (r->full)
		n = turn(r, r->n, least, want, first, UNWRITTEN | SUSPECT);
	if (!n)
		n = turn(r, window(r), least, want, first, SUSPECT);
	if (!n)
		n = search(r, 0, r->n, least, want, first, SUSPECT);
	if (!n)
		n = turn(r, r->n, least, want, first, 0);
	set_taken(r, *first, n);
	if (n)
		r->hand = *first + n;
	return n;
}

uint32_t annex_runs_take(struct runs *r, uint32_t want, uint32_t *first)
{
	*first = 0;
	return take(r, 1, want, first);
}

uint32_t annex_runs_take_all(struct runs *r, uint32_t want, uint32_t *first)
{
	*first = 0;
	return take(r, want, want, first);
}

uint32_t annex_runs_take_here(struct runs *r, uint32_t first, uint32_t n, bool *free)
{
	*free = !is_taken(r, first);
	n = find(r, first, first + n, *free, 0) - first;
	if (*free)
		set_taken(r, first, n);
	return n;
}

void annex_runs_give(struct runs *r, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		if (is_taken(r, i)) {
			r->taken[i / BITS] &= ~(1ull << i % BITS);
			r->free++;
		}
	if (r->low && first < r->hand)
		r->hand = first;
}

void annex_runs_wrote(struct runs *r, uint32_t first, uint32_t n)
{
	mark(r->written, first, first + n, true);
	mark(r->suspect, first, first + n, false);
}

void annex_runs_failed(struct runs *r, uint32_t first, uint32_t n)
{
	uint32_t end = n < r->n - first ? first + n : r->n;

	mark(r->suspect, first, end, true);
	r->hand = end;
}

// SPDX-License-Identifier: MIT
/*
 * Runs of pages: disjoint, and not far above the number of pages that are taken.
 */
#include <string.h>
#include "migrate/runs.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGES (1u << 18)
#define PIECES 64u
#define ROUNDS 4000u

struct piece {
	uint32_t first, n;
};

static uint8_t taken[PAGES];

static void mark(const struct piece *p, uint8_t from, uint8_t to)
{
	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		if (taken[i] != from)
			CU_FAIL("a page that is taken twice, or was not taken");
		taken[i] = to;
	}
}

/* Return: the page behind it. */
static uint32_t renew(struct runs *r, struct piece *p, uint64_t *state)
{
	if (p->n) {
		mark(p, 1, 0);
		annex_runs_give(r, p->first, p->n);
		p->n = 0;
	} else {
		p->n = annex_runs_take(r, 1 + (uint32_t)(random_next(state) % 256), &p->first);
		mark(p, 0, 1);
	}
	return p->first + p->n;
}

/* However long pages come and go, and whatever the tier's size, few are ever used. */
static void few_are_used(void)
{
	uint64_t state = random_seed("runs few");
	struct piece pieces[PIECES] = {{0}};
	uint32_t high = 0, most = 0;
	struct runs r;

	memset(taken, 0, sizeof(taken));
	CU_ASSERT_EQUAL_FATAL(annex_runs_init(&r, PAGES, false), 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint32_t end = renew(&r, &pieces[random_next(&state) % PIECES], &state);

		high = end > high ? end : high;
		most = r.n - r.free > most ? r.n - r.free : most;
	}
	CU_ASSERT(high <= 2 * most + RUNS_SLACK);
	annex_runs_fini(&r);
}

/* Each page can be taken, also behind the pages where searches go round. */
static void all_can_be_taken(void)
{
	uint32_t first, n, sum = 0;
	struct runs r;

	CU_ASSERT_EQUAL_FATAL(annex_runs_init(&r, PAGES, false), 0);
	CU_ASSERT_EQUAL(annex_runs_take_all(&r, PAGES + 1, &first), 0);
	CU_ASSERT_EQUAL(annex_runs_take_all(&r, PAGES / 2, &first), PAGES / 2);
	while ((n = annex_runs_take(&r, 100, &first)))
		sum += n;
	CU_ASSERT_EQUAL(sum, PAGES / 2);
	CU_ASSERT_EQUAL(r.free, 0);
	/* Every second page is free, and then the last two, which are the only neighbours. */
	for (uint32_t i = 0; i < PAGES; i += 2)
		annex_runs_give(&r, i, 1);
	annex_runs_give(&r, PAGES - 1, 1);
	CU_ASSERT_EQUAL(annex_runs_take_all(&r, 2, &first), 2);
	CU_ASSERT_EQUAL(first, PAGES - 2);
	annex_runs_fini(&r);
}

UNIT_SUITE(runs, {"few are used", few_are_used}, {"all can be taken", all_can_be_taken})

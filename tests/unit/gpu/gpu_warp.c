// SPDX-License-Identifier: MIT
/*
 * Communication between lanes of warps, in all divergences.
 */
#include <stdlib.h>
#include <annex/warp.h>
#include "tests/unit/random.h"
#include "twin.h"
#include "tests/unit/unit.h"

#define WARPS 6u
#define ROUNDS 100u

struct votes {
	uint64_t value[WARPS][ANNEX_WARP_LANES]; /* each lane's own, of its current round */
	uint64_t seed;
	unsigned int wrong;
};

/* What match, shuffle and ballot should give, from the values of the lanes in the mask. */
static bool is_right(const uint64_t *value, uint32_t mask)
{
	uint64_t mine = annex_atomic_load(&value[annex_lane()], ANNEX_RELAXED);
	uint32_t same = annex_warp_match(mask, mine), odd = annex_warp_ballot(mask, mine & 1);
	uint32_t last = 31 - (uint32_t)__builtin_clz(mask);
	bool right = mask >> annex_lane() & 1;

	for (uint32_t i = 0; i < ANNEX_WARP_LANES; i++) {
		uint64_t other = annex_atomic_load(&value[i], ANNEX_RELAXED);
		bool in = mask >> i & 1;

		right &= (same >> i & 1) == (in && other == mine);
		right &= (odd >> i & 1) == (in && other & 1);
	}
	right &= annex_warp_shfl(mask, mine, annex_warp_first(same)) == mine;
	right &= annex_warp_shfl(mask, mine, last) ==
		 annex_atomic_load(&value[last], ANNEX_RELAXED);
	annex_warp_sync(mask); /* all lanes must have read the value before it changes */
	return right;
}

/* Lanes that are in different rounds may well meet. */
static void vote(void *arg, unsigned int thread)
{
	struct votes *v = arg;
	uint64_t *value = v->value[thread / ANNEX_WARP_LANES], random = v->seed + thread;

	for (unsigned int r = 0; r < ROUNDS; r++) {
		uint64_t mine = random_next(&random) % 5;

		annex_atomic_store(&value[annex_lane()], mine, ANNEX_RELAXED);
		if (mine == 0) /* some take another way, and come late */
			annex_warp_pause();
		if (!is_right(value, annex_warp_active()))
			annex_atomic_add(&v->wrong, 1, ANNEX_RELAXED);
	}
}

static void vote_test(void)
{
	uint64_t seed = random_seed("votes");
	struct twin_grid grid = {.warps = WARPS, .per_block = 2, .tail = 11, .seed = seed};
	struct votes *v = calloc(1, sizeof(*v));

	CU_ASSERT_PTR_NOT_NULL_FATAL(v);
	v->seed = seed;
	twin_run(&grid, vote, v);
	CU_ASSERT_EQUAL(v->wrong, 0);
	free(v);
}

/* What a lane stores in plain memory before a sync, all others see after it. */
static void pass_on(void *arg, unsigned int thread)
{
	unsigned int warp = thread / ANNEX_WARP_LANES, lane = thread % ANNEX_WARP_LANES;
	struct votes *v = arg;

	for (unsigned int r = 1; r <= ROUNDS; r++) {
		uint64_t sum = 0;

		v->value[warp][lane] = r * (lane + 1);
		annex_warp_sync(UINT32_MAX);
		for (unsigned int i = 0; i < ANNEX_WARP_LANES; i++)
			sum += v->value[warp][i];
		annex_warp_sync(UINT32_MAX);
		if (sum != r * (ANNEX_WARP_LANES * (ANNEX_WARP_LANES + 1) / 2))
			annex_atomic_add(&v->wrong, 1, ANNEX_RELAXED);
	}
}

static void sync_test(void)
{
	struct twin_grid grid = {.warps = WARPS, .per_block = 1, .seed = random_seed("sync")};
	struct votes *v = calloc(1, sizeof(*v));

	CU_ASSERT_PTR_NOT_NULL_FATAL(v);
	twin_run(&grid, pass_on, v);
	CU_ASSERT_EQUAL(v->wrong, 0);
	free(v);
}

/* Without a twin a thread is a warp of one lane. */
static void alone_test(void)
{
	CU_ASSERT_EQUAL(annex_warp_active(), 1);
	CU_ASSERT_EQUAL(annex_lane(), 0);
	CU_ASSERT_EQUAL(annex_warp_match(1, 7), 1);
	CU_ASSERT_EQUAL(annex_warp_shfl(1, 7, 0), 7);
	CU_ASSERT_EQUAL(annex_warp_ballot(1, true), 1);
	CU_ASSERT_EQUAL(annex_warp_ballot(1, false), 0);
}

UNIT_SUITE(gpu_warp, {"match, shuffle, ballot of lanes that part", vote_test},
	   {"sync orders memory", sync_test}, {"one thread alone", alone_test})

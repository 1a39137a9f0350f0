// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first pass of a radix sort that starts at the highest digit and makes one bucket at a time:
 * counts of each tile of keys, prefix sums over the counts, and moves of the keys with the lowest
 * digit to the first bucket. The keys of a tile are in order, like runs of an external sort, so
 * the bucket takes the first keys of each tile. Each line of keys misses the cache about once, and
 * a bucket has a sixteenth of the keys: about 6 % of the requests to memory are writes.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky.h"

#define TILES 1055u /* at scale 1 */
#define TILE 1024u  /* keys of 8 bytes */
#define DIGITS 16u
#define SHIFT 60u /* of the highest digit */

/*
 * struct radix - Layout in @data.
 * @keys: u64: tiles.
 * @counts: u32 of each tile and digit: number of keys, later their place.
 * @totals: u32 of each digit: number of keys.
 * @bucket: u64: the keys with digit 0.
 * @size: number of keys with digit 0.
 */
struct radix {
	uint32_t tiles;
	uint32_t size;
	uint64_t keys;
	uint64_t counts;
	uint64_t totals;
	uint64_t bucket;
};

static uint32_t digit(uint64_t key)
{
	return key >> SHIFT;
}

/* Fill a tile in order, with about as many keys for each digit. Return: keys with digit 0. */
static uint32_t fill_tile(uint64_t *key, uint64_t *state)
{
	uint32_t count[DIGITS] = {0}, at = 0;

	for (uint32_t i = 0; i < TILE; i++)
		count[sky_below(state, DIGITS)]++;
	for (uint64_t d = 0; d < DIGITS; d++)
		for (uint32_t i = 0; i < count[d]; i++)
			key[at++] = d << SHIFT | annex_random(state) >> (64 - SHIFT);
	return count[0];
}

static int make(struct work *w)
{
	struct radix *r = sky_own(w, sizeof(*r));
	uint64_t state = w->seed ^ 0x4ad;
	uint64_t *key;
	int err;

	if (!r)
		return -ENOMEM;
	r->tiles = sky_scaled(w, TILES, 1);
	r->counts = (uint64_t)r->tiles * TILE * 8;
	r->totals = r->counts + r->tiles * DIGITS * 4ull;
	r->bucket = r->totals + DIGITS * 4;
	/* A tenth more than the mean size of the bucket, and two pages. */
	err = work_alloc(w, r->bucket + r->tiles * TILE * 8ull / DIGITS * 11 / 10 + 8192);
	if (err)
		return err;
	key = (uint64_t *)w->data;
	for (uint32_t t = 0; t < r->tiles; t++)
		r->size += fill_tile(key + (uint64_t)t * TILE, &state);
	return 0;
}

static uint64_t at_count(const struct radix *r, uint32_t tile, uint32_t d)
{
	return r->counts + (tile * DIGITS + d) * 4ull;
}

static void count_tile(const struct radix *r, struct lane *l, uint32_t tile)
{
	uint64_t at = r->keys + (uint64_t)tile * TILE * 8;
	uint32_t count[DIGITS] = {0};

	for (uint32_t i = 0; i < TILE; i++)
		count[digit(lane_load64(l, at + i * 8))]++;
	lane_ops(l, 5 * TILE);
	for (uint32_t d = 0; d < DIGITS; d++)
		lane_store32(l, at_count(r, tile, d), count[d]);
	lane_ops(l, 2 * DIGITS);
}

/* Prefix sums of a digit over the tiles. */
static void place_digit(const struct radix *r, struct lane *l, uint32_t d)
{
	uint32_t sum = 0;

	for (uint32_t tile = 0; tile < r->tiles; tile++) {
		uint32_t count = lane_load32(l, at_count(r, tile, d));

		lane_store32(l, at_count(r, tile, d), sum);
		sum += count;
		lane_ops(l, 4);
	}
	lane_store32(l, r->totals + d * 4, sum);
}

static void move_bucket(const struct radix *r, struct lane *l, uint32_t tile)
{
	uint64_t from = r->keys + (uint64_t)tile * TILE * 8;
	uint32_t to = lane_load32(l, at_count(r, tile, 0));
	uint32_t end = tile + 1 < r->tiles ? lane_load32(l, at_count(r, tile + 1, 0))
					   : lane_load32(l, r->totals);

	for (; to < end; to++, from += 8) {
		lane_store64(l, r->bucket + to * 8ull, lane_load64(l, from));
		lane_ops(l, 4);
	}
}

static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct radix *r = w->own;

	for (uint32_t tile = id; tile < r->tiles; tile += w->lanes)
		count_tile(r, l, tile);
	lane_barrier(l);
	for (uint32_t d = id; d < DIGITS; d += w->lanes)
		place_digit(r, l, d);
	lane_barrier(l);
	for (uint32_t tile = id; tile < r->tiles; tile += w->lanes)
		move_bucket(r, l, tile);
}

static bool check(const struct work *w)
{
	const struct radix *r = w->own;
	const uint64_t *key = (const uint64_t *)(w->first + r->keys);
	const uint64_t *bucket = (const uint64_t *)(w->data + r->bucket);
	const uint32_t *place = (const uint32_t *)(w->data + r->counts);
	uint32_t total[DIGITS] = {0}, filled = 0;

	for (uint32_t t = 0; t < r->tiles; t++, key += TILE) {
		for (uint32_t d = 0; d < DIGITS; d++)
			if (*place++ != total[d])
				return false;
		for (uint32_t i = 0; i < TILE; i++) {
			if (!digit(key[i]) && bucket[filled++] != key[i])
				return false;
			total[digit(key[i])]++;
		}
	}
	if (!sky_same(w, r->keys, w->first + r->keys, (uint64_t)r->tiles * TILE * 8))
		return false;
	return filled == r->size && sky_same(w, r->totals, total, sizeof(total));
}

/* At scale 1: 8.9 MiB, 156,000 lines are missed, 6 % of the requests to memory write. */
const struct work_kind work_radix = {
	.name = "radix",
	.summary = "first bucket of a radix sort: counts, prefix sums, moves",
	.set = "skybyte",
	.work = 11.42,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};

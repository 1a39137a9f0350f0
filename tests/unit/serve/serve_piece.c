// SPDX-License-Identifier: MIT
/*
 * The size of pieces beside clients that go first, on simulated devices: a device is a function
 * from bytes of others in flight to the time of a command.
 */
#include <string.h>
#include "tests/unit/random.h"
#include "serve/piece.h"
#include "tests/unit/unit.h"

#define KIB 1024ull
#define US 1000ull
#define BLOCK 512u
#define MOST (512 * KIB)
#define BEGIN 64u    /* rounds in which a size is found */
#define ROUNDS 2000u /* rounds in which it is kept */

/**
 * struct disk - A device that has one piece of others beside each command.
 * @alone: ns of a command that runs alone, and a tenth more at random.
 * @per_kib: ns of a KiB of others, of which the command waits for a random part.
 * @cliff: bytes of others above which the device takes 10 ms; 0: none.
 * @stalls: of 1000 commands, alone or not, so many take 50 times as long.
 * @beside: likewise, of those beside others only.
 */
struct disk {
	uint64_t alone, per_kib, cliff;
	unsigned int stalls, beside;
};

/* struct tally - @at: rounds at each power of two. @late: commands that took more than @bound. */
struct tally {
	unsigned int at[32];
	uint64_t late, all, bound;
};

static uint64_t part(uint64_t *seed, uint64_t of)
{
	return of ? random_next(seed) % (of + 1) : 0;
}

static uint64_t take(const struct disk *d, uint64_t *seed, uint64_t others)
{
	uint64_t ns = d->alone + part(seed, d->alone / 10);

	ns += part(seed, others / KIB * d->per_kib);
	if (d->cliff && others > d->cliff)
		ns += 10000 * US;
	return random_next(seed) % 1000 < d->stalls + (others ? d->beside : 0) ? 50 * ns : ns;
}

static void one_round(struct piece *p, const struct disk *d, uint64_t *seed, struct tally *t)
{
	t->at[63 - __builtin_clzll(p->bytes)]++;
	for (unsigned int i = 0; i < PIECE_ROUND; i++) {
		const uint64_t ns = take(d, seed, p->bytes);

		t->late += ns > t->bound;
		t->all++;
		serve_piece_beside(p, true, ns);
		if (i % PIECE_ALONE == 0)
			serve_piece_alone(p, take(d, seed, 0));
	}
}

static void run_alone(struct piece *p, const struct disk *d, uint64_t *seed)
{
	for (unsigned int i = 0; i < PIECE_ROUND; i++)
		serve_piece_alone(p, take(d, seed, 0));
}

static void settle(struct piece *p, const struct disk *d, uint64_t *seed)
{
	struct tally any = {.all = 0};

	for (unsigned int i = 0; i < BEGIN; i++)
		one_round(p, d, seed, &any);
}

/* The size that a device gets in 9 of 10 rounds, and within a factor of two in 99. */
static void settles(struct disk d, uint64_t bytes)
{
	/* Where stalls are more than one command in 100, the 99th percentile is one. */
	struct tally t = {.bound = (d.stalls < 10 ? 2 : 100) * (d.alone + d.alone / 10)};
	uint64_t seed = random_seed("serve_piece");
	const unsigned int at = 63 - (unsigned int)__builtin_clzll(bytes);
	struct piece p;

	serve_piece_init(&p, BLOCK, MOST);
	run_alone(&p, &d, &seed);
	settle(&p, &d, &seed);
	for (unsigned int i = 0; i < ROUNDS; i++)
		one_round(&p, &d, &seed, &t);
	CU_ASSERT(t.at[at] >= ROUNDS * 9 / 10);
	CU_ASSERT(t.at[at - 1] + t.at[at] + t.at[at + 1] >= ROUNDS * 99 / 100);
	/* The bound is for 99 of 100 commands that the device does not stall by itself. */
	CU_ASSERT(t.late * 1000 <= t.all * (10 + d.stalls + d.beside));
}

static void fast(void)
{
	settles((struct disk){.alone = 80 * US, .per_kib = 150}, MOST);
}

/* 300 MB/s: 16 KiB add 54 us at most, 32 KiB 109 us, 64 KiB 218 us. */
static void slow(void)
{
	settles((struct disk){.alone = 170 * US, .per_kib = 3400}, 32 * KIB);
}

static void cliff(void)
{
	settles((struct disk){.alone = 100 * US, .per_kib = 100, .cliff = 64 * KIB}, 64 * KIB);
}

/* Stalls that have nothing to do with pieces change nothing. */
static void noise(void)
{
	settles((struct disk){.alone = 170 * US, .per_kib = 3400, .stalls = 1}, 32 * KIB);
	settles((struct disk){.alone = 80 * US, .per_kib = 150, .stalls = 1}, MOST);
	settles((struct disk){.alone = 170 * US, .per_kib = 2600, .stalls = 40}, 64 * KIB);
}

/* Stalls beside others at any size: smaller pieces would not help. */
static void blameless(void)
{
	settles((struct disk){.alone = 170 * US, .per_kib = 10, .beside = 150}, PIECE_START);
	settles((struct disk){.alone = 170 * US, .per_kib = 10, .beside = 700}, PIECE_START);
}

/* A device that becomes another one. */
static void changes(void)
{
	const struct disk quick = {.alone = 80 * US, .per_kib = 150},
			  tired = {.alone = 170 * US, .per_kib = 30000};
	uint64_t seed = random_seed("serve_piece changes");
	struct piece p;

	serve_piece_init(&p, BLOCK, MOST);
	for (unsigned int i = 0; i < 3; i++) {
		run_alone(&p, &quick, &seed);
		settle(&p, &quick, &seed);
		CU_ASSERT_EQUAL(p.bytes, MOST);
		run_alone(&p, &tired, &seed);
		settle(&p, &tired, &seed);
		CU_ASSERT_EQUAL(p.bytes, 4 * KIB);
	}
}

static void check_bounds(const struct piece *p, uint64_t grain, uint64_t most)
{
	CU_ASSERT(p->bytes >= grain && p->bytes <= most);
	CU_ASSERT_EQUAL(p->bytes % grain, 0);
}

/* Impossible times, then the times of a device. */
static void hostile(void)
{
	static const uint64_t times[] = {
		0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX - 1, UINT64_MAX};
	const struct disk d = {.alone = 170 * US, .per_kib = 3400};
	uint64_t seed = random_seed("serve_piece hostile");
	struct piece p;

	serve_piece_init(&p, BLOCK, MOST);
	for (unsigned int i = 0; i < 100 * PIECE_ROUND; i++) {
		serve_piece_alone(&p, times[random_next(&seed) % 6]);
		serve_piece_beside(&p, i % 3, times[random_next(&seed) % 6]);
		check_bounds(&p, 4 * KIB, MOST);
	}
	run_alone(&p, &d, &seed);
	settle(&p, &d, &seed);
	CU_ASSERT_EQUAL(p.bytes, 32 * KIB);
}

static void feed(struct piece *p, unsigned int rounds, bool full, uint64_t ns)
{
	for (unsigned int i = 0; i < rounds * PIECE_ROUND; i++)
		serve_piece_beside(p, full, ns);
}

/* Without times alone there is nothing to compare with; zero is a time. */
static void unknown(void)
{
	struct piece p;

	serve_piece_init(&p, BLOCK, MOST);
	feed(&p, 10, true, UINT64_MAX);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
	for (unsigned int i = 0; i + 1 < PIECE_ROUND; i++)
		serve_piece_alone(&p, 0);
	feed(&p, 10, true, UINT64_MAX);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
	serve_piece_alone(&p, 0);
	feed(&p, 1, true, 0);
	CU_ASSERT_EQUAL(p.bytes, 2 * PIECE_START);
	feed(&p, 1, true, 1);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
}

/* Others that leave room shrink the size, and do not raise it. */
static void unused(void)
{
	struct piece p;

	serve_piece_init(&p, BLOCK, MOST);
	for (unsigned int i = 0; i < PIECE_ROUND; i++)
		serve_piece_alone(&p, 100 * US);
	feed(&p, 10 * PIECE_CALM, false, 100 * US);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
	feed(&p, 1, false, 1000 * US);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START / 2);
}

/* Between one half more and twice: it waits for PIECE_CALM rounds. */
static void band(void)
{
	const uint64_t alone = 100 * US;
	struct piece p;

	serve_piece_init(&p, BLOCK, MOST);
	for (unsigned int i = 0; i < PIECE_ROUND; i++)
		serve_piece_alone(&p, alone);
	feed(&p, PIECE_CALM - 1, true, 2 * alone);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
	feed(&p, 1, true, 2 * alone);
	CU_ASSERT_EQUAL(p.bytes, 2 * PIECE_START);
	/* More than one in a hundred of a round show that this is too much. */
	for (unsigned int i = 0; i <= PIECE_ROUND / 100; i++) {
		CU_ASSERT_EQUAL(p.bytes, 2 * PIECE_START);
		serve_piece_beside(&p, true, 2 * alone + 1);
	}
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
	/* It is not tried again at once. */
	feed(&p, PIECE_CALM - 1, true, alone);
	CU_ASSERT_EQUAL(p.bytes, PIECE_START);
	feed(&p, 2, true, alone * 3 / 2);
	CU_ASSERT_EQUAL(p.bytes, MOST);
}

/* Sizes of blocks and of largest commands that are no powers of two, or below the first size. */
static void bounds(void)
{
	static const struct {
		uint64_t block, most, grain;
	} all[] = {{512, 508 * KIB, 4096}, {4096, 4096, 4096},   {512, 4096, 4096},
		   {65536, 65536, 65536},  {16384, MOST, 16384}, {512, 132 * KIB, 4096}};
	struct piece p;

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		serve_piece_init(&p, all[i].block, all[i].most);
		for (unsigned int j = 0; j < PIECE_ROUND; j++)
			serve_piece_alone(&p, 1000);
		for (unsigned int j = 0; j < 20 + 2 * PIECE_CALM; j++) {
			check_bounds(&p, all[i].grain, all[i].most);
			feed(&p, 1, true, j < 10 || j >= 20 ? 1000 : 5000);
		}
		CU_ASSERT_EQUAL(p.bytes, all[i].most);
	}
}

/* Fewer than one turn in a hundred runs alone once times alone are known, at no even distance. */
static void turns(void)
{
	struct piece p;
	unsigned int n = 0;

	serve_piece_init(&p, BLOCK, MOST);
	for (unsigned int i = 0; i < 300; i++)
		n += serve_piece_turn(&p);
	CU_ASSERT_EQUAL(n, 100);
	for (unsigned int i = 0; i < PIECE_ROUND; i++)
		serve_piece_alone(&p, 1);
	n = 0;
	for (unsigned int i = 0; i < 100 * PIECE_ALONE; i++)
		n += serve_piece_turn(&p);
	CU_ASSERT_EQUAL(n, 100);
	CU_ASSERT(PIECE_ALONE > 100 && PIECE_ALONE % 2);
}

UNIT_SUITE(serve_piece, {"a fast device", fast}, {"a slow one", slow}, {"one with a cliff", cliff},
	   {"noise", noise}, {"noise beside others", blameless}, {"one that changes", changes},
	   {"times that no device has", hostile}, {"nothing to compare with", unknown},
	   {"others that leave room", unused}, {"hysteresis", band}, {"bounds", bounds},
	   {"turns that run alone", turns})

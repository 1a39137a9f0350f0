// SPDX-License-Identifier: MIT
/*
 * The flash translation layer of a CXL-SSD: on flash that checks its operations, and compared with
 * known results about greedy collection.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "models/ssd/ftl.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/*
 * struct chip - Flash that keeps one word for each page. @next: the page of each block that may be
 * programmed now. @word: word of the current write. @wrong: an operation that flash does not allow.
 * @pages, @orders: the logical page of each page, and its turn among all programs.
 * @left: programs until one fails; all of them fail from then on.
 */
struct chip {
	struct ssd_geometry g;
	struct ftl *f;
	uint64_t *words, *orders;
	uint32_t *next, *pages;
	uint64_t word, order;
	uint64_t wrong;
	uint32_t left;
};

static int program(void *ctx, uint32_t to, uint32_t from, uint32_t logical)
{
	struct chip *c = ctx;
	uint32_t block = to / c->g.pages, page = to % c->g.pages;

	if (!c->left)
		return -EIO;
	c->left--;
	c->wrong += page != c->next[block]++;
	c->wrong += from != FTL_NONE &&
		    from / (c->g.pages * c->g.blocks) != to / (c->g.pages * c->g.blocks);
	c->wrong += from != FTL_NONE && c->pages[from] != logical;
	c->words[to] = from == FTL_NONE ? c->word : c->words[from];
	c->pages[to] = logical;
	c->orders[to] = ++c->order;
	return 0;
}

static void erase(void *ctx, uint32_t block)
{
	struct chip *c = ctx;

	c->wrong += c->next[block] != c->g.pages;
	c->next[block] = 0;
	for (uint32_t i = 0; i < c->g.pages; i++)
		c->words[(size_t)block * c->g.pages + i] = UINT64_MAX;
}

static const struct ftl_ops ops = {program, erase, NULL};

static struct chip make(const struct ssd_geometry *g, uint32_t logical)
{
	struct chip c = {.g = *g, .left = UINT32_MAX};
	size_t n = (size_t)ssd_blocks(g) * g->pages;

	c.words = calloc(n, sizeof(*c.words));
	c.orders = calloc(n, sizeof(*c.orders));
	c.pages = calloc(n, sizeof(*c.pages));
	c.next = calloc(ssd_blocks(g), sizeof(*c.next));
	CU_ASSERT_FATAL(c.words && c.orders && c.pages && c.next);
	CU_ASSERT_EQUAL_FATAL(ssd_geometry_check(g, (uint64_t)logical * g->page), 0);
	return c;
}

static void start(struct chip *c, uint32_t logical)
{
	c->f = ftl_create(&c->g, logical, &ops, c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c->f);
}

static void end(struct chip *c)
{
	CU_ASSERT_EQUAL(c->wrong, 0);
	ftl_destroy(c->f);
	free(c->words);
	free(c->orders);
	free(c->pages);
	free(c->next);
}

/* Write amplification is one until something has to be collected, which is told before. */
static void write_one(struct chip *c, uint32_t page, uint64_t word)
{
	struct ftl_stats before, after;
	bool collects = ftl_collects(c->f);

	ftl_get_stats(c->f, &before);
	c->word = word;
	CU_ASSERT_EQUAL(ftl_write(c->f, page), 0);
	ftl_get_stats(c->f, &after);
	CU_ASSERT_EQUAL(after.written, before.written + 1);
	CU_ASSERT_EQUAL(after.erased > before.erased, collects);
}

static uint32_t most_pages(const struct ssd_geometry *g)
{
	return ssd_planes(g) * (g->blocks - FLASH_FREE - 1) * g->pages;
}

static struct ssd_geometry any_flash(uint64_t *rng)
{
	return (struct ssd_geometry){
		.channels = 1 + (uint32_t)(random_next(rng) % 3),
		.dies = 1 + (uint32_t)(random_next(rng) % 2),
		.planes = 1 + (uint32_t)(random_next(rng) % 2),
		.blocks = FLASH_FREE + 2 + (uint32_t)(random_next(rng) % 6),
		.pages = 1 + (uint32_t)(random_next(rng) % 8),
		.page = 512,
	};
}

/* Random flash, as full as it may be or less; a plain array says what each page holds. */
static void beside_an_array(void)
{
	uint64_t rng = random_seed("ftl");

	for (unsigned int round = 0; round < 60; round++) {
		struct ssd_geometry g = any_flash(&rng);
		uint32_t most = most_pages(&g), valid = 0;
		uint32_t logical = round % 2 ? most : 1 + (uint32_t)(random_next(&rng) % most);
		uint64_t *held = calloc(logical, sizeof(*held)); /* 0: nothing */
		struct chip c = make(&g, logical);
		struct ftl_stats stats;

		CU_ASSERT_PTR_NOT_NULL_FATAL(held);
		start(&c, logical);
		for (unsigned int i = 1; i <= 2000; i++) {
			uint32_t page = (uint32_t)(random_next(&rng) % logical);
			uint32_t other = (uint32_t)(random_next(&rng) % logical), at;

			if (random_next(&rng) % 8) {
				write_one(&c, page, i);
				valid += !held[page];
				held[page] = i;
			} else {
				ftl_trim(c.f, page);
				valid -= !!held[page];
				held[page] = 0;
			}
			at = ftl_find(c.f, other);
			CU_ASSERT_EQUAL(at == FTL_NONE, !held[other]);
			CU_ASSERT(at == FTL_NONE || c.words[at] == held[other]);
		}
		for (uint32_t page = 0; page < logical; page++) {
			uint32_t at = ftl_find(c.f, page);

			CU_ASSERT_EQUAL(at == FTL_NONE ? 0 : c.words[at], held[page]);
		}
		ftl_get_stats(c.f, &stats);
		CU_ASSERT_EQUAL(stats.valid, valid);
		free(held);
		end(&c);
	}
}

/* The newest copy of each logical page, from the flash alone. */
static void restore(struct chip *c, uint32_t logical)
{
	size_t n = (size_t)ssd_blocks(&c->g) * c->g.pages;
	uint32_t *newest = calloc(logical, sizeof(*newest)); /* its place + 1 */
	uint32_t *holds = malloc(n * sizeof(*holds)), *worn = calloc(n, sizeof(*worn));
	const struct ftl_found found = {holds, c->next, worn};

	CU_ASSERT_FATAL(newest && holds && worn);
	for (uint32_t at = 0; at < n; at++) {
		uint32_t *best = &newest[c->pages[at]];

		holds[at] = FTL_NONE;
		if (at % c->g.pages >= c->next[at / c->g.pages])
			continue;
		if (!*best || c->orders[at] > c->orders[*best - 1])
			*best = at + 1;
	}
	for (uint32_t page = 0; page < logical; page++)
		if (newest[page])
			holds[newest[page] - 1] = page;
	start(c, logical);
	CU_ASSERT_EQUAL(ftl_restore(c->f, &found), 0);
	free(newest);
	free(holds);
	free(worn);
}

/* The power is cut again and again, most often while garbage is collected. */
static void power_cuts(void)
{
	uint64_t rng = random_seed("cuts");

	for (unsigned int round = 0; round < 60; round++) {
		struct ssd_geometry g = any_flash(&rng);
		uint32_t logical = most_pages(&g);
		uint64_t *held = calloc(logical, sizeof(*held)); /* 0: nothing */
		struct chip c = make(&g, logical);

		CU_ASSERT_PTR_NOT_NULL_FATAL(held);
		start(&c, logical);
		for (uint64_t i = 1; i <= 3000; i++) {
			uint32_t page = (uint32_t)(random_next(&rng) % logical), at;
			int err;

			if (c.left == UINT32_MAX && !(random_next(&rng) % 16))
				c.left = (uint32_t)(random_next(&rng) % (3 * g.pages));
			c.word = i;
			err = ftl_write(c.f, page);
			at = ftl_find(c.f, page);
			if (!err)
				held[page] = i;
			CU_ASSERT_EQUAL(err, err ? -EIO : 0);
			CU_ASSERT_EQUAL(at == FTL_NONE ? 0 : c.words[at], held[page]);
			if (!err)
				continue;
			ftl_destroy(c.f);
			c.left = UINT32_MAX;
			restore(&c, logical);
			for (page = 0; page < logical; page++) {
				at = ftl_find(c.f, page);
				CU_ASSERT_EQUAL(at == FTL_NONE ? 0 : c.words[at], held[page]);
			}
		}
		free(held);
		end(&c);
	}
}

/* Flash that no translation layer has left so: every page of every block is valid, or lost. */
static void impossible_state(void)
{
	const struct ssd_geometry g = {
		.channels = 1, .dies = 1, .planes = 1, .blocks = 5, .pages = 4, .page = 4096};
	uint32_t holds[20], programmed[5] = {4, 4, 4, 4, 4}, worn[5] = {0};
	const struct ftl_found found = {holds, programmed, worn};
	struct chip c = make(&g, 8);

	for (uint32_t at = 0; at < 20; at++)
		holds[at] = at % 4 ? FTL_NONE : at / 4;
	start(&c, 8);
	CU_ASSERT_EQUAL(ftl_restore(c.f, &found), -EILSEQ);
	end(&c);
}

/*
 * Write amplification of greedy collection under uniform random writes, with N pages a block
 * (Desnoyers, Analytic models of SSD write performance, ACM TOS 10(2), 2014). A block with i valid
 * pages loses one at a rate of i; in the steady state as many blocks pass each number, from N down
 * to X + 1, and are victims when they have X. So there are 1/i as many blocks with i pages as with
 * one, and the sum over them all gives X: @alpha = N ln((N + 1/2) / (X + 1/2)) / (N - X), by
 * physical pages for each logical one.
 */
static double desnoyers(double alpha, double pages)
{
	double low = 0, high = pages;

	for (unsigned int i = 0; i < 100; i++) {
		double x = (low + high) / 2;

		if (pages * log((pages + 0.5) / (x + 0.5)) / (pages - x) > alpha)
			low = x;
		else
			high = x;
	}
	return pages / (pages - low);
}

static double amplification(const struct ssd_geometry *g, uint32_t logical, uint64_t *rng)
{
	struct chip c = make(g, logical);
	struct ftl_stats before, after;
	uint32_t all = ssd_blocks(g) * g->pages;

	start(&c, logical);
	for (uint32_t i = 0; i < logical; i++)
		ftl_write(c.f, i);
	for (uint32_t i = 0; i < 4 * all; i++)
		ftl_write(c.f, (uint32_t)(random_next(rng) % logical));
	ftl_get_stats(c.f, &before);
	for (uint32_t i = 0; i < 4 * all; i++)
		ftl_write(c.f, (uint32_t)(random_next(rng) % logical));
	ftl_get_stats(c.f, &after);
	CU_ASSERT(after.least_worn > 0);
	end(&c);
	return 1 +
	       (double)(after.copied - before.copied) / (double)(after.written - before.written);
}

static void beside_desnoyers(void)
{
	const struct ssd_geometry g = {
		.channels = 4, .dies = 1, .planes = 1, .blocks = 128, .pages = 64, .page = 4096};
	const double used[] = {0.7, 0.8, 0.9};
	uint64_t rng = random_seed("amplification");

	for (unsigned int i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		double room = (double)ssd_planes(&g) * (g.blocks - FLASH_FREE) * g.pages;
		uint32_t logical = (uint32_t)(room * used[i]);
		double known = desnoyers(room / logical, g.pages);
		double is = amplification(&g, logical, &rng);

		printf(" %.0f %% used: %.3f, known %.3f ", used[i] * 100, is, known);
		CU_ASSERT(fabs(is / known - 1) < 0.1);
	}
}

static void impossible(void)
{
	const struct ssd_geometry sound = {
		.channels = 2, .dies = 2, .planes = 2, .blocks = 8, .pages = 4, .page = 4096};
	const uint64_t most = (uint64_t)most_pages(&sound) * sound.page;
	const struct {
		struct ssd_geometry g;
		uint64_t bytes;
		int err;
	} cases[] = {
		{sound, most, 0},
		{sound, most + 4096, -ENOSPC},
		{sound, 0, -EINVAL},
		{sound, 512, -EINVAL},
		{{0, 2, 2, 8, 4, 4096}, 4096, -EINVAL},
		{{2, 1025, 2, 8, 4, 4096}, 4096, -EINVAL},
		{{2, 2, UINT32_MAX, 8, 4, 4096}, 4096, -EINVAL},
		{{2, 2, 2, 8, 0, 4096}, 4096, -EINVAL},
		{{2, 2, 2, 8, 4, 3072}, 3072, -EINVAL},
		{{2, 2, 2, 8, 4, 256}, 4096, -EINVAL},
		{{2, 2, 2, 8, 4, 131072}, 131072, -EINVAL},
		{{2, 2, 2, FLASH_FREE + 1, 4, 4096}, 4096, -ENOSPC},
		{{1024, 1024, 64, 1u << 20, 1u << 16, 4096}, 4096, -ERANGE},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(ssd_geometry_check(&cases[i].g, cases[i].bytes), cases[i].err);
}

UNIT_SUITE(ssd_ftl, {"beside an array", beside_an_array}, {"beside Desnoyers", beside_desnoyers},
	   {"power cuts", power_cuts}, {"impossible flash", impossible},
	   {"impossible state", impossible_state})

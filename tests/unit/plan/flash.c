// SPDX-License-Identifier: MIT
/*
 * The page table and the flash of SSDs: against a model of single pages, and the cost of garbage
 * collection in a plan.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/simulate.h>
#include "flash/blocks.h"
#include "plan/simulate/ptes.h"
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGES 16u /* of 1 MiB in a block */
#define MOST 40u  /* blocks */
#define SSDS 2u
#define TENSORS 12u
#define SIZE 60u /* pages of a tensor */
#define LISTS (2 * (ANNEX_TIER_SSD + SSDS) - 1)
#define FREE UINT32_MAX

/*
 * struct chip - The flash of an SSD: pages of blocks, and which pages of tensors they contain;
 * erased blocks, the one that is used next first; by when each full block was filled or lost a
 * page.
 */
struct chip {
	unsigned int n, idle[MOST], n_idle, open, fill, valid;
	uint64_t full[MOST]; /* 0: it is not */
	uint32_t holds[MOST][PAGES];
};

/* struct model - Where each page of each tensor is: a list of the page table, or LISTS: nowhere. */
struct model {
	struct chip ssd[SSDS];
	unsigned int place[TENSORS * SIZE];
	uint32_t at[TENSORS * SIZE]; /* page of flash */
	uint64_t now, copied, updated;
};

static unsigned int valid(const struct chip *c, unsigned int block)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < PAGES; i++)
		n += c->holds[block][i] != FREE;
	return n;
}

static void put(struct model *m, struct chip *c, uint32_t page)
{
	if (c->open == MOST) {
		c->open = c->idle[0];
		memmove(c->idle, c->idle + 1, --c->n_idle * sizeof(*c->idle));
		c->fill = 0;
	}
	m->at[page] = c->open * PAGES + c->fill;
	c->holds[c->open][c->fill++] = page;
	if (c->fill < PAGES)
		return;
	c->full[c->open] = ++m->now;
	c->open = MOST;
}

/* Of the full blocks with the least valid pages, the one that changed last. */
static unsigned int victim(const struct chip *c)
{
	unsigned int best = MOST;

	for (unsigned int b = 0; b < c->n; b++) {
		if (!c->full[b])
			continue;
		if (best == MOST || valid(c, b) < valid(c, best) ||
		    (valid(c, b) == valid(c, best) && c->full[b] > c->full[best]))
			best = b;
	}
	return best;
}

static void collect(struct model *m, struct chip *c)
{
	unsigned int best = victim(c);

	for (unsigned int i = 0; i < PAGES; i++) {
		uint32_t page = c->holds[best][i];

		if (page == FREE)
			continue;
		put(m, c, page);
		c->holds[best][i] = FREE;
		m->copied++;
		m->updated += m->place[page] % 2 == 0;
	}
	c->full[best] = 0;
	c->idle[c->n_idle++] = best;
}

static struct chip *chip_of(struct model *m, unsigned int place)
{
	unsigned int tier = (place + 1) / 2;

	return place < LISTS && tier >= ANNEX_TIER_SSD ? &m->ssd[tier - ANNEX_TIER_SSD] : NULL;
}

static void move_page(struct model *m, uint32_t page, unsigned int to)
{
	struct chip *old = chip_of(m, m->place[page]), *new = chip_of(m, to);
	uint32_t at = m->at[page];

	if (old && old != new) {
		old->holds[at / PAGES][at % PAGES] = FREE;
		old->valid--;
		if (old->full[at / PAGES])
			old->full[at / PAGES] = ++m->now;
	}
	m->place[page] = to;
	if (!new || old == new)
		return;
	while (new->open == MOST &&new->n_idle <= FLASH_FREE)
		collect(m, new);
	put(m, new, page);
	new->valid++;
}

/* The first @n pages of a tensor in a place go to another. Returns how many there were. */
static unsigned int move_pages(struct model *m, uint32_t tensor, unsigned int from, unsigned int to,
			       unsigned int n)
{
	unsigned int moved = 0;

	for (uint32_t i = tensor * SIZE; i < (tensor + 1) * SIZE && moved < n; i++) {
		if (m->place[i] != from)
			continue;
		move_page(m, i, to);
		moved++;
	}
	return moved;
}

/* Each page is in one entry, at its place; runs are in order, and none could be longer. */
static void same_entries(const struct ptes *t, const struct model *m)
{
	unsigned int seen = 0, there = 0;

	for (uint32_t i = 0; i < TENSORS * SIZE; i++)
		there += m->place[i] != LISTS;
	for (unsigned int k = 0; k < TENSORS * LISTS; k++) {
		const struct pte_list *l = &t->lists[k];
		const struct pte_run *last = NULL;
		uint64_t bytes = 0;

		for (uint32_t i = l->first; i != PTE_NONE; i = t->runs[i].next) {
			const struct pte_run *r = &t->runs[i];
			unsigned int wrong = 0;

			for (uint64_t b = 0; b < r->bytes; b += MIB, seen++) {
				uint32_t page = k / LISTS * SIZE + (uint32_t)((r->first + b) / MIB);
				uint64_t at = (uint64_t)r->block * PTE_BLOCK + r->at + b;

				wrong += m->place[page] != k % LISTS;
				wrong += r->block != PTE_NONE && at != m->at[page] * MIB;
			}
			CU_ASSERT_EQUAL(wrong, 0);
			CU_ASSERT_EQUAL(r->block != PTE_NONE, l->tier >= ANNEX_TIER_SSD);
			CU_ASSERT(!last || last->first + last->bytes < r->first ||
				  (r->block != PTE_NONE &&
				   (last->block != r->block || last->at + last->bytes != r->at)));
			bytes += r->bytes;
			last = r;
		}
		CU_ASSERT_EQUAL(bytes, l->bytes);
	}
	CU_ASSERT_EQUAL(seen, there);
	CU_ASSERT_EQUAL(t->copied, m->copied * MIB);
	CU_ASSERT_EQUAL(t->updated, m->updated * (MIB / PTE_PAGE));
}

/* A tensor comes or goes, or pages of one go to another place where there is room for them. */
static void any_change(struct ptes *t, struct model *m, uint64_t *seed, unsigned int shown)
{
	uint32_t tensor = random_below(seed, TENSORS), n = 1 + random_below(seed, SIZE);
	unsigned int from = random_below(seed, LISTS);
	unsigned int to = random_below(seed, 2) ? from % 2 ? from + 1 : LISTS - 1
						: random_below(seed, LISTS);
	struct pte_list *lists = &t->lists[tensor * LISTS];
	struct chip *new = chip_of(m, to);
	unsigned int room = new ? shown *PAGES - new->valid : SIZE;

	if (m->place[tensor * SIZE] == LISTS) {
		CU_ASSERT_EQUAL(ptes_add(t, lists, SIZE * MIB), 0);
		move_pages(m, tensor, LISTS, 0, SIZE);
	} else if (!random_below(seed, 16)) {
		for (unsigned int k = 0; k < LISTS; k++) {
			CU_ASSERT_EQUAL(ptes_drop(t, &lists[k], lists[k].bytes), 0);
			move_pages(m, tensor, k, LISTS, SIZE);
		}
	} else if (from != to) {
		n = n < room ? n : room;
		CU_ASSERT_EQUAL(ptes_move(t, &lists[from], &lists[to], n * MIB), 0);
		move_pages(m, tensor, from, to, n);
	}
}

/* Returns MiB that were copied. */
static uint64_t random_use(uint64_t *seed, unsigned int shown, unsigned int spare)
{
	const struct annex_system sys = {.ssds = SSDS,
					 .ssd_bytes = (uint64_t)shown * PTE_BLOCK,
					 .ssd_spare = (uint64_t)spare * PTE_BLOCK};
	struct model *m = calloc(1, sizeof(*m));
	uint64_t copied;
	struct ptes t;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_EQUAL_FATAL(ptes_init(&t, TENSORS, &sys), 0);
	for (uint32_t i = 0; i < TENSORS * SIZE; i++)
		m->place[i] = LISTS;
	for (struct chip *c = m->ssd; c < m->ssd + SSDS; c++) {
		memset(c->holds, 0xff, sizeof(c->holds));
		c->n = shown + (spare > 3 ? spare : 3);
		c->open = MOST;
		while (c->n_idle < c->n)
			c->idle[c->n_idle] = c->n_idle, c->n_idle++;
	}
	CU_ASSERT_EQUAL(ptes_flash_bytes(&t), (uint64_t)SSDS * m->ssd->n * PTE_BLOCK);
	for (unsigned int i = 0; i < 600; i++) {
		any_change(&t, m, seed, shown);
		same_entries(&t, m);
	}
	ptes_free(&t);
	copied = m->copied;
	free(m);
	return copied;
}

static void as_the_model(void)
{
	uint64_t seed = random_seed("flash"), copied = 0;

	for (unsigned int i = 0; i < 30; i++)
		copied += random_use(&seed, 1 + random_below(&seed, 12), random_below(&seed, 6));
	printf(" %llu MiB copied ", (unsigned long long)copied);
	CU_ASSERT(copied > 0);
}

/* Bytes that are written together and die together are never copied, nor those beside them. */
static void whole_blocks_die(void)
{
	const struct annex_system sys = {.ssds = 1, .ssd_bytes = 2 * PTE_BLOCK};
	const unsigned int ssd = 2 * ANNEX_TIER_SSD, lists = ptes_lists(&sys);
	struct ptes t;

	CU_ASSERT_EQUAL_FATAL(ptes_init(&t, 2, &sys), 0);
	CU_ASSERT_EQUAL(ptes_add(&t, t.lists, PTE_BLOCK), 0);
	CU_ASSERT_EQUAL(ptes_add(&t, &t.lists[lists], PTE_BLOCK / 4), 0);
	for (unsigned int i = 0; i < 200; i++) {
		if (i == 100)
			CU_ASSERT_EQUAL(ptes_move(&t, &t.lists[lists], &t.lists[lists + ssd],
						  PTE_BLOCK / 4),
					0);
		CU_ASSERT_EQUAL(ptes_move(&t, t.lists, &t.lists[ssd], PTE_BLOCK), 0);
		CU_ASSERT_EQUAL(ptes_move(&t, &t.lists[ssd], t.lists, PTE_BLOCK), 0);
	}
	/* Blocks without a valid byte are cleared before the other tensor's block. */
	CU_ASSERT_EQUAL(t.copied, 0);
	ptes_free(&t);
}

/*
 * A is written to the SSD four times per iteration, and new tensors wait for its memory. Each time
 * a part of B follows and stays, so that they share blocks, which must be collected: A waits for
 * that.
 */
static void a_plan_waits_for_it(void)
{
	struct annex_trace *t = trace_from("A:40g B:40g C:60 D:70 E:80 F:90",
					   "1:A 1:B 1:>C 1:A 1:>D 1:A 1:>E 1:A 1:>F 1:A 1:B");
	struct annex_system sys;
	struct annex_sim_result endless, tight;
	struct annex_sim_job job = {t, NULL};
	struct annex_plan *p;

	round_system(&sys);
	sys.gpu = 92 * MIB;
	p = plan_from(
		t, &sys,
		"2 evict A 40 ssd; 2 evict B 10 ssd; 2 alloc C 60; 3 free C 60; 3 prefetch A 40; "
		"4 evict A 40 ssd; 4 evict B 10 ssd; 4 alloc D 70; 5 free D 50; 5 prefetch A 40; "
		"6 evict A 40 ssd; 6 evict B 10 ssd; 6 alloc E 80; 7 free E 50; 7 prefetch A 40; "
		"8 evict A 40 ssd; 8 evict B 10 ssd; 8 alloc F 90; 9 free F 50; 9 prefetch A 40; "
		"10 prefetch B 40");
	job.plan = p;
	CU_ASSERT_EQUAL_FATAL(annex_simulate(&job, 1, &sys, NULL, &endless), 0);
	CU_ASSERT_EQUAL(endless.ssd_copied, 0);
	sys.ssd_bytes = 80 * MIB;
	CU_ASSERT_EQUAL_FATAL(annex_simulate(&job, 1, &sys, NULL, &tight), 0);
	CU_ASSERT(tight.steady);
	CU_ASSERT_EQUAL(tight.out[ANNEX_TIER_SSD], endless.out[ANNEX_TIER_SSD]);
	printf(" %.1f MiB copied, %.3f and %.3f s ", (double)tight.ssd_copied / MIB,
	       endless.iteration, tight.iteration);
	CU_ASSERT(tight.ssd_copied > 0 && tight.iteration > endless.iteration);
	/* B's pages are only there. */
	CU_ASSERT(tight.ssd_updated > 0 && tight.ssd_updated <= tight.ssd_copied / PTE_PAGE);
	/* No more than it shows. */
	sys.ssd_bytes = 30 * MIB;
	CU_ASSERT_EQUAL(annex_simulate(&job, 1, &sys, NULL, &tight), -ENOSPC);
	sys.ssd_bytes = 0;
	sys.ssd_spare = 1;
	CU_ASSERT_EQUAL(annex_simulate(&job, 1, &sys, NULL, &tight), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "--ssd-spare"));
	annex_plan_free(p);
	annex_trace_free(t);
}

/* Without writes to it, or if its blocks may stay new, flash needs no more iterations. */
static void new_blocks_may_stay(void)
{
	static const struct {
		const char *steps;
		bool fresh;
		uint32_t more;
	} cases[] = {{"1 evict A 64 host; 2 prefetch A 64", false, 0},
		     {"1 evict A 64 ssd; 2 prefetch A 64", true, 0},
		     {"1 evict A 64 ssd; 2 prefetch A 64", false, 1}};
	struct annex_trace *t = trace_from("A:64g B:4g", "10:A>A 100:B 10:A");
	struct annex_system sys;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct annex_sim_options opts = {.fresh = cases[i].fresh};
		struct annex_sim_result endless, large;
		struct annex_plan *p;
		struct annex_sim_job job;

		round_system(&sys);
		p = plan_from(t, &sys, cases[i].steps);
		job = (struct annex_sim_job){t, p};
		CU_ASSERT_EQUAL_FATAL(annex_simulate(&job, 1, &sys, NULL, &endless), 0);
		sys.ssd_bytes = 1ull << 40;
		CU_ASSERT_EQUAL_FATAL(annex_simulate(&job, 1, &sys, &opts, &large), 0);
		CU_ASSERT(large.steady);
		CU_ASSERT_EQUAL(large.iterations > endless.iterations, cases[i].more);
		annex_plan_free(p);
	}
	annex_trace_free(t);
}

static int simulate(const struct annex_sim_job *job, const struct annex_system *sys,
		    struct annex_sim_result *r)
{
	const struct annex_sim_options opts = {.iterations = 4};

	return annex_simulate(job, 1, sys, &opts, r);
}

/* Flash that never fills up changes nothing. With little flash a plan goes on, if that suffices. */
static void any_plan_goes_on(void)
{
	uint64_t seed = random_seed("plans on flash"), copied = 0;

	for (unsigned int i = 0; i < 600; i++) {
		struct annex_trace *t = random_training(&seed, 1 + random_below(&seed, 3),
							150 * MIB, 100000000);
		struct annex_sim_result endless, large, little = {0};
		struct annex_sim_job job = {t, NULL};
		struct annex_system sys;
		struct annex_plan *p;
		int err;

		round_system(&sys);
		sys.gpu = largest_kernel(t) + random_below(&seed, 100) * MIB;
		sys.host = random_below(&seed, 2) * 40 * MIB;
		p = random_plan(&seed, t, &sys);
		job.plan = p;
		if (p) {
			CU_ASSERT_EQUAL_FATAL(simulate(&job, &sys, &endless), 0);
			sys.ssd_bytes = 1ull << 40;
			CU_ASSERT_EQUAL_FATAL(simulate(&job, &sys, &large), 0);
			CU_ASSERT_EQUAL(large.ssd_copied, 0);
			CU_ASSERT_DOUBLE_EQUAL(large.iteration, endless.iteration, 1e-6);
			CU_ASSERT_EQUAL(memcmp(large.out, endless.out, sizeof(large.out)), 0);
			sys.ssd_bytes = 1 + random_below(&seed, 300) * MIB;
			err = simulate(&job, &sys, &little);
			CU_ASSERT(!err || err == -ENOSPC);
			copied += little.ssd_copied;
		}
		annex_plan_free(p);
		annex_trace_free(t);
	}
	printf(" %.1f MiB copied ", (double)copied / MIB);
	CU_ASSERT(copied > 0);
}

UNIT_SUITE(flash, {"as a model of single pages", as_the_model},
	   {"whole blocks die", whole_blocks_die}, {"a plan waits for it", a_plan_waits_for_it},
	   {"new blocks may stay", new_blocks_may_stay}, {"any plan goes on", any_plan_goes_on})

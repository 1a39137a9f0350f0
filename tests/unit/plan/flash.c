// SPDX-License-Identifier: MIT
/*
 * Flash and its garbage collection: against a model of single pages, and its cost in a plan.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/simulate.h>
#include "flash/blocks.h"
#include "plan/simulate/flash.h"
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGES 16u /* of 1 MiB in a block */
#define OWNERS 12u
#define MOST 40u /* blocks */
#define FREE UINT32_MAX

/*
 * struct model - Pages of blocks and whose they are, by when they were written; erased blocks, the
 * one that is used next first; by when each full block was filled or lost a page.
 */
struct model {
	unsigned int n, idle[MOST], n_idle, open, fill;
	uint64_t full[MOST]; /* 0: it is not */
	uint32_t owner[MOST][PAGES];
	uint64_t age[MOST][PAGES], now, copied;
};

static unsigned int model_valid(const struct model *m, unsigned int block)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < PAGES; i++)
		n += m->owner[block][i] != FREE;
	return n;
}

static void model_put(struct model *m, uint32_t owner, uint64_t age)
{
	if (m->open == MOST) {
		m->open = m->idle[0];
		memmove(m->idle, m->idle + 1, --m->n_idle * sizeof(*m->idle));
		m->fill = 0;
	}
	m->owner[m->open][m->fill] = owner;
	m->age[m->open][m->fill++] = age;
	if (m->fill < PAGES)
		return;
	m->full[m->open] = ++m->now;
	m->open = MOST;
}

/* Of the full blocks with the least valid pages, the one that changed last. */
static unsigned int model_victim(const struct model *m)
{
	unsigned int best = MOST;

	for (unsigned int b = 0; b < m->n; b++) {
		if (!m->full[b])
			continue;
		if (best == MOST || model_valid(m, b) < model_valid(m, best) ||
		    (model_valid(m, b) == model_valid(m, best) && m->full[b] > m->full[best]))
			best = b;
	}
	return best;
}

static void model_collect(struct model *m)
{
	unsigned int best = model_victim(m);

	for (unsigned int i = 0; i < PAGES; i++) {
		if (m->owner[best][i] == FREE)
			continue;
		model_put(m, m->owner[best][i], m->age[best][i]);
		m->owner[best][i] = FREE;
		m->copied++;
	}
	m->full[best] = 0;
	m->idle[m->n_idle++] = best;
}

static void model_write(struct model *m, uint32_t owner)
{
	while (m->open == MOST && m->n_idle <= FLASH_FREE)
		model_collect(m);
	model_put(m, owner, ++m->now);
}

/* The oldest page of an owner. */
static void model_trim(struct model *m, uint32_t owner)
{
	uint32_t *oldest = NULL;
	unsigned int block = 0;
	uint64_t age = UINT64_MAX;

	for (unsigned int b = 0; b < m->n; b++) {
		for (unsigned int i = 0; i < PAGES; i++) {
			if (m->owner[b][i] != owner || m->age[b][i] >= age)
				continue;
			oldest = &m->owner[b][i];
			age = m->age[b][i];
			block = b;
		}
	}
	if (!oldest)
		return;
	*oldest = FREE;
	if (m->full[block])
		m->full[block] = ++m->now;
}

static struct model *model_create(unsigned int blocks)
{
	struct model *m = calloc(1, sizeof(*m));

	CU_ASSERT_FATAL(m && blocks <= MOST);
	m->n = blocks;
	memset(m->owner, 0xff, sizeof(m->owner));
	for (unsigned int i = 0; i < blocks; i++)
		m->idle[m->n_idle++] = i;
	m->open = MOST;
	return m;
}

/* Writes and trims of a drive that is never more than full; the first owner's bytes stay. */
static void random_use(uint64_t *seed, unsigned int shown, unsigned int spare)
{
	struct flash *f = flash_create((uint64_t)shown * FLASH_BLOCK, (uint64_t)spare * FLASH_BLOCK,
				       OWNERS);
	struct model *m = model_create(shown + (spare > 3 ? spare : 3));
	unsigned int has[OWNERS] = {0}, all = 0, most = shown * PAGES;
	uint64_t copied = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(flash_total(f), (uint64_t)m->n * FLASH_BLOCK);
	for (unsigned int i = 0; i < 600; i++) {
		uint32_t owner = (uint32_t)random_below(seed, OWNERS);
		unsigned int n = 1 + (unsigned int)random_below(seed, 100);

		if (random_below(seed, 2) && owner) {
			n = n < has[owner] ? n : has[owner];
			flash_trim(f, owner, (uint64_t)n * MIB);
			has[owner] -= n;
			all -= n;
			while (n--)
				model_trim(m, owner);
			continue;
		}
		n = n < most - all ? n : most - all;
		CU_ASSERT_EQUAL(flash_write(f, owner, (uint64_t)n * MIB, &copied), 0);
		has[owner] += n;
		all += n;
		while (n--)
			model_write(m, owner);
		CU_ASSERT_EQUAL(copied, m->copied * MIB);
		CU_ASSERT_EQUAL(flash_valid(f), (uint64_t)all * MIB);
	}
	flash_destroy(f);
	free(m);
}

static void as_the_model(void)
{
	uint64_t seed = random_seed("flash");

	for (unsigned int i = 0; i < 30; i++)
		random_use(&seed, 1 + (unsigned int)random_below(&seed, 20),
			   (unsigned int)random_below(&seed, 12));
}

/* Bytes that are written together and die together are never copied, nor those beside them. */
static void whole_blocks_die(void)
{
	struct flash *f = flash_create(2 * FLASH_BLOCK, 0, 2);
	uint64_t copied = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (unsigned int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(flash_write(f, 0, FLASH_BLOCK, &copied), 0);
		flash_trim(f, 0, FLASH_BLOCK);
	}
	CU_ASSERT_EQUAL(copied, 0);
	CU_ASSERT_EQUAL(flash_write(f, 1, FLASH_BLOCK / 4, &copied), 0);
	for (unsigned int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(flash_write(f, 0, FLASH_BLOCK, &copied), 0);
		flash_trim(f, 0, FLASH_BLOCK);
	}
	CU_ASSERT_EQUAL(flash_valid(f), FLASH_BLOCK / 4);
	/* Blocks without a valid byte are cleared before its block. */
	CU_ASSERT_EQUAL(copied, 0);
	flash_destroy(f);
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

UNIT_SUITE(flash, {"as a model of single pages", as_the_model},
	   {"whole blocks die", whole_blocks_die}, {"a plan waits for it", a_plan_waits_for_it})

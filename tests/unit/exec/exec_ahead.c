// SPDX-License-Identifier: MIT
/*
 * Reading ahead without a plan: for kernels that use tensors in order, in reverse, and in several
 * streams, and not for kernels that use them in no order.
 */
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "tests/unit/mem_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define TENSORS 128u
#define BYTES (64u << 10)
#define AHEAD 2u /* tensors that have come before they are used */
#define WAIT_NS 20000000000ull

struct rig {
	struct mem_rig r;
	struct annex_exec *e;
	uint8_t *p[TENSORS];
};

static int no_plan(const struct annex_vitality *v, const struct annex_system *sys,
		   struct annex_plan **plan)
{
	(void)v;
	(void)sys;
	*plan = NULL;
	return -ENOSPC;
}

static const struct annex_policy never = {"never", "has no plan", no_plan};

/* @n tensors of @bytes, all of them on storage. */
static void open_rig(struct rig *g, const struct annex_exec_opts *opts, uint32_t n, uint64_t bytes)
{
	mem_rig_open(&g->r, "mem:64M", (struct annex_space_opts){.device = 4 * MIB});
	for (uint32_t i = 0; i < n; i++) {
		g->p[i] = mem_alloc(&g->r, "p", bytes);
		memset(g->p[i], (int)i + 1, BYTES);
		mem_evict(&g->r, g->p[i], bytes, ANNEX_TIER_SSD);
	}
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(g->r.space, opts, &g->e), 0);
	CU_ASSERT_EQUAL(annex_exec_begin(g->e), 0);
}

static void close_rig(struct rig *g)
{
	CU_ASSERT_EQUAL(annex_exec_end(g->e), 0);
	annex_exec_destroy(g->e);
	mem_rig_close(&g->r);
}

static void use(struct rig *g, uint32_t i)
{
	const struct annex_exec_use used = {g->p[i], ANNEX_USE_READ};

	CU_ASSERT_EQUAL(annex_exec_before(g->e, "kernel", &used, 1), 0);
	CU_ASSERT_EQUAL(g->p[i][0], i + 1);
	CU_ASSERT_EQUAL(g->p[i][BYTES - 1], i + 1);
	CU_ASSERT_EQUAL(annex_exec_after(g->e), 0);
}

static bool comes(struct rig *g, uint32_t i)
{
	uint64_t end = annex_now() + WAIT_NS;
	struct annex_mem_page page = {0};

	while (!annex_mem_lookup(g->r.space, g->p[i], &page) && !page.device && annex_now() < end)
		;
	return page.device;
}

/* From tensor @from on, @step further each time, @n times. */
static void stream(struct rig *g, uint32_t from, int step, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++, from += (uint32_t)step) {
		use(g, from);
		for (uint32_t i = 1; k && i <= AHEAD && k + i < n; i++)
			CU_ASSERT_FATAL(comes(g, from + i * (uint32_t)step));
	}
}

static const struct annex_exec_opts own = {.own = &never};

static void forwards(void)
{
	struct rig g;

	open_rig(&g, &own, TENSORS, BYTES);
	stream(&g, 0, 1, TENSORS);
	close_rig(&g);
}

static void backwards(void)
{
	struct rig g;

	open_rig(&g, &own, TENSORS, BYTES);
	stream(&g, TENSORS - 1, -1, TENSORS);
	close_rig(&g);
}

/* An optimizer's weights, and gradients that were made in the other order. */
static void streams(void)
{
	const uint32_t half = TENSORS / 2;
	struct rig g;

	open_rig(&g, &own, TENSORS, BYTES);
	for (uint32_t i = 0; i < half; i++) {
		use(&g, i);
		use(&g, TENSORS - 1 - i);
		for (uint32_t k = 1; i && k <= AHEAD && i + k < half; k++) {
			CU_ASSERT_FATAL(comes(&g, i + k));
			CU_ASSERT_FATAL(comes(&g, TENSORS - 1 - i - k));
		}
	}
	close_rig(&g);
}

/* Tensors that were not used stay where they are. */
static void nothing_else(const struct annex_exec_opts *opts, uint32_t n, uint64_t bytes,
			 uint32_t step)
{
	struct annex_mem_page page = {0};
	struct rig g;

	open_rig(&g, opts, n, bytes);
	for (uint32_t i = 0; i < n; i += step) {
		use(&g, i);
		for (uint32_t k = i + 1; k < n; k++) {
			CU_ASSERT_EQUAL(annex_mem_lookup(g.r.space, g.p[k], &page), 0);
			CU_ASSERT_FALSE(page.device || page.busy);
		}
	}
	close_rig(&g);
}

static void far_apart(void)
{
	nothing_else(&own, TENSORS, BYTES, 32);
}

static void large(void)
{
	nothing_else(&own, 8, 3 * MIB, 1);
}

/* Tensors move when they are used, as the policy says. */
static void none(void)
{
	nothing_else(&(struct annex_exec_opts){.policy = "none"}, TENSORS, BYTES, 1);
}

/* In any order, and freed while they are on their way. */
static void in_any_order(void)
{
	uint64_t seed = random_seed("ahead"), state = seed;
	struct rig g;

	open_rig(&g, &own, TENSORS, BYTES);
	for (uint32_t k = 0; k < 4 * TENSORS; k++) {
		uint32_t i = (uint32_t)(random_next(&state) % TENSORS);

		for (uint32_t n = 0; n < 4 && i < TENSORS; n++, i++)
			use(&g, i);
		if (i >= TENSORS)
			continue;
		CU_ASSERT_EQUAL(annex_free(g.r.space, g.p[i]), 0);
		g.p[i] = mem_filled(&g.r, "p", BYTES, i + 1);
	}
	close_rig(&g);
}

UNIT_SUITE(exec_ahead, {"forwards", forwards}, {"backwards", backwards}, {"streams", streams},
	   {"far apart", far_apart}, {"large", large}, {"none", none},
	   {"in any order", in_any_order})

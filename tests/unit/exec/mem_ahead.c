// SPDX-License-Identifier: MIT
/*
 * Pages that are made before a program asks for their tensor.
 */
#include <sched.h>
#include <string.h>
#include <annex/cuda.h>
#include <annex/detail/clock.h>
#include "tests/unit/mem_rig.h"
#include "migrate/request.h"
#include "tests/unit/unit.h"

static void wait_kept(struct mem_rig *r, uint64_t bytes)
{
	uint64_t limit = annex_deadline_ms(WAIT_MS);

	while (mem_stats(r).kept != bytes && annex_now() < limit)
		sched_yield();
	CU_ASSERT_EQUAL(mem_stats(r).kept, bytes);
}

static char *any(struct mem_rig *r, uint64_t bytes)
{
	void *p = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_alloc_uninit(r->space, "any", bytes, &p), 0);
	return p;
}

static void made_ahead(void)
{
	struct annex_space_opts opts = {.device = 4 * MIB};
	struct mem_rig r;
	uint64_t faults;
	char *p, *q;

	mem_rig_open(&r, "mem:8M", opts);
	annex_tensor_expect(r.space, MIB);
	wait_kept(&r, MIB);
	annex_tensor_expect(r.space, MIB); /* one waits already */
	CU_ASSERT_EQUAL(mem_stats(&r).device, MIB);
	p = any(&r, MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, 0);
	faults = mem_stats(&r).faults;
	memset(p, 1, MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).faults, faults);
	/* Another size, and then no tensor at all. */
	annex_tensor_expect(r.space, 2 * MIB);
	wait_kept(&r, 2 * MIB);
	q = any(&r, MIB);
	memset(q, 2, MIB);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	mem_wait_empty(&r);
	mem_rig_close(&r);
}

/* Nothing has to leave for it. */
static void no_room(void)
{
	struct annex_space_opts opts = {.device = 2 * MIB};
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:8M", opts);
	p = mem_alloc(&r, "p", 2 * MIB);
	memset(p, 1, 3 * MIB / 2);
	annex_tensor_expect(r.space, MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, 0);
	CU_ASSERT_EQUAL(mem_stats(&r).out, 0);
	annex_tensor_expect(r.space, 64 * MIB);
	annex_tensor_expect(r.space, MIB / 4);
	wait_kept(&r, MIB / 4);
	/* It gives way. */
	memset(p, 2, 2 * MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	mem_wait_empty(&r);
	mem_rig_close(&r);
}

/* A space may end while pages are made. */
static void ended_meanwhile(void)
{
	struct annex_space_opts opts = {.device = 4 * MIB};
	struct mem_rig r;

	for (unsigned int i = 0; i < 20; i++) {
		mem_rig_open(&r, "mem:8M", opts);
		annex_tensor_expect(r.space, 2 * MIB);
		annex_tensor_expect(r.space, MIB);
		mem_rig_close(&r);
	}
}

static void in_frames(void)
{
	struct annex_space_opts opts = {.device = 4 * MIB,
					.frames = annex_gpu_memory_host()->frames};
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:8M", opts);
	annex_tensor_expect(r.space, MIB);
	wait_kept(&r, MIB);
	p = any(&r, MIB);
	CU_ASSERT_EQUAL(annex_hold(r.space, p), 0);
	mem_fetch(&r, p, MIB);
	memset(p, 1, MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).device, MIB);
	CU_ASSERT_EQUAL(annex_let_go(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	mem_wait_empty(&r);
	mem_rig_close(&r);
}

UNIT_SUITE(mem_ahead, {"made ahead", made_ahead}, {"no room", no_room},
	   {"ended meanwhile", ended_meanwhile}, {"in frames", in_frames})

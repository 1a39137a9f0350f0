// SPDX-License-Identifier: MIT
/*
 * Plans in memory, and whether they are sound (annex/plan.h); files are in plan_file.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/plan.h>
#include "plan/place.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static struct annex_system machine(uint64_t gpu, uint64_t host, uint64_t cxl)
{
	struct annex_system sys;

	annex_system_init(&sys);
	sys.gpu = gpu;
	sys.host = host;
	sys.cxl = cxl;
	sys.cxl_rate = 1e9;
	sys.ssds = 2;
	return sys;
}

/*
 * Tensors: 0 a global one of 100 bytes that is read, 1 a global one of 50 that is written last,
 * 2 one of 30 that is born in kernel 0 and dies in kernel 3.
 */
static struct annex_trace *small_trace(void)
{
	static const struct annex_tensor tensors[] = {
		{"weight", 100, ANNEX_KERNEL_NONE, ANNEX_KERNEL_NONE, ANNEX_ROLE_WEIGHT, true},
		{"bias", 50, ANNEX_KERNEL_NONE, ANNEX_KERNEL_NONE, ANNEX_ROLE_WEIGHT, true},
		{"hidden", 30, ANNEX_KERNEL_NONE, ANNEX_KERNEL_NONE, ANNEX_ROLE_ACTIVATION, false},
	};
	static const uint32_t weight = 0, bias = 1, hidden = 2;
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create("small", "none", 1, &t), 0);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(annex_trace_add_tensor(t, &tensors[i]), i);
	annex_trace_add_kernel(t, "forward", 1000, &weight, 1, &hidden, 1);
	annex_trace_add_kernel(t, "middle", 1000, &hidden, 1, &hidden, 1);
	annex_trace_add_kernel(t, "more", 1000, &hidden, 1, &hidden, 1);
	annex_trace_add_kernel(t, "backward", 1000, &hidden, 1, &bias, 1);
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	return t;
}

static struct annex_plan_step step(uint32_t kernel, unsigned int op, uint32_t tensor,
				   uint64_t bytes, unsigned int tier, bool keep)
{
	return (struct annex_plan_step){kernel,      tensor,        bytes, kernel * 1000ull,
					(uint8_t)op, (uint8_t)tier, keep};
}

#define ALLOC(k, t) step(k, ANNEX_PLAN_ALLOC, t, 0, 0, false)
#define FREE(k, t) step(k, ANNEX_PLAN_FREE, t, 0, 0, false)
#define EVICT(k, t, n, tier) step(k, ANNEX_PLAN_EVICT, t, n, tier, false)
#define SAVE(k, t, n, tier) step(k, ANNEX_PLAN_SAVE, t, n, tier, false)
#define FETCH(k, t, n) step(k, ANNEX_PLAN_PREFETCH, t, n, 0, false)
#define KEEP(k, t, n) step(k, ANNEX_PLAN_PREFETCH, t, n, 0, true)

/* The plan of these steps, which fits the small trace unless @err says otherwise. */
static struct annex_plan *make(const struct annex_trace *t, const struct annex_system *sys,
			       const struct annex_plan_step *steps, size_t n)
{
	struct annex_plan *p;

	CU_ASSERT_EQUAL_FATAL(annex_plan_create("test", t, sys, &p), 0);
	for (size_t i = 0; i < n; i++)
		CU_ASSERT_EQUAL_FATAL(annex_plan_add(p, &steps[i]), 0);
	CU_ASSERT_EQUAL_FATAL(annex_plan_finish(p), 0);
	return p;
}

#define N(array) (sizeof(array) / sizeof((array)[0]))

static bool says(const char *words)
{
	if (strstr(annex_last_error(), words))
		return true;
	fprintf(stderr, "\"%s\" does not say \"%s\"\n", annex_last_error(), words);
	return false;
}

/* The check of these steps on a machine says @words; NULL: nothing. */
static void checked(const struct annex_plan_step *steps, size_t n, struct annex_system sys,
		    const char *words)
{
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, steps, n);
	int err = annex_plan_check(p, t, &sys);

	CU_ASSERT_EQUAL(err, words ? -EINVAL : 0);
	if (err && !words)
		fprintf(stderr, "%s\n", annex_last_error());
	CU_ASSERT(!words || says(words));
	annex_plan_free(p);
	annex_trace_free(t);
}

static void steps_are_sorted(void)
{
	const struct annex_plan_step steps[] = {FREE(4, 2), FETCH(1, 0, 5), EVICT(1, 0, 6, 1),
						ALLOC(0, 2), FETCH(1, 0, 7)};
	static const uint64_t bytes[] = {30, 5, 6, 7, 30};
	struct annex_system sys = machine(1000, 1000, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, steps, N(steps));

	CU_ASSERT_EQUAL_FATAL(p->n_steps, N(steps));
	for (size_t i = 0; i < N(steps); i++)
		CU_ASSERT_EQUAL(p->steps[i].bytes, bytes[i]);
	CU_ASSERT_EQUAL(p->steps[0].op, ANNEX_PLAN_ALLOC);
	CU_ASSERT_EQUAL(p->steps[4].op, ANNEX_PLAN_FREE);
	CU_ASSERT_EQUAL(p->hash, annex_trace_hash(t));
	CU_ASSERT_EQUAL(p->gpu, 1000);
	CU_ASSERT_EQUAL(annex_plan_add(p, &steps[0]), -EINVAL);
	CU_ASSERT(says("finished"));
	annex_plan_free(p);
	annex_trace_free(t);
}

static void bad_steps_are_refused(void)
{
	static const struct {
		uint32_t kernel, op, tensor;
		uint64_t bytes;
		uint32_t tier;
		const char *words;
	} bad[] = {
		{5, ANNEX_PLAN_FREE, 2, 0, 0, "step 0: kernel 5 of 4"},
		{0, ANNEX_PLAN_ALLOC, 3, 0, 0, "tensor 3 of 3"},
		{0, ANNEX_PLAN_OPS, 1, 5, 0, "operation 6"},
		{0, ANNEX_PLAN_EVICT, 1, 0, 1, "0 bytes"},
		{0, ANNEX_PLAN_EVICT, 1, 51, 1, "51 bytes of 50"},
		{0, ANNEX_PLAN_EVICT, 1, 50, 0, "tier 0"},
		{0, ANNEX_PLAN_SAVE, 1, 50, ANNEX_TIERS, "tier 19"},
		{0, ANNEX_PLAN_PREFETCH, 0, UINT64_MAX, 0, "18446744073709551615 bytes"},
	};
	struct annex_system sys = machine(1000, 1000, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, NULL, 0);

	annex_plan_free(p);
	CU_ASSERT_EQUAL_FATAL(annex_plan_create("test", t, &sys, &p), 0);
	for (size_t i = 0; i < N(bad); i++) {
		struct annex_plan_step s = step(bad[i].kernel, bad[i].op, bad[i].tensor,
						bad[i].bytes, bad[i].tier, false);

		CU_ASSERT_EQUAL(annex_plan_add(p, &s), -EINVAL);
		CU_ASSERT(says(bad[i].words));
		CU_ASSERT_EQUAL(p->n_steps, 0);
	}
	annex_plan_free(p);
	CU_ASSERT_EQUAL(annex_plan_create("a name with blanks", t, &sys, &p), -EINVAL);
	CU_ASSERT_EQUAL(annex_plan_create("", t, &sys, &p), -EINVAL);
	CU_ASSERT_EQUAL(annex_plan_create("a-name-of-more-than-31-characters", t, &sys, &p),
			-EINVAL);
	sys.gpu = 0;
	CU_ASSERT_EQUAL(annex_plan_create("test", t, &sys, &p), -EINVAL);
	annex_trace_free(t);
}

static void time_does_not_go_back(void)
{
	struct annex_plan_step steps[] = {ALLOC(0, 2), FREE(4, 2), FETCH(2, 0, 5)};
	struct annex_system sys = machine(1000, 1000, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p;

	CU_ASSERT_EQUAL_FATAL(annex_plan_create("test", t, &sys, &p), 0);
	steps[2].ns = 4001;
	for (size_t i = 0; i < N(steps); i++)
		CU_ASSERT_EQUAL(annex_plan_add(p, &steps[i]), 0);
	CU_ASSERT_EQUAL(annex_plan_finish(p), -EINVAL);
	CU_ASSERT(says("step 2 (kernel 4, tensor 2): time goes back, from 4001 to 4000"));
	annex_plan_free(p);
	annex_trace_free(t);
}

/*
 * A sound plan. Most of the weight leaves for free, since it is only read and was written once.
 */
#define GOOD                                                                                       \
	KEEP(0, 0, 80), ALLOC(0, 2), EVICT(1, 0, 80, 1), EVICT(2, 1, 50, 3), FETCH(3, 1, 50),      \
		FREE(4, 2)

static void good_plan_passes(void)
{
	const struct annex_plan_step good[] = {GOOD};
	checked(good, N(good), machine(180, 80, 0), NULL);
}

static void wrapped_free_passes(void)
{
	const struct annex_plan_step steps[] = {FREE(0, 2), ALLOC(0, 2)};

	checked(steps, N(steps), machine(180, 0, 0), NULL);
}

static void capacity_is_respected(void)
{
	const struct annex_plan_step good[] = {GOOD};
	checked(good, N(good), machine(179, 80, 0),
		"step 1, kernel 0 (forward), tensor 2: 180 "
		"bytes of gpu memory in use, of 179");
	checked(good, N(good), machine(180, 79, 0),
		"kernel 0 (forward), tensor 0: 80 bytes of host memory in use");
	/* No step is named if the machine is too small before the first one. */
	checked(good, N(good), machine(69, 80, 0), "70 bytes of gpu memory in use, of 69");
}

static void each_mistake_is_named(void)
{
	const struct annex_system sys = machine(180, 80, 0);
	const struct annex_plan_step unborn[] = {FREE(4, 2)};
	const struct annex_plan_step late[] = {ALLOC(1, 2), FREE(4, 2)};
	const struct annex_plan_step early[] = {ALLOC(0, 2), FREE(3, 2)};
	const struct annex_plan_step never[] = {ALLOC(0, 2)};
	const struct annex_plan_step twice[] = {ALLOC(0, 2), ALLOC(0, 2), FREE(4, 2)};
	const struct annex_plan_step again[] = {ALLOC(0, 2), FREE(4, 2), FREE(4, 2)};
	const struct annex_plan_step global[] = {ALLOC(0, 2), FREE(4, 2), FREE(4, 1)};
	const struct annex_plan_step born[] = {ALLOC(0, 2), ALLOC(1, 1), FREE(4, 2)};
	const struct annex_plan_step gone[] = {ALLOC(0, 2), EVICT(1, 2, 20, 3), FREE(4, 2)};
	const struct annex_plan_step more[] = {ALLOC(0, 2), EVICT(1, 1, 30, 3), EVICT(2, 1, 21, 3),
					       FETCH(3, 1, 50), FREE(4, 2)};
	const struct annex_plan_step back[] = {ALLOC(0, 2), EVICT(1, 0, 70, 3), FETCH(2, 0, 40),
					       FETCH(3, 0, 31), FREE(4, 2)};
	const struct annex_plan_step dead[] = {SAVE(0, 2, 1, 3), ALLOC(0, 2), FREE(4, 2)};
	const struct annex_plan_step lost[] = {ALLOC(0, 2), SAVE(1, 0, 5, 5), FREE(4, 2)};

	checked(NULL, 0, sys, "kernel 0 (forward), tensor 2: it is not allocated yet");
	checked(unborn, N(unborn), sys, "kernel 0 (forward), tensor 2: it is not allocated yet");
	checked(late, N(late), sys,
		"step 0, kernel 1 (middle), tensor 2: alloc within its life from kernel 0 to "
		"kernel 3");
	checked(early, N(early), sys,
		"step 1, kernel 3 (backward), tensor 2: free within its life from kernel 0 to "
		"kernel 3");
	checked(never, N(never), sys,
		"step 0, kernel 0 (forward), tensor 2: alloc of an allocated");
	checked(twice, N(twice), sys,
		"step 1, kernel 0 (forward), tensor 2: alloc of an allocated");
	checked(again, N(again), sys,
		"step 2, kernel 4 (the end), tensor 2: free of a tensor without");
	checked(global, N(global), sys, "step 2, kernel 4 (the end), tensor 1: free of a global");
	checked(born, N(born), sys, "step 1, kernel 1 (middle), tensor 1: alloc of a global");
	checked(gone, N(gone), sys, "kernel 1 (middle), tensor 2: 20 of its bytes are not on");
	checked(more, N(more), sys,
		"step 2, kernel 2 (more), tensor 1: evict of 21 bytes, but only 20 are on the GPU");
	checked(back, N(back), sys,
		"step 3, kernel 3 (backward), tensor 0: prefetch of 31 bytes, but "
		"only 30 are not on the GPU");
	checked(dead, N(dead), sys,
		"step 0, kernel 0 (forward), tensor 2: save of a tensor without memory");
	checked(lost, N(lost), sys,
		"step 1, kernel 1 (middle), tensor 0: to ssd2, but there are 2");
}

/* Nor may what a later kernel reads be thrown away where memory is reclaimed. */
static void contents_last(void)
{
	const struct annex_plan_step anew[] = {ALLOC(0, 2), FREE(1, 2), ALLOC(3, 2), FREE(4, 2)};
	const char *words = "step 1, kernel 1 (middle), tensor 2: free within its life from kernel "
			    "0 to kernel 3";
	const struct annex_system sys = machine(180, 80, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, anew, N(anew));

	checked(anew, N(anew), sys, words);
	p->flags |= ANNEX_PLAN_RECLAIM | ANNEX_PLAN_OVERLAP;
	CU_ASSERT_EQUAL(annex_plan_check(p, t, &sys), -EINVAL);
	CU_ASSERT(says(words));
	annex_plan_free(p);
	annex_trace_free(t);
}

static void another_trace_is_refused(void)
{
	const struct annex_plan_step good[] = {GOOD};
	struct annex_system sys = machine(180, 80, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, good, N(good));

	p->hash ^= 1;
	CU_ASSERT_EQUAL(annex_plan_check(p, t, &sys), -EINVAL);
	CU_ASSERT(says("another trace"));
	p->hash ^= 1;
	p->n_kernels++;
	CU_ASSERT_EQUAL(annex_plan_check(p, t, &sys), -EINVAL);
	CU_ASSERT(says("5 kernels and 3 tensors, the trace has 4 and 3"));
	annex_plan_free(p);
	annex_trace_free(t);
}

static void less_than_the_machine_has(void)
{
	const struct annex_plan_step good[] = {GOOD};
	struct annex_system sys = machine(180, 80, 0), large = machine(1000, 1000, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, good, N(good));

	CU_ASSERT_EQUAL(annex_plan_check(p, t, &large), 0);
	p->gpu = 179;
	CU_ASSERT_EQUAL(annex_plan_check(p, t, &large), -EINVAL);
	annex_plan_free(p);
	annex_trace_free(t);
}

static void reclaim_is_not_looked_at(void)
{
	const struct annex_plan_step steps[] = {EVICT(0, 2, 30, 1), FETCH(1, 0, 100)};
	struct annex_system sys = machine(10, 0, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, steps, N(steps));

	CU_ASSERT_EQUAL(annex_plan_check(p, t, &sys), -EINVAL);
	p->flags = ANNEX_PLAN_RECLAIM;
	CU_ASSERT_EQUAL(annex_plan_check(p, t, &sys), 0);
	p->steps[1].bytes = 101;
	CU_ASSERT_EQUAL(annex_plan_check(p, t, &sys), -EINVAL);
	annex_plan_free(p);
	annex_trace_free(t);
}

static void steady_state(void)
{
	const struct annex_plan_step good[] = {GOOD};
	struct annex_system sys = machine(180, 80, 0);
	struct annex_trace *t = small_trace();
	struct annex_plan *p = make(t, &sys, good, N(good));
	struct place places[3];

	CU_ASSERT_EQUAL(annex_plan_replay(p, t, &sys, places), 0);
	CU_ASSERT_EQUAL(places[0].dirty, 20);
	CU_ASSERT_EQUAL(places[0].out[ANNEX_TIER_HOST], 80);
	CU_ASSERT_EQUAL(places[1].dirty, 50);
	CU_ASSERT_FALSE(places[2].born);
	annex_plan_free(p);
	annex_trace_free(t);
}

static void places(void)
{
	struct place p = {.dirty = 100, .born = true};

	CU_ASSERT_EQUAL(annex_place_save(&p, 30, ANNEX_TIER_SSD), 30);
	CU_ASSERT_EQUAL(annex_place_save(&p, 10, ANNEX_TIER_HOST), 10);
	CU_ASSERT_EQUAL(annex_place_resident(&p), 100);
	CU_ASSERT_EQUAL(annex_place_below(&p, ANNEX_TIER_SSD), 30);
	/* Those with a copy first, from the nearest tier. */
	CU_ASSERT_EQUAL(annex_place_evict(&p, 50, ANNEX_TIER_CXL), 50);
	CU_ASSERT_EQUAL(p.out[ANNEX_TIER_HOST], 10);
	CU_ASSERT_EQUAL(p.out[ANNEX_TIER_CXL], 10);
	CU_ASSERT_EQUAL(p.out[ANNEX_TIER_SSD], 30);
	CU_ASSERT_EQUAL(p.dirty, 50);
	CU_ASSERT_EQUAL(annex_place_prefetch(&p, 15, true), 15);
	CU_ASSERT_EQUAL(p.clean[ANNEX_TIER_HOST], 10);
	CU_ASSERT_EQUAL(p.clean[ANNEX_TIER_CXL], 5);
	CU_ASSERT_EQUAL(annex_place_prefetch(&p, 100, false), 35);
	CU_ASSERT_EQUAL(annex_place_out(&p), 0);
	CU_ASSERT_EQUAL(p.dirty, 85);
	annex_place_write(&p);
	CU_ASSERT_EQUAL(p.dirty, 100);
	CU_ASSERT_EQUAL(annex_place_below(&p, ANNEX_TIER_HOST), 0);
	CU_ASSERT_EQUAL(annex_place_evict(&p, 200, ANNEX_TIER_SSD + 1), 100);
}

/* Policies of a program's own, for the small trace. */
static int make_good(const struct annex_vitality *v, const struct annex_system *sys,
		     struct annex_plan **plan)
{
	const struct annex_plan_step good[] = {GOOD};

	*plan = make(v->trace, sys, good, N(good));
	return 0;
}

static int make_bad(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan)
{
	const struct annex_plan_step late[] = {ALLOC(1, 2), FREE(4, 2)};

	*plan = make(v->trace, sys, late, N(late));
	return 0;
}

static int make_half(const struct annex_vitality *v, const struct annex_system *sys,
		     struct annex_plan **plan)
{
	make_good(v, sys, plan);
	return -ENOSPC;
}

/* A policy by pointer: its plan is checked, and after a failure there is none. */
static void policy_of_ones_own(void)
{
	static const struct {
		struct annex_policy policy;
		int err;
		const char *words;
	} own[] = {
		{{"good", "", make_good}, 0, NULL},
		{{"bad", "", make_bad}, -EINVAL, "alloc within its life"},
		{{"half", "", make_half}, -ENOSPC, NULL},
		{{NULL, "", make_good}, -EINVAL, "has a name and a make()"},
		{{"idle", "", NULL}, -EINVAL, "has a name and a make()"},
	};
	struct annex_system sys = machine(180, 80, 0);
	struct annex_trace *t = small_trace();
	struct annex_vitality *v;

	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	for (size_t i = 0; i < N(own); i++) {
		struct annex_plan *p = (struct annex_plan *)&sys;

		CU_ASSERT_EQUAL(annex_plan_make(&own[i].policy, v, &sys, &p), own[i].err);
		CU_ASSERT(!own[i].words || says(own[i].words));
		CU_ASSERT(own[i].err ? !p : p && p->n_steps == 6);
		annex_plan_free(p);
	}
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

UNIT_SUITE(plan, {"steps are sorted by kernel, stably", steps_are_sorted},
	   {"steps that cannot be are refused", bad_steps_are_refused},
	   {"time does not go back", time_does_not_go_back},
	   {"a sound plan passes", good_plan_passes},
	   {"what dies last may be freed as the next iteration begins", wrapped_free_passes},
	   {"capacities are respected at each step", capacity_is_respected},
	   {"each mistake is named", each_mistake_is_named},
	   {"contents last from use to use", contents_last},
	   {"a plan for another trace is refused", another_trace_is_refused},
	   {"a plan keeps to its limits", less_than_the_machine_has},
	   {"a plan that reclaims is not replayed", reclaim_is_not_looked_at},
	   {"the steady state", steady_state}, {"where bytes go", places},
	   {"a policy of one's own makes plans", policy_of_ones_own})

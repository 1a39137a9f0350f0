// SPDX-License-Identifier: MIT
/*
 * The bound: never above what a plan reaches, and exact where that can be reckoned by hand.
 */
#include <math.h>
#include <annex/generate.h>
#include <annex/simulate.h>
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static uint64_t seed;

static double bound(const struct annex_trace *t, const struct annex_system *sys)
{
	struct annex_vitality *v;
	double seconds = -1;

	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL_FATAL(annex_bound(v, sys, &seconds), 0);
	annex_vitality_destroy(v);
	return seconds;
}

/* Milliseconds, to a nanosecond. */
static bool is(double seconds, double ms)
{
	return fabs(seconds * 1e3 - ms) < 1e-6;
}

/* Two weights that do not fit together are read in turn; the first is dropped unwritten. */
static void what_must_come_in(void)
{
	struct annex_trace *t = trace_from("A:200g B:200g", "10:A 10:B");
	struct annex_system sys;

	round_system(&sys);
	/* Of each, what both exceed the GPU by: 144 MiB. */
	CU_ASSERT(is(bound(t, &sys), 288));
	/* 100 MiB of it can be in host memory, the rest passes the SSD. */
	sys.host = 100 * MIB;
	CU_ASSERT(is(bound(t, &sys), 2 * 44 * 5));
	/* The program takes longer for the pages than the SSD does. */
	sys.page_ns = 10000;
	CU_ASSERT(is(bound(t, &sys), 2 * (10 + 144 * 2.56)));
	sys.gpu = 400 * MIB;
	CU_ASSERT(is(bound(t, &sys), 20));
	annex_trace_free(t);
}

/* Activations written while the link can only take so many. */
static void what_must_go_out(void)
{
	struct annex_trace *t = trace_from("A:100 B:100 C:100 D:100",
					   "10:>A 10:>B 10:>C 10:>D 1000:D 1000:C 1000:B 1000:A");
	struct annex_system sys;

	round_system(&sys);
	/*
	 * When D has been written, 144 MiB of written bytes are out, and all four are read after
	 * that. The long kernels are last.
	 */
	CU_ASSERT(is(bound(t, &sys), 144 + 4000));
	annex_trace_free(t);
}

/* Weights written at the end of an iteration make room for the next one's activations. */
static void what_must_go_out_across_iterations(void)
{
	struct annex_trace *t = trace_from("A:100g B:100g C:100 D:100",
					   "10:>C 10:>D 1000:D 1000:C 10:A>A 10:B>B");
	struct annex_system sys;

	round_system(&sys);
	/* Of all four, 144 MiB are out before the long kernels. */
	CU_ASSERT(is(bound(t, &sys), 144 + 2000));
	annex_trace_free(t);
}

static double simulated(const struct annex_trace *t, const struct annex_system *sys,
			const char *steps)
{
	struct annex_plan *plan = plan_from(t, sys, steps);
	struct annex_sim_job job = {t, plan};
	struct annex_sim_result r = {0};

	CU_ASSERT_EQUAL(annex_simulate(&job, 1, sys, NULL, &r), 0);
	annex_plan_free(plan);
	return r.iteration;
}

/* Pages that came while a kernel ran are handled before the next one, those it awaits before it. */
static void what_pages_take(void)
{
	struct annex_trace *t = trace_from("A:64g B:64g C:4g", "10:A>A 10:B>B 1000:C 0:C 0:B 0:A");
	const char *plan = "2 evict B 20 ssd; 3 evict A 20 ssd; 3 prefetch B 20; 5 prefetch A 20";
	struct annex_system sys;

	round_system(&sys);
	sys.page_ns = 10000;
	CU_ASSERT(is(simulated(t, &sys, plan), 1020 + 100 + 100 + 40 * 2.56));
	annex_trace_free(t);
}

/* Likewise in the simulator: B comes while A goes. */
static void what_is_simulated_both_ways(void)
{
	struct annex_trace *t = trace_from("A:64g B:64g C:4g", "10:A>A 10:B>B 1000:C 0:C 0:B 0:A");
	const char *plan = "2 evict B 20 ssd; 3 evict A 20 ssd; 3 prefetch B 20; 5 prefetch A 20";
	struct annex_system sys;

	round_system(&sys);
	CU_ASSERT(is(simulated(t, &sys, plan), 1020 + 100 + 100));
	sys.ssd_duplex = 1;
	CU_ASSERT(is(simulated(t, &sys, plan), 1020 + 200 + 100));
	sys.ssd_duplex = 1.25;
	CU_ASSERT(is(simulated(t, &sys, plan), 1020 + 160 + 100));
	annex_trace_free(t);
}

/* Reads and writes take an SSD's time in turns. */
static void what_passes_both_ways(void)
{
	struct annex_trace *t = trace_from("A:200g B:200g", "10:A>A 10:B>B");
	struct annex_system sys;

	round_system(&sys);
	sys.host = 0;
	CU_ASSERT(is(bound(t, &sys), 2 * 144 * 5));
	sys.ssd_duplex = 1;
	CU_ASSERT(is(bound(t, &sys), 2 * 2 * 144 * 5));
	sys.ssd_write *= 2;
	CU_ASSERT(is(bound(t, &sys), 2 * 1.5 * 144 * 5));
	sys.ssd_duplex = 1.25;
	CU_ASSERT(is(bound(t, &sys), 2 * 1.2 * 144 * 5));
	annex_trace_free(t);
}

static void ideal_where_all_fits(void)
{
	seed = random_seed("bound");
	for (int round = 0; round < 100; round++) {
		struct annex_trace *t = random_kernels(&seed, random_below(&seed, 8),
						       1 + random_below(&seed, 20), 64 * MIB,
						       10000000);
		struct annex_system sys;
		double ideal = 0;

		round_system(&sys);
		sys.gpu = 1024 * MIB;
		for (uint32_t k = 0; k < t->n_kernels; k++)
			ideal += (double)t->kernels[k].ns * 1e-9;
		CU_ASSERT(fabs(bound(t, &sys) - ideal) <= 1e-12 + ideal * 1e-12);
		annex_trace_free(t);
	}
}

static void random_machine(const struct annex_trace *t, struct annex_system *sys)
{
	uint64_t least = largest_kernel(t);

	round_system(sys);
	sys->gpu = least + random_below(&seed, 200) * MIB + !least;
	sys->host = random_below(&seed, 3) * random_below(&seed, 1000) * MIB;
	sys->cxl = random_below(&seed, 2) * random_below(&seed, 500) * MIB;
	sys->cxl_rate = 600.0 * MIB;
	sys->ssds = 1 + random_below(&seed, 3);
	sys->ssd_write = (50.0 + random_below(&seed, 400)) * MIB;
	sys->ssd_duplex = 0.5 + 0.5 * random_below(&seed, 4);
	sys->alloc = random_below(&seed, 2) ? 1e18 : 1e10;
	sys->page_ns = random_below(&seed, 3) ? 0 : random_below(&seed, 20000);
}

static bool holds(const struct annex_trace *t, const struct annex_system *sys,
		  const struct annex_plan *plan, double least)
{
	struct annex_sim_job job = {t, plan};
	struct annex_sim_result r;
	int err = annex_simulate(&job, 1, sys, NULL, &r);

	/* Not where the plan needs memory that is not there. */
	if (err || plan->flags & ANNEX_PLAN_UNLIMITED || !r.steady)
		return true;
	if (r.iteration >= least * (1 - 1e-9))
		return true;
	fprintf(stderr, "%s: %.9f s, bound %.9f s\n", plan->policy, r.iteration, least);
	print_case(t, sys, NULL);
	return false;
}

static bool no_policy_is_faster(const struct annex_trace *t, const struct annex_system *sys)
{
	struct annex_vitality *v;
	double least;
	bool good = true;

	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL_FATAL(annex_bound(v, sys, &least), 0);
	for (unsigned int i = 0; annex_policy_at(i) && good; i++) {
		struct annex_plan *plan = NULL;

		if (!annex_policy_at(i)->make(v, sys, &plan))
			good = holds(t, sys, plan, least);
		annex_plan_free(plan);
	}
	annex_vitality_destroy(v);
	return good;
}

static void no_policy_passes_it(void)
{
	seed = random_seed("bound and policies");
	for (int round = 0; round < 60; round++) {
		struct annex_trace *t = round % 2
						? random_kernels(&seed, 1 + random_below(&seed, 12),
								 1 + random_below(&seed, 25),
								 100 * MIB, 100000000)
						: random_training(&seed, 1 + random_below(&seed, 8),
								  100 * MIB, 100000000);
		struct annex_system sys;
		bool good;

		random_machine(t, &sys);
		good = no_policy_is_faster(t, &sys);
		CU_ASSERT(good);
		annex_trace_free(t);
		if (!good)
			return;
	}
}

static void no_random_plan_passes_it(void)
{
	unsigned int made = 0;

	seed = random_seed("bound and plans");
	for (int round = 0; round < 400; round++) {
		struct annex_trace *t = random_kernels(&seed, 1 + random_below(&seed, 7),
						       1 + random_below(&seed, 10), 100 * MIB,
						       50000000);
		struct annex_system sys;
		struct annex_plan *p;
		bool good = true;

		random_machine(t, &sys);
		p = random_plan(&seed, t, &sys);
		if (p) {
			p->flags = random_below(&seed, 2) ? ANNEX_PLAN_OVERLAP : 0;
			good = holds(t, &sys, p, bound(t, &sys));
			annex_plan_free(p);
			made++;
		}
		CU_ASSERT(good);
		annex_trace_free(t);
		if (!good)
			return;
	}
	CU_ASSERT(made > 40);
}

/* A kernel that runs while the last of its tensors arrive: they have all of its time for that. */
static void kernels_that_overlap_with_what_they_wait_for(void)
{
	struct annex_trace *t = trace_from("A:252g B:252g", "250:A 250:B 0:B");
	struct annex_system sys;
	struct annex_plan *p;

	round_system(&sys);
	p = plan_from(t, &sys,
		      "0 evict B 248 host; 0 prefetch A 248 keep; "
		      "1 evict A 248 host; 1 prefetch B 248 keep");
	p->flags = ANNEX_PLAN_OVERLAP;
	CU_ASSERT(holds(t, &sys, p, bound(t, &sys)));
	annex_plan_free(p);
	annex_trace_free(t);
}

/* What lives before its first use, or after its last, can be allocated late and freed early. */
static void tensors_that_live_longer_than_they_are_used(void)
{
	struct annex_tensor local = {.bytes = 200 * MIB, .birth = 0, .death = 3};
	struct annex_system sys;
	struct annex_trace *t;
	struct annex_plan *p;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	CU_ASSERT_EQUAL_FATAL(annex_trace_add_tensor(t, &local), 0);
	CU_ASSERT_EQUAL_FATAL(annex_trace_add_tensor(t, &local), 1);
	for (uint32_t k = 0; k < 4; k++)
		CU_ASSERT_EQUAL_FATAL(annex_trace_add_kernel(t, NULL, 1000000, NULL, 0,
							     (uint32_t[]){k - 1}, k % 3 ? 1 : 0),
				      0);
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	round_system(&sys);
	p = plan_from(t, &sys, "1 alloc A; 2 free A; 2 alloc B; 3 free B");
	CU_ASSERT(holds(t, &sys, p, bound(t, &sys)));
	annex_plan_free(p);
	annex_trace_free(t);
}

UNIT_SUITE(bound, {"bytes that must come in", what_must_come_in},
	   {"bytes that must go out", what_must_go_out},
	   {"bytes that must go out across iterations", what_must_go_out_across_iterations},
	   {"what pages take", what_pages_take},
	   {"simulated in both directions", what_is_simulated_both_ways},
	   {"bytes that pass in both directions", what_passes_both_ways},
	   {"the ideal where all fits", ideal_where_all_fits},
	   {"no policy passes it", no_policy_passes_it},
	   {"no random plan passes it", no_random_plan_passes_it},
	   {"kernels that begin before their tensors are there",
	    kernels_that_overlap_with_what_they_wait_for},
	   {"tensors that live longer than they are used",
	    tensors_that_live_longer_than_they_are_used})

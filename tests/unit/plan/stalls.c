// SPDX-License-Identifier: MIT
/*
 * Time that kernels of the simulator take beyond their own.
 */
#include <annex/simulate.h>
#include "plan_traces.h"
#include "tests/unit/unit.h"

/* The steady iteration of a plan of @steps, in which a kernel of 10 ms uses A, and one B. */
static struct annex_sim_result steady(const struct annex_system *sys, const char *steps,
				      uint32_t flags, uint64_t fault_ns)
{
	struct annex_trace *t = trace_from("A:64g B:4g", "10:A 10:B");
	struct annex_plan *p = plan_from(t, sys, steps);
	struct annex_sim_job job = {t, p};
	struct annex_sim_result r = {0};

	p->flags = flags;
	t->kernels[0].fault_ns = fault_ns;
	CU_ASSERT_EQUAL(annex_simulate(&job, 1, sys, NULL, &r), 0);
	CU_ASSERT(r.steady);
	annex_plan_free(p);
	annex_trace_free(t);
	return r;
}

/*
 * Of A's 64 MiB 12 MiB are absent: a measured time counts by their share, with its transfers, and
 * is never shorter than these.
 */
static void measured_faults_count_by_share(void)
{
	static const struct {
		uint32_t flags;
		uint64_t fault_ms;
		double ms;
	} runs[] = {
		{ANNEX_PLAN_RECLAIM, 10 + 256, 20 + 48},
		{ANNEX_PLAN_RECLAIM | ANNEX_PLAN_OVERLAP, 10 + 256, 20 + 48},
		{ANNEX_PLAN_RECLAIM | ANNEX_PLAN_OVERLAP, 10 + 32, 20 + 12},
	};
	struct annex_system sys;

	round_system(&sys);
	sys.fault_ns = 3000000;
	for (unsigned int i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct annex_sim_result r = steady(&sys, "1 evict A 64 host", runs[i].flags,
						   runs[i].fault_ms * 1000000);

		CU_ASSERT_DOUBLE_EQUAL(r.iteration * 1e3, runs[i].ms, 1e-5);
	}
}

/* A comes back in 0.9 and 1.1 us, which are 0.009 and 0.011 % of its kernel's time. */
static void short_stalls_count_no_kernel(void)
{
	struct annex_system sys;

	round_system(&sys);
	for (unsigned int i = 0; i < 2; i++) {
		double s = i ? 1.1e-6 : 0.9e-6;
		struct annex_sim_result r;

		sys.pcie = 64 * (double)MIB / s;
		r = steady(&sys, "1 evict A 64 host; 2 prefetch A 64", 0, 0);
		CU_ASSERT_DOUBLE_EQUAL(r.stalled, s, 2e-9);
		CU_ASSERT_EQUAL(r.stalled_kernels, i);
	}
}

/*
 * C needs 20 MiB. The fault evicts the oldest bytes, of A, although the next kernel uses A, and
 * does not evict B, which no kernel of the window uses.
 */
static void faults_ignore_the_window(void)
{
	struct annex_trace *t = trace_from("A:40g B:40g C:40", "10:A 10:B 10:>C 10:A 10:B");
	struct annex_sim_result r = {0};
	struct annex_system sys;
	struct annex_sim_job job;
	struct annex_plan *p;

	round_system(&sys);
	sys.gpu = 100 * MIB;
	p = plan_from(t, &sys, "4 free C");
	job = (struct annex_sim_job){t, p};
	p->flags = ANNEX_PLAN_RECLAIM | ANNEX_PLAN_OVERLAP;
	p->window = 1;
	CU_ASSERT_EQUAL(annex_simulate(&job, 1, &sys, NULL, &r), 0);
	CU_ASSERT_EQUAL(r.in[ANNEX_TIER_HOST], 40 * MIB);
	annex_plan_free(p);
	annex_trace_free(t);
}

UNIT_SUITE(stalls, {"faults ignore the window", faults_ignore_the_window},
	   {"measured faults count by share", measured_faults_count_by_share},
	   {"short stalls count no kernel", short_stalls_count_no_kernel})

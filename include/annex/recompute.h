/* SPDX-License-Identifier: MIT */
/*
 * Recomputation: kernels that run again, so that tensors need not be kept between their uses.
 *
 * A tensor that one kernel writes is freed after its last use before an inactive period, and that
 * kernel runs again before the next use. Its inputs must be alive and unchanged then. The program
 * must be able to repeat its kernels, with the same random numbers, as torch.utils.checkpoint does.
 */
#ifndef ANNEX_RECOMPUTE_H
#define ANNEX_RECOMPUTE_H

#include <annex/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_recomputed - An iteration with repeated kernels, and a plan for it.
 * @trace: the iteration; release it with annex_trace_free().
 * @plan: the plan for @trace; release it with annex_plan_free().
 * @kernels: number of kernels that run again.
 * @bytes: bytes of the tensors that are computed again.
 * @ns: time of the repeated kernels in nanoseconds.
 * @seconds: simulated time of the iteration.
 */
struct annex_recomputed {
	struct annex_trace *trace;
	struct annex_plan *plan;
	uint32_t kernels;
	uint64_t bytes, ns;
	double seconds;
};

/**
 * annex_recompute() - Choose tensors to compute again, and make a plan.
 * @policy: the policy that makes the plan.
 * @v: vitality of the trace.
 * @sys: the machine.
 * @result: the result; after an error, its @trace and @plan are NULL.
 *
 * Tensors are tried by the time of their kernels for each byte, in groups of growing size, none
 * first. The plan of each group is simulated with every GPU doing the same, and the fastest is
 * returned. So it is never slower than the plan without repeated kernels. A group with which the
 * iteration would be beyond the limits of a trace (ANNEX_TRACE_MAX_*) is left out.
 *
 * Return: 0; -ENOSPC (no plan can run); -ENOMEM; else as annex_plan_make().
 */
int annex_recompute(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, struct annex_recomputed *result);

/**
 * annex_recompute_bound() - Lower bound on the time of a steady iteration, under any plan that may
 * also repeat kernels.
 * @v: vitality of the trace.
 * @sys: as for annex_bound().
 * @seconds: set to the bound.
 *
 * Return: 0 or -ENOMEM.
 */
int annex_recompute_bound(const struct annex_vitality *v, const struct annex_system *sys,
			  double *seconds);

#ifdef __cplusplus
}
#endif

#endif

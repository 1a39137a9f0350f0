/* SPDX-License-Identifier: MIT */
/*
 * The time that no plan beats, and the kernels at which it passes.
 */
#ifndef ANNEX_PLAN_SIMULATE_BOUND_H
#define ANNEX_PLAN_SIMULATE_BOUND_H

#include <annex/simulate.h>

/*
 * bound_times() - annex_bound(), and how it may be spread over the kernels.
 * @ns: set to the time of each kernel with the stall after it, in nanoseconds; NULL: not wanted.
 *	Their sum is the bound. If that is infinite, they are the times of the kernels alone.
 *
 * The windows of the bound say how long a group of kernels takes, not where it stalls. Half of the
 * stalls lie evenly in each window. The other half lies where kernels end as early as any window
 * before them allows.
 */
int bound_times(const struct annex_vitality *v, const struct annex_system *sys, double *ns,
		double *seconds);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A slow simulator to compare with: one GPU, plans with ANNEX_PLAN_RECLAIM, from event to event.
 */
#ifndef ANNEX_TESTS_SIMULATE_DEMAND_H
#define ANNEX_TESTS_SIMULATE_DEMAND_H

#include <annex/simulate.h>

/* demand_simulate() - Seconds of the last of @iterations; -1: it stops for ever. */
double demand_simulate(const struct annex_trace *t, const struct annex_plan *p,
		       const struct annex_system *sys, unsigned int iterations);

#endif

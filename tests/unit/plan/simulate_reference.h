/* SPDX-License-Identifier: MIT */
/*
 * Slow simulators to compare with, for one GPU.
 */
#ifndef ANNEX_TESTS_SIMULATE_REFERENCE_H
#define ANNEX_TESTS_SIMULATE_REFERENCE_H

#include <annex/simulate.h>

/* reference_simulate() - Strict plans, all bytes as fluids in steps of @dt. Return: seconds of the
 * last of @iterations; -1: the plan deadlocks. */
double reference_simulate(const struct annex_trace *t, const struct annex_plan *p,
			  const struct annex_system *sys, unsigned int iterations, double dt);

/* demand_simulate() - Plans with ANNEX_PLAN_RECLAIM, from event to event. Return: likewise. */
double demand_simulate(const struct annex_trace *t, const struct annex_plan *p,
		       const struct annex_system *sys, unsigned int iterations);

#endif

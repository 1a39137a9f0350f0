/* SPDX-License-Identifier: MIT */
/*
 * A slow simulator to compare with: one GPU, strict plans, all bytes as fluids in small steps.
 */
#ifndef ANNEX_TESTS_SIMULATE_REFERENCE_H
#define ANNEX_TESTS_SIMULATE_REFERENCE_H

#include <annex/simulate.h>

/* reference_simulate() - Seconds of the last of @iterations, in steps of @dt; -1: it stops. */
double reference_simulate(const struct annex_trace *t, const struct annex_plan *p,
			  const struct annex_system *sys, unsigned int iterations, double dt);

#endif

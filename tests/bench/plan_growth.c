// SPDX-License-Identifier: MIT
/*
 * How planning time grows with the number of kernels, on synthetic traces of one pressure.
 *
 * Up to some number of kernels annex makes G10's plan too, to be never slower; that planner's time
 * grows with the square. It is measured by itself and taken off, so that what is left, t(n), are
 * annex's own passes and their simulations.
 *
 * If t(n) grew as (n log n)^p, p would be the slope of log t over log(n log2 n): a straight line is
 * laid through all sizes. p <= 1 is "no faster than n log n"; one twentieth more is allowed for
 * noise, and for caches: a thousand kernels fit into the first ones, a hundred thousand into none,
 * which no algorithm can help. A planner of n^2 shows p = 1.8.
 */
#include <math.h>
#include <stdio.h>
#include "plan.h"

#define ROUNDS 3 /* of what is measured by a difference; the least counts */

static const uint32_t sizes[] = {1000, 2000, 4000, 8000, 16000, 32000, 64000, 100000};
#define SIZES (sizeof(sizes) / sizeof(*sizes))
#define LARGE 4 /* the upper half, told apart: small sizes take more for each kernel */
/* As in the planner (lib/plan/policy_annex.c). */
#define G10_TOO_MANY 8000

/* Seconds of a policy's planning, if that is less than before. */
static void planning(const struct plan_trace *t, const char *policy, double *least)
{
	struct annex_system sys;
	struct plan_run run;

	annex_system_init(&sys);
	plan_run(t, &sys, policy, &run);
	if (!run.feasible)
		bench_fail("%s: %s makes no plan", t->label, policy);
	*least = run.made_s < *least ? run.made_s : *least;
	annex_plan_free(run.plan);
}

static double measure(uint32_t kernels, double *own)
{
	struct annex_trace_spec spec = {.model = "synthetic", .kernels = kernels};
	struct plan_trace t = {.trace = NULL};
	bool beside = kernels <= G10_TOO_MANY;
	double all = INFINITY, g10 = INFINITY;

	snprintf(t.label, sizeof(t.label), "%u kernels", kernels);
	if (annex_trace_generate(&spec, &t.trace))
		bench_fail("%s", annex_last_error());
	if (annex_vitality_create(t.trace, &t.vitality))
		bench_fail("%s: out of memory", t.label);
	for (unsigned int r = 0; r < (beside ? ROUNDS : 1); r++) {
		planning(&t, "annex", &all);
		if (beside)
			planning(&t, "g10", &g10);
	}
	*own = beside ? all - g10 : all;
	plan_close(&t);
	if (*own <= 0)
		bench_fail("%s: planned faster than by G10, which should be in it: has the planner "
			   "another limit?",
			   t.label);
	return all;
}

/* The slope of a straight line through the points, least squares. */
static double slope(const double *x, const double *y, unsigned int n)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0;

	for (unsigned int i = 0; i < n; i++) {
		sx += x[i];
		sy += y[i];
		sxx += x[i] * x[i];
		sxy += x[i] * y[i];
	}
	return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

void plan_growth(const struct plan_ctx *ctx)
{
	double x[SIZES], y[SIZES], first = 0, last = 0;

	(void)ctx;
	for (unsigned int i = 0; i < SIZES; i++) {
		double work = sizes[i] * log2(sizes[i]), own, all = measure(sizes[i], &own);
		char figure[160];

		bench_command("annex trace gen synthetic --kernels %u | "
			      "annex simulate - --policy annex",
			      sizes[i]);
		snprintf(figure, sizeof(figure), "planning %u kernels", sizes[i]);
		bench_figure(figure, all, "s", 0, 0);
		snprintf(figure, sizeof(figure), "%u: annex's own passes / (n log2 n)", sizes[i]);
		last = own / work * 1e6;
		bench_figure(figure, last, "us", 0, 0);
		first = i ? first : last;
		x[i] = log(work);
		y[i] = log(own);
	}
	bench_command("make bench-plan");
	bench_figure("planning time / (n log2 n), 100,000 kernels / 1,000", last / first, "x", 1.5,
		     1);
	bench_figure("planning time as (n log n)^p: p", slope(x, y, SIZES), "", 1.05, 1);
	bench_figure("the same from 16,000 kernels on: p",
		     slope(x + LARGE, y + LARGE, SIZES - LARGE), "", 0, 0);
}

// SPDX-License-Identifier: MIT
/*
 * How planning time grows with the number of kernels, on synthetic traces of one pressure.
 *
 * If t(n) grew as (n log n)^p, p would be the slope of log t over log(n log2 n): a straight line is
 * laid through all sizes. p <= 1 is "no faster than n log n"; one twentieth more is allowed for
 * noise, and for caches: a thousand kernels fit into the first ones, a hundred thousand into none,
 * which no algorithm can help. A planner of n^2 shows p = 1.8.
 */
#include <math.h>
#include <stdio.h>
#include "plan.h"

#define ROUNDS BENCH_SIZE(3, 1) /* of which the least counts */

static const uint32_t sizes[] = {1000, 2000, 4000, 8000, 16000, 32000, 64000, 100000};
#define MOST (sizeof(sizes) / sizeof(*sizes))
#define SIZES BENCH_SIZE(MOST, 3)
#define LARGE (SIZES / 2) /* the upper half, told apart: small sizes take more for each kernel */

/* Seconds that policy annex takes to plan. */
static double measure(uint32_t kernels)
{
	struct annex_trace_spec spec = {.model = "synthetic", .kernels = kernels};
	struct plan_trace t = {.trace = NULL};
	struct annex_system sys;
	double least = INFINITY;

	annex_system_init(&sys);
	snprintf(t.label, sizeof(t.label), "%u kernels", kernels);
	if (annex_trace_generate(&spec, &t.trace))
		bench_fail("%s", annex_last_error());
	if (annex_vitality_create(t.trace, &t.vitality))
		bench_fail("%s: out of memory", t.label);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		struct plan_run run;

		plan_run(&t, &sys, "annex", &run);
		if (!run.feasible)
			bench_fail("%s: annex makes no plan", t.label);
		least = fmin(least, run.made_s);
		annex_plan_free(run.plan);
	}
	plan_close(&t);
	return least;
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

void plan_growth(const struct bench_ctx *ctx)
{
	double x[MOST], y[MOST], first = 0, last = 0;

	(void)ctx;
	for (unsigned int i = 0; i < SIZES; i++) {
		double work = sizes[i] * log2(sizes[i]), took = measure(sizes[i]);
		char figure[160];

		bench_command("annex trace gen synthetic --kernels %u | "
			      "annex simulate - --policy annex",
			      sizes[i]);
		snprintf(figure, sizeof(figure), "planning %u kernels", sizes[i]);
		bench_figure(figure, took, "s", 0, 0);
		snprintf(figure, sizeof(figure), "%u: planning time / (n log2 n)", sizes[i]);
		last = took / work * 1e6;
		bench_figure(figure, last, "us", 0, 0);
		first = i ? first : last;
		x[i] = log(work);
		y[i] = log(took);
	}
	bench_command("make bench-plan");
	bench_figure("planning time / (n log2 n), 100,000 kernels / 1,000", last / first, "x", 1.5,
		     1);
	bench_figure("planning time as (n log n)^p: p", slope(x, y, SIZES), "", 1.05, 1);
	bench_figure("the same from 16,000 kernels on: p",
		     slope(x + LARGE, y + LARGE, SIZES - LARGE), "", 0, 0);
}

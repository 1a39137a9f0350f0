// SPDX-License-Identifier: MIT
/*
 * Measured traces: the baselines against what G10's own planner and simulator make of them, and
 * annex against the ideal.
 */
#include <math.h>
#include <stdio.h>
#include "plan.h"

enum { G10, HOST, GDS, DEEPUM, FLASHNEURON, UVM, POLICIES };

/* How far from G10's own seconds they may be. */
static const struct {
	const char *name;
	double apart;
} policies[POLICIES] = {{"g10", 3},     {"g10-host", 15},    {"g10-gds", 15},
			{"deepum", 15}, {"flashneuron", 15}, {"uvm", 25}};

/*
 * Seconds of the steady iteration in G10's artifact; INFINITY: infeasible; NAN: not published.
 * @share: of the ideal, 0: none is asked for.
 */
static const struct {
	struct plan_subject subject;
	double seconds[POLICIES];
	double share;
} references[] = {
	{{"bert-256", 0}, {7.311, 7.989, 9.043, 9.160, 10.216, 19.650}, 99.8},
	{{"vit-1280", 0}, {5.540, 6.234, 6.576, 7.558, INFINITY, 24.600}, 95},
	{{"bert-512", 0}, {14.673, NAN, NAN, 15.817, 44.080, 80.876}, 0},
	{{"vit-1024", 0}, {4.434, NAN, NAN, 5.781, 5.269, 14.972}, 0},
	{{"resnet152-1280", 0}, {114.420, 115.705, 155.358, 132.024, 175.261, 468.908}, 99.5},
};
#define REFERENCES BENCH_SIZE(sizeof(references) / sizeof(*references), 3)

static void compare(const struct plan_trace *t, unsigned int policy, double reference, double ours)
{
	const char *name = policies[policy].name;
	char figure[160];

	bench_command("annex simulate %s --policy %s", t->file, name);
	if (isnan(reference) && isinf(ours))
		return;
	if (isinf(reference) || isinf(ours)) {
		snprintf(figure, sizeof(figure), "%s: %s is %sfeasible, as G10's (1: yes)",
			 t->label, name, isinf(reference) ? "in" : "");
		bench_figure(figure, isinf(ours) == isinf(reference), "", 1, 0);
		return;
	}
	snprintf(figure, sizeof(figure), "%s: %s", t->label, name);
	bench_figure(figure, ours, "s", 0, 0);
	if (isnan(reference))
		return;
	snprintf(figure, sizeof(figure), "%s: %s, apart from G10's %.3f s", t->label, name,
		 reference);
	bench_figure(figure, fabs(ours / reference - 1) * 100, "%", policies[policy].apart, 1);
}

/* Pairs of policies of which the other one is faster than in G10's simulator. */
static unsigned int out_of_order(const double *reference, const double *ours)
{
	unsigned int pairs = 0;

	for (unsigned int a = 0; a < POLICIES; a++)
		for (unsigned int b = a + 1; b < POLICIES; b++)
			pairs += !isnan(reference[a]) && !isnan(reference[b]) &&
				 (reference[a] < reference[b]) != (ours[a] < ours[b]);
	return pairs;
}

static double seconds(const struct plan_trace *t, const struct annex_system *sys,
		      const char *policy)
{
	struct plan_run run;

	plan_run(t, sys, policy, &run);
	annex_plan_free(run.plan);
	return run.feasible ? run.r.iteration : INFINITY;
}

static void annex_of(const struct plan_trace *t, const struct annex_system *sys, double share,
		     double g10)
{
	double ideal = (double)t->vitality->start[t->trace->n_kernels] / 1e9, bound, s;
	struct annex_system strict = *sys;
	char figure[160];

	if (annex_bound(t->vitality, sys, &bound))
		bench_fail("%s: out of memory", t->label);
	s = seconds(t, sys, "annex");
	bench_command("annex simulate %s --policy annex", t->file);
	snprintf(figure, sizeof(figure), "%s: annex", t->label);
	bench_figure(figure, s, "s", 0, 0);
	strict.strict = true;
	bench_command("annex simulate %s --policy annex --strict", t->file);
	snprintf(figure, sizeof(figure), "%s: annex, strict", t->label);
	bench_figure(figure, seconds(t, &strict, "annex"), "s", 0, 0);
	bench_command("annex simulate %s --policy annex", t->file);
	snprintf(figure, sizeof(figure), "%s: annex, of the ideal", t->label);
	bench_figure(figure, ideal / s * 100, "%", share, 0);
	snprintf(figure, sizeof(figure), "%s: g10, of the ideal", t->label);
	bench_figure(figure, ideal / g10 * 100, "%", 0, 0);
	bench_command("annex plan %s --bound", t->file);
	snprintf(figure, sizeof(figure), "%s: annex above the bound of %.3f s", t->label, bound);
	bench_figure(figure, (s / bound - 1) * 100, "%", 0, 0);
}

void plan_g10(const struct bench_ctx *ctx)
{
	struct annex_system sys;

	(void)ctx;
	annex_system_init(&sys);
	for (unsigned int i = 0; i < REFERENCES; i++) {
		double ours[POLICIES];
		struct plan_trace t;
		char figure[160];

		if (!plan_open(&references[i].subject, &t)) {
			bench_note("%s is not there: nothing to compare with G10", t.file);
			continue;
		}
		for (unsigned int p = 0; p < POLICIES; p++) {
			ours[p] = seconds(&t, &sys, policies[p].name);
			compare(&t, p, references[i].seconds[p], ours[p]);
		}
		bench_command("annex simulate %s --policy all", t.file);
		snprintf(figure, sizeof(figure), "%s: pairs of these in another order", t.label);
		bench_figure(figure, out_of_order(references[i].seconds, ours), "", 0, 1);
		annex_of(&t, &sys, references[i].share, ours[G10]);
		plan_close(&t);
	}
}

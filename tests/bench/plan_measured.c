// SPDX-License-Identifier: MIT
/*
 * Measured traces: annex against the ideal and its bound. The other policies: make figures-g10.
 */
#include <math.h>
#include <stdio.h>
#include "plan.h"

/* @share: of the ideal, in percent; 0: none is asked for. */
static const struct {
	struct plan_subject subject;
	double share;
} measured[] = {{{"bert-256", 0}, 99.8},
		{{"vit-1280", 0}, 95},
		{{"bert-512", 0}, 0},
		{{"vit-1024", 0}, 0},
		{{"resnet152-1280", 0}, 99.5}};
#define MEASURED BENCH_SIZE(sizeof(measured) / sizeof(*measured), 3)

static double seconds(const struct plan_trace *t, const struct annex_system *sys,
		      const char *policy)
{
	struct plan_run run;

	plan_run(t, sys, policy, &run);
	annex_plan_free(run.plan);
	return run.feasible ? run.r.iteration : INFINITY;
}

static void annex_of(const struct plan_trace *t, const struct annex_system *sys, double share)
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
	bench_command("annex simulate %s --policy g10", t->file);
	snprintf(figure, sizeof(figure), "%s: g10, of the ideal", t->label);
	bench_figure(figure, ideal / seconds(t, sys, "g10") * 100, "%", 0, 0);
	bench_command("annex plan %s --bound", t->file);
	snprintf(figure, sizeof(figure), "%s: annex above the bound of %.3f s", t->label, bound);
	bench_figure(figure, (s / bound - 1) * 100, "%", 0, 0);
}

void plan_measured(const struct bench_ctx *ctx)
{
	struct annex_system sys;

	(void)ctx;
	annex_system_init(&sys);
	for (unsigned int i = 0; i < MEASURED; i++) {
		struct plan_trace t;

		if (!plan_open(&measured[i].subject, &t)) {
			bench_note("%s is not there", t.file);
			continue;
		}
		annex_of(&t, &sys, measured[i].share);
		plan_close(&t);
	}
}

// SPDX-License-Identifier: MIT
/*
 * Kernels that take up to a fifth more or less than planned (G10 figure 19): how much further from
 * the ideal an iteration is, whose own ideal has the same noise.
 */
#include <stdio.h>
#include "plan.h"

#define NOISE 0.2
#define SEEDS BENCH_SIZE(8, 1)

static const struct plan_subject subjects[] = {
	{"bert-256", 0}, {"vit-1280", 0},       {"bert-base", 256},
	{"gpt2-xl", 4},  {"resnet152-1280", 0}, {"resnet152", 1024},
};
#define SUBJECTS BENCH_SIZE(sizeof(subjects) / sizeof(*subjects), 3)

static double noisy(const struct plan_trace *t, const struct annex_system *sys,
		    const struct annex_plan *plan)
{
	struct annex_sim_job job = {t->trace, plan};
	double sum = 0;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		struct annex_sim_options opts = {.noise = NOISE, .seed = seed};
		struct annex_sim_result r;

		if (annex_simulate(&job, 1, sys, &opts, &r))
			bench_fail("%s, with noise: %s", t->label, annex_last_error());
		sum += r.iteration / r.ideal;
	}
	return sum / SEEDS;
}

void plan_noise(const struct bench_ctx *ctx)
{
	struct annex_system sys;

	(void)ctx;
	annex_system_init(&sys);
	for (unsigned int i = 0; i < SUBJECTS; i++) {
		struct plan_trace t;
		struct plan_run run;
		char figure[160];
		double still;

		if (!plan_open(&subjects[i], &t))
			continue;
		plan_run(&t, &sys, "annex", &run);
		if (!run.feasible)
			bench_fail("%s: annex makes no plan", t.label);
		still = run.r.iteration / run.r.ideal;
		bench_command("%sannex simulate %s --policy annex --noise 0.2 --seed 0 # to %d",
			      plan_prepare(&subjects[i]), t.file, SEEDS - 1);
		snprintf(figure, sizeof(figure), "%s: slower by noise of 20 %%", t.label);
		bench_figure(figure, (noisy(&t, &sys, run.plan) / still - 1) * 100, "%", 0.5, 1);
		annex_plan_free(run.plan);
		plan_close(&t);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the benchmarks of migration plans: traces to plan for, and one policy run on one.
 */
#ifndef ANNEX_TESTS_PLAN_H
#define ANNEX_TESTS_PLAN_H

#include <stdbool.h>
#include <annex/generate.h>
#include <annex/log.h>
#include <annex/plan.h>
#include <annex/simulate.h>
#include "figure.h"

/**
 * struct plan_subject - A trace: measured, or generated from a model.
 * @name: of the measured file, without .json, or of the model.
 * @batch: of the model; 0: measured.
 */
struct plan_subject {
	const char *name;
	uint64_t batch;
};

/* struct plan_trace - A subject that was read or made. @label: as figures name it. */
struct plan_trace {
	char label[64];
	char file[4096]; /* as commands name it; a generated one: as they write it */
	struct annex_trace *trace;
	struct annex_vitality *vitality;
};

/* False: measured, and not there. */
bool plan_open(const struct plan_subject *s, struct plan_trace *t);
void plan_close(struct plan_trace *t);

/* The command that writes the trace's file, with a "&&" behind it; nothing of a measured one. */
const char *plan_prepare(const struct plan_subject *s);

/**
 * struct plan_run - The result of a policy.
 * @plan: to be freed; NULL if not feasible.
 * @made_s: seconds of a processor that planning took; it is one thread and waits for nothing.
 */
struct plan_run {
	bool feasible;
	struct annex_plan *plan;
	struct annex_sim_result r;
	double made_s;
};

/*
 * Plan by a policy, check the plan, simulate it. The benchmark ends if the check fails: such a plan
 * has no figure.
 */
void plan_run(const struct plan_trace *t, const struct annex_system *sys, const char *policy,
	      struct plan_run *run);

/* The planner is content with a millionth above the ideal: so far apart two times are equal. */
#define PLAN_EQUAL 1.000001

/* The policies that move something, but annex. */
#define PLAN_OTHERS 6u
extern const char *const plan_others[PLAN_OTHERS];

/* plan_each() - @one for each number below @n, on all processors; each writes its own data only. */
void plan_each(unsigned int n, void (*one)(void *ctx, unsigned int i), void *ctx);

/* One file a group of figures. */
void plan_cost(const struct bench_ctx *ctx);
void plan_measured(const struct bench_ctx *ctx);
void plan_noise(const struct bench_ctx *ctx);
void plan_grid(const struct bench_ctx *ctx);
void plan_many(const struct bench_ctx *ctx);
void plan_growth(const struct bench_ctx *ctx);

#endif

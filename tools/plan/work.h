/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces on a machine: one GPU each, or one trace on all of them; and the results of plans and
 * policies.
 */
#ifndef TOOLS_PLAN_WORK_H
#define TOOLS_PLAN_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <annex/plan.h>
#include <annex/simulate.h>
#include "tools/common/cli.h"

/*
 * struct work - @n traces, each analysed. A zeroed one is empty.
 * @before: of an iteration with repeated kernels, the one without, whose bound applies; or NULL.
 */
struct work {
	unsigned int n;
	const struct annex_vitality *before;
	const char *paths[ANNEX_MAX_GPUS];
	struct annex_trace *traces[ANNEX_MAX_GPUS];
	struct annex_vitality *vitality[ANNEX_MAX_GPUS];
};

/* work_open() - Read the traces at @paths. work_close() - Free them. */
int work_open(struct work *w, char *const *paths, unsigned int n);
void work_close(struct work *w);

/*
 * work_clean() - The first whole characters of @text, NULL or UTF-8, that fit in @room bytes, in
 * printable characters: names from hostile files must not control the terminal.
 */
const char *work_clean(const char *text, char *buf, size_t room);

/*
 * work_check() - Whether such a machine can exist and run these traces. The line names a kernel
 * whose own tensors exceed the GPU.
 */
int work_check(const struct work *w, const struct annex_system *sys);

/* work_trace() - Which trace a GPU runs. */
unsigned int work_trace(const struct work *w, unsigned int gpu);

/* The library's policies, for --help; work_policy_at() - One of them. */
extern const struct cli_list work_policies;
const char *work_policy_at(unsigned int i, char *summary);

/* work_ideal() - Seconds of the longest trace if nothing stalls. */
double work_ideal(const struct work *w);

/* work_bound() - Lower bound of the seconds of an iteration, in which kernels may run @again;
 * infinity: no plan can run. */
int work_bound(const struct work *w, const struct annex_system *sys, bool again, double *seconds);

/*
 * struct outcome - The result of a policy or a plan.
 * @of: the policy whose plan was taken over (annex_plan_of()), or empty.
 * @unlimited: on a GPU that has memory for everything.
 * @reason: why it is not feasible.
 * @steps: of the plan for the first GPU.
 * @bound: as work_bound(), or NAN: with noise there is none.
 * @plan_s: seconds of planning.
 * @sim_s: seconds of simulating.
 * @gpus: NULL, or the result of each of several GPUs, until outcome_free().
 */
struct outcome {
	char policy[32], of[32];
	bool feasible, unlimited;
	char reason[300];
	size_t steps;
	double bound, plan_s, sim_s;
	struct annex_sim_result r;
	struct annex_sim_result *gpus;
};

void outcome_free(struct outcome *o);

/*
 * work_policy() - Plan with @policy, and simulate. If @plan is not NULL, *@plan is the plan for the
 * first GPU (NULL if not feasible). Returns 0 too when it is not feasible.
 *
 * work_plan() - Simulate a plan on the first GPU and all like it; not feasible is an error.
 *
 * After success and failure, free @o with outcome_free().
 */
int work_policy(const struct work *w, const struct annex_system *sys,
		const struct annex_policy *policy, const struct annex_sim_options *opts,
		struct annex_plan **plan, struct outcome *o);
int work_plan(const struct work *w, const struct annex_system *sys, const struct annex_plan *plan,
	      const struct annex_sim_options *opts, struct outcome *o);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include <annex/recompute.h>
#include "tools/common/error.h"
#include "../trace/read.h"
#include "work.h"

int work_open(struct work *w, char *const *paths, unsigned int n)
{
	int err = 0;

	memset(w, 0, sizeof(*w));
	for (unsigned int i = 0; i < n && !err; i++) {
		w->paths[i] = paths[i];
		w->n = i + 1;
		err = trace_read(paths[i], &w->traces[i]);
		if (!err)
			err = annex_vitality_create(w->traces[i], &w->vitality[i]);
		if (err)
			err_lib(err, "%s", paths[i]);
	}
	if (err)
		work_close(w);
	return err;
}

void work_close(struct work *w)
{
	for (unsigned int i = 0; i < w->n; i++) {
		annex_vitality_destroy(w->vitality[i]);
		annex_trace_free(w->traces[i]);
	}
	memset(w, 0, sizeof(*w));
}

const char *work_clean(const char *text, char *buf, size_t room)
{
	size_t n = text ? strnlen(text, room - 1) : 0;

	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		buf[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	buf[n] = '\0';
	return buf;
}

static int check_kernels(const struct work *w, unsigned int i, uint64_t gpu)
{
	const struct annex_trace *t = w->traces[i];
	const uint64_t *active = w->vitality[i]->active;
	char name[65];

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		if (active[k] <= gpu)
			continue;
		work_clean(t->kernels[k].name, name, sizeof(name));
		return err_set(-ENOSPC,
			       "%s: kernel %u%s%s%s uses %llu bytes at once, and the GPU has %llu",
			       w->paths[i], k, *name ? " (" : "", name, *name ? ")" : "",
			       (ull)active[k], (ull)gpu);
	}
	return 0;
}

int work_check(const struct work *w, const struct annex_system *sys)
{
	int err = annex_system_check(sys);

	if (err)
		return err_set(err, "%s", annex_last_error());
	if (w->n > 1 && sys->gpus != w->n)
		return err_set(-EINVAL, "%u traces on %u GPU%s: give one trace, or one for each",
			       w->n, sys->gpus, sys->gpus == 1 ? "" : "s");
	for (unsigned int i = 0; i < w->n && !err; i++)
		err = check_kernels(w, i, sys->gpu);
	return err;
}

double work_ideal(const struct work *w)
{
	double longest = 0;

	for (unsigned int i = 0; i < w->n; i++) {
		double s = (double)w->vitality[i]->start[w->traces[i]->n_kernels] * 1e-9;

		longest = s > longest ? s : longest;
	}
	return longest;
}

int work_bound(const struct work *w, const struct annex_system *sys, bool again, double *seconds)
{
	*seconds = 0;
	for (unsigned int i = 0; i < w->n; i++) {
		double s;
		int err = again ? annex_recompute_bound(w->before ? w->before : w->vitality[i], sys,
							&s)
				: annex_bound(w->vitality[i], sys, &s);

		if (err)
			return err_lib(err, "%s: no bound", w->paths[i]);
		*seconds = s > *seconds ? s : *seconds;
	}
	return 0;
}

static double since(uint64_t start)
{
	return (double)(annex_now() - start) * 1e-9;
}

unsigned int work_trace(const struct work *w, unsigned int gpu)
{
	return gpu < w->n ? gpu : 0;
}

const char *work_policy_at(unsigned int i, char *summary)
{
	const struct annex_policy *policy = annex_policy_at(i);

	if (!policy)
		return NULL;
	snprintf(summary, CLI_SUMMARY, "%s", policy->summary);
	return policy->name;
}

const struct cli_list work_policies = {.arg = "POLICY", .at = work_policy_at};

/* A plan for each trace; GPUs beyond them run the same again. */
static int simulate(const struct work *w, const struct annex_system *sys,
		    struct annex_plan *const *plans, const struct annex_sim_options *opts,
		    struct outcome *o)
{
	struct annex_sim_job jobs[ANNEX_MAX_GPUS];
	struct annex_sim_options each = *opts;
	uint64_t start = annex_now();
	int err;

	if (sys->gpus > 1) {
		each.gpus = o->gpus = calloc(sys->gpus, sizeof(*o->gpus));
		if (!o->gpus)
			return err_set(-ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < sys->gpus; i++) {
		jobs[i].trace = w->traces[work_trace(w, i)];
		jobs[i].plan = plans[work_trace(w, i)];
	}
	err = annex_simulate(jobs, sys->gpus, sys, &each, &o->r);
	o->sim_s = since(start);
	if (annex_plan_of(plans[0]))
		snprintf(o->of, sizeof(o->of), "%s", annex_plan_of(plans[0]));
	o->steps = plans[0]->n_steps;
	o->unlimited = plans[0]->flags & ANNEX_PLAN_UNLIMITED;
	o->feasible = !err;
	return err;
}

static int make_plans(const struct work *w, const struct annex_system *sys,
		      const struct annex_policy *policy, struct annex_plan **plans,
		      struct outcome *o)
{
	uint64_t start = annex_now();
	int err = 0;

	for (unsigned int i = 0; i < w->n && !err; i++)
		err = annex_plan_make(policy, w->vitality[i], sys, &plans[i]);
	o->plan_s = since(start);
	return err;
}

/* The bound holds for the times of the trace, and noise makes other ones. */
static int bound_without(const struct work *w, const struct annex_system *sys, double noise,
			 double *bound)
{
	*bound = NAN;
	return noise > 0 ? 0 : work_bound(w, sys, w->before, bound);
}

void outcome_free(struct outcome *o)
{
	free(o->gpus);
	o->gpus = NULL;
}

int work_policy(const struct work *w, const struct annex_system *sys,
		const struct annex_policy *policy, const struct annex_sim_options *opts,
		struct annex_plan **plan, struct outcome *o)
{
	struct annex_plan *plans[ANNEX_MAX_GPUS] = {NULL};
	bool infeasible;
	int err;

	memset(o, 0, sizeof(*o));
	snprintf(o->policy, sizeof(o->policy), "%s", policy->name);
	err = bound_without(w, sys, opts->noise, &o->bound);
	if (err)
		return err;
	err = make_plans(w, sys, policy, plans, o);
	if (!err)
		err = simulate(w, sys, plans, opts, o);
	/* No plan of a policy runs for ever; if one did, it would be infeasible all the same. */
	infeasible = err == -ENOSPC || err == -EDEADLK;
	if (infeasible)
		snprintf(o->reason, sizeof(o->reason), "%s", annex_last_error());
	else if (err)
		err_lib(err, "policy %s", policy->name);
	for (unsigned int i = plan && !err; i < w->n; i++)
		annex_plan_free(plans[i]);
	if (plan)
		*plan = err ? NULL : plans[0];
	return infeasible ? 0 : err;
}

/* Repeated kernels do not count. */
static void set_ideal(struct outcome *o, const struct annex_system *sys, double seconds)
{
	o->r.ideal = seconds;
	for (unsigned int i = 0; o->gpus && i < sys->gpus; i++)
		o->gpus[i].ideal = seconds;
}

int work_plan(const struct work *w, const struct annex_system *sys, const struct annex_plan *plan,
	      const struct annex_sim_options *opts, struct outcome *o)
{
	struct annex_plan *plans[ANNEX_MAX_GPUS];
	int err;

	memset(o, 0, sizeof(*o));
	snprintf(o->policy, sizeof(o->policy), "%.*s", (int)strcspn(plan->policy, "+"),
		 plan->policy);
	err = bound_without(w, sys, opts->noise, &o->bound);
	if (err)
		return err;
	for (unsigned int i = 0; i < w->n; i++)
		plans[i] = (struct annex_plan *)plan;
	err = simulate(w, sys, plans, opts, o);
	if (!err && w->before)
		set_ideal(o, sys, (double)w->before->start[w->before->trace->n_kernels] * 1e-9);
	return err ? err_lib(err, "the plan does not run") : 0;
}

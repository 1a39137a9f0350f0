// SPDX-License-Identifier: MIT
/*
 * Annex's policy: a few passes of its planner, judged by the simulator.
 *
 * The first passes reckon with kernels that never wait, and differ in taste. Where the links cannot
 * keep up, kernels do wait, and a transfer has more time than was reckoned: further passes take the
 * times that the simulator measured of the best. Where even the best is far from the ideal, a plan
 * of G10's stands beside it, so that it is never slower than that.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/simulate.h>
#include "annex.h"
#include "policy.h"

#define GOOD 1.0002 /* times the ideal need not be better */
#define AGAIN 3     /* passes with measured times */
/* Kernels beyond which G10's planner, whose time grows with their square, is left out. */
#define TOO_MANY 20000

static const struct annex_taste tastes[] = {
	{.far = false, .scarce = false, .lead = 2.0}, {.far = true, .scarce = false, .lead = 1.1},
	{.far = true, .scarce = false, .lead = 2.0},  {.far = true, .scarce = true, .lead = 1.1},
	{.far = false, .scarce = true, .lead = 2.0},
};

#define TASTES (sizeof(tastes) / sizeof(tastes[0]))

struct search {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_system alone; /* one GPU with its share of what GPUs share */
	double *ns;                /* what the next pass reckons with */
	struct annex_sim_sample *samples, *best_samples;
	struct annex_plan *best;
	double ideal, best_s;
	const struct annex_taste *taste; /* of the best */
};

static int one_pass(const struct search *s, const struct annex_taste *taste,
		    struct annex_plan **plan)
{
	struct annex_pass p = {.v = s->v,
			       .sys = &s->alone,
			       .taste = *taste,
			       .n = s->v->trace->n_kernels,
			       .ns = s->ns,
			       .capacity = s->sys->gpu};
	int err = annex_plan_create("annex", s->v->trace, s->sys, plan);

	if (err)
		return err;
	err = annex_pass_init(&p);
	if (!err) {
		annex_select(&p);
		err = p.err;
	}
	if (!err) {
		annex_pull(&p);
		err = p.err;
	}
	if (!err)
		err = annex_emit(&p, *plan);
	annex_pass_free(&p);
	if (err) {
		annex_plan_free(*plan);
		*plan = NULL;
	}
	return err;
}

/* Keep a plan if it is the best so far; one that cannot run is none. */
static int judge(struct search *s, struct annex_plan *plan, const struct annex_taste *taste)
{
	struct annex_sim_job job = {s->v->trace, plan};
	struct annex_sim_options opts = {.samples = s->samples};
	struct annex_sim_sample *samples = s->samples;
	struct annex_sim_result r;
	int err = annex_simulate(&job, 1, &s->alone, &opts, &r);

	if (err || (s->best && r.iteration >= s->best_s)) {
		annex_plan_free(plan);
		return err == -ENOMEM ? err : 0;
	}
	annex_plan_free(s->best);
	s->best = plan;
	s->best_s = r.iteration;
	s->taste = taste;
	s->samples = s->best_samples;
	s->best_samples = samples;
	return 0;
}

static bool good(const struct search *s)
{
	return s->best && s->best_s <= s->ideal * GOOD;
}

/* What a kernel waited is time of the slot before it. */
static void stretch(struct search *s)
{
	const struct annex_trace *t = s->v->trace;
	uint32_t n = t->n_kernels;

	for (uint32_t k = 0; k < n; k++) {
		const struct annex_sim_sample *next = &s->best_samples[(k + 1) % n];
		uint64_t ran = t->kernels[(k + 1) % n].ns, took = next->end - next->start;

		s->ns[k] = (double)(t->kernels[k].ns + (took > ran ? took - ran : 0));
	}
}

/* The best once more, with kernels that begin while the last of their tensors arrive. */
static int unified(struct search *s)
{
	struct annex_plan *plan;
	int err;

	if (!s->best)
		return 0;
	err = annex_plan_create("annex", s->v->trace, s->sys, &plan);
	for (size_t i = 0; i < s->best->n_steps && !err; i++)
		err = annex_plan_add(plan, &s->best->steps[i]);
	if (!err)
		err = annex_plan_finish(plan);
	if (err) {
		annex_plan_free(plan);
		return err;
	}
	plan->flags = s->best->flags | ANNEX_PLAN_OVERLAP;
	return judge(s, plan, s->taste);
}

static int search(struct search *s)
{
	struct annex_plan *plan = NULL;
	uint32_t n = s->v->trace->n_kernels;
	int err = 0;

	for (uint32_t k = 0; k < n; k++)
		s->ns[k] = (double)s->v->trace->kernels[k].ns;
	for (unsigned int i = 0; i < TASTES && !good(s) && !err; i++) {
		err = one_pass(s, &tastes[i], &plan);
		if (!err)
			err = judge(s, plan, &tastes[i]);
	}
	for (unsigned int i = 0; i < AGAIN && s->best && !good(s) && !err; i++) {
		double before = s->best_s;

		stretch(s);
		err = one_pass(s, s->taste, &plan);
		if (!err)
			err = judge(s, plan, s->taste);
		if (s->best_s >= before)
			break;
	}
	if (err || good(s) || n > TOO_MANY)
		return err;
	err = unified(s);
	if (!err)
		err = policy_g10(s->v, &s->alone, &plan);
	return err ? err : judge(s, plan, s->taste);
}

int policy_annex(const struct annex_vitality *v, const struct annex_system *sys,
		 struct annex_plan **plan)
{
	struct search s = {.v = v, .sys = sys, .alone = *sys};
	uint32_t n = v->trace->n_kernels;
	int err = -ENOMEM;

	s.ideal = (double)v->start[n] * 1e-9;
	s.ns = calloc(n, sizeof(*s.ns));
	s.samples = calloc(n, sizeof(*s.samples));
	s.best_samples = calloc(n, sizeof(*s.best_samples));
	if (s.ns && s.samples && s.best_samples)
		err = search(&s);
	free(s.ns);
	free(s.samples);
	free(s.best_samples);
	if (!err && !s.best)
		err = -ENOSPC;
	if (err) {
		annex_plan_free(s.best);
		return err;
	}
	memcpy(s.best->policy, "annex", sizeof("annex"));
	*plan = s.best;
	return 0;
}

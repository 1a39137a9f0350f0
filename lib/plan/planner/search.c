// SPDX-License-Identifier: MIT
/*
 * Annex's policy: a few passes of its planner, judged by the simulator.
 *
 * Where the links cannot keep up, kernels wait, and a transfer has more time than the kernels take.
 * The first passes expect the stalls of the bound, and differ in taste. Further passes take the
 * times that the simulator measured of the best plan. Half of them, and more where that is better,
 * choose tiers by rents; in a few, writes lie late while cuts are chosen. A plan of G10's stands
 * beside imperfect plans, so that none is slower than that, and a plan of each other baseline
 * beside plans that are far from the bound.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/simulate.h>
#include "core/least.h"
#include "planner.h"
#include "plan/trace/ends.h"
#include "plan/policy/policy.h"
#include "plan/simulate/bound.h"

#define PERFECT 1.000001 /* times the bound is as good as it gets */
#define GOOD 1.0002      /* is not worth more passes */
#define FAIR 1.02        /* leaves little for others to win */
#define AGAIN 12         /* passes with measured times */
#define FEWER 6          /* of them, at least, where many kernels make passes long */
#define SLOTS 20000      /* in all of them, if these are more */
#define BOTH 6           /* of them alternate between rents and none; the others do as the best */
#define FULL 0.97        /* of a tier is taken: its rent rises */
#define RISES 0.5        /* in transfers, for a byte that stays for an iteration */
#define FALLS 0.9        /* factor of all rents in each pass */
#define SLOWER 1.02      /* times the bound, a pass with rents expects */
#define SETTLES 1.25     /* times the best, an iteration takes before memories have settled */

struct search {
	const struct annex_vitality *given; /* other policies plan for it */
	struct annex_vitality *v;           /* with the ends of lives */
	const struct annex_system *sys;
	struct annex_system alone; /* one GPU with its share of what GPUs share */
	double *ns;                /* what the next pass reckons with */
	struct annex_sim_sample *samples, *best_samples;
	struct annex_plan *best;
	double *bound_ns; /* the bound, spread over the slots */
	double bound, best_s;
	unsigned int together; /* GPUs that do the same when a plan is judged */
	double *rent[BELOWS];  /* of a byte in lower tiers, for each nanosecond of a slot */
	bool far;              /* the taste of the best plan without rents */
	bool slow;             /* the taste of the best plan */
	bool rents;            /* the best plan has them */
};

/*
 * Rents rise in slots in which a tier was full, and fall in all others, until tensors with long
 * inactive periods leave a tier to tensors with short ones.
 */
static void raise_rents(struct search *s, const struct annex_pass *p)
{
	for (unsigned int b = 0; b < BELOWS; b++) {
		for (uint32_t k = 0; k < p->n; k++) {
			double *rent = &s->rent[b][k];

			*rent *= FALLS;
			if ((double)span_at(&p->fill[b], k) > FULL * (double)p->room[b])
				*rent += RISES / p->when[p->n];
		}
	}
}

static int one_pass(struct search *s, struct annex_taste taste, struct annex_plan **plan)
{
	struct annex_pass p = {.v = s->v,
			       .sys = &s->alone,
			       .taste = taste,
			       .n = s->v->trace->n_kernels,
			       .ns = s->ns,
			       .capacity = s->sys->gpu};
	int err = annex_plan_create(policy_annex.name, s->v->trace, s->sys, plan);

	if (err)
		return err;
	err = annex_pass_init(&p);
	if (!err) {
		annex_select(&p);
		err = p.err;
	}
	if (!err && !taste.far)
		raise_rents(s, &p);
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

static bool within(const struct search *s, double times)
{
	return s->best && s->best_s <= s->bound * times;
}

/*
 * Keep a plan if it is the best so far, with every GPU doing the same; one that cannot run, or
 * takes longer than @limit, is none. The simulator's samples are in s->samples, or, of the
 * best plan, in s->best_samples.
 */
static int judge(struct search *s, struct annex_plan *plan, double limit, bool *better)
{
	const struct annex_system *sys = s->together > 1 ? s->sys : &s->alone;
	struct annex_sim_job jobs[ANNEX_MAX_GPUS];
	struct annex_sim_options opts = {.samples = s->samples, .limit = limit, .fresh = true};
	struct annex_sim_sample *samples = s->samples;
	struct annex_sim_result r;
	int err;

	for (unsigned int i = 0; i < s->together; i++)
		jobs[i] = (struct annex_sim_job){s->v->trace, plan};
	err = annex_simulate(jobs, s->together, sys, &opts, &r);

	*better = !err && (!s->best || r.iteration < s->best_s);
	if (!*better) {
		annex_plan_free(plan);
		return err == -ENOMEM ? err : 0;
	}
	annex_plan_free(s->best);
	s->best = plan;
	s->best_s = r.iteration;
	s->samples = s->best_samples;
	s->best_samples = samples;
	return 0;
}

static int try_pass(struct search *s, struct annex_taste taste)
{
	struct annex_plan *plan;
	bool better = false;
	int err = one_pass(s, taste, &plan);

	if (!err)
		err = judge(s, plan, 0, &better);
	if (!err && better) {
		s->rents = taste.rent;
		s->slow = taste.slow;
		s->far = taste.rent ? s->far : taste.far;
	}
	return err;
}

/* The next pass uses the times of the bound, all longer by a factor. */
static void reckon_with_bound(struct search *s, double factor)
{
	for (uint32_t k = 0; k < s->v->trace->n_kernels; k++)
		s->ns[k] = s->bound_ns[k] * factor;
}

/*
 * The next pass uses the times of the best, with @part of each stall, since a pass that has time
 * for all stalls keeps them. A kernel's stall is time of the slot before it.
 */
static void reckon_with(struct search *s, double part)
{
	const struct annex_trace *t = s->v->trace;
	uint32_t n = t->n_kernels;

	for (uint32_t k = 0; k < n; k++) {
		const struct annex_sim_sample *next = &s->best_samples[(k + 1) % n];
		uint64_t ran = t->kernels[(k + 1) % n].ns, took = next->end - next->start;

		s->ns[k] = (double)t->kernels[k].ns + part * (double)(took > ran ? took - ran : 0);
	}
}

/* The best once more, with kernels that begin while the last of their tensors arrive. */
static int try_unified(struct search *s)
{
	struct annex_plan *plan;
	bool better;
	int err = annex_plan_create(policy_annex.name, s->v->trace, s->sys, &plan);

	for (size_t i = 0; i < s->best->n_steps && !err; i++)
		err = annex_plan_add(plan, &s->best->steps[i]);
	if (!err)
		err = annex_plan_finish(plan);
	if (err) {
		annex_plan_free(plan);
		return err;
	}
	plan->flags = s->best->flags | ANNEX_PLAN_OVERLAP;
	return judge(s, plan, 0, &better);
}

/* Try another policy's plan. If it has none here, the search goes on. */
static int try_other(struct search *s, const struct annex_policy *other, double limit)
{
	struct annex_plan *plan = NULL;
	bool better;
	int err = other->make(s->given, s->sys, &plan);

	if (err)
		return err == -ENOMEM ? err : 0;
	return judge(s, plan, limit, &better);
}

static int try_others(struct search *s)
{
	static const struct annex_policy *const others[] = {&policy_deepum, &policy_g10_gds,
							    &policy_g10_host, &policy_uvm};
	int err = 0;

	if (!within(s, PERFECT))
		err = try_other(s, &policy_g10, 0);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]) && !err; i++)
		if (!within(s, FAIR))
			err = try_other(s, others[i], s->best_s * SETTLES);
	return err;
}

/*
 * SSDs that are nearly as fast as a GPU's link take half of it from host memory while both send.
 * Plans that use them less are often better, and those for slower SSDs run here too.
 */
static bool fast_ssds(const struct search *s)
{
	return s->alone.ssd_read * s->alone.ssds > s->alone.pcie / 2;
}

static int search(struct search *s)
{
	static const double leads[] = {3.0, 1.2, 1.5, 1.1}, parts[] = {1.0, 0.9, 0.8};
	uint64_t again = least(AGAIN, SLOTS / s->v->trace->n_kernels);
	int err;

	again = again < FEWER ? FEWER : again;
	reckon_with_bound(s, 1);
	err = try_pass(s, (struct annex_taste){.lead = leads[0]});
	if (!err && !within(s, GOOD))
		err = try_pass(s, (struct annex_taste){.lead = leads[0], .far = true});
	if (!err && !within(s, GOOD))
		err = try_pass(s, (struct annex_taste){.lead = leads[1], .far = s->far});
	for (unsigned int i = 0; i < 2 && fast_ssds(s) && !within(s, GOOD) && !err; i++)
		err = try_pass(s, (struct annex_taste){.lead = leads[0],
						       .far = i ? !s->far : s->far,
						       .slow = true});
	reckon_with_bound(s, SLOWER);
	for (unsigned int i = 1; i <= again && s->best && !within(s, GOOD) && !err; i++) {
		struct annex_taste taste = {.far = s->far,
					    .slow = s->slow,
					    .late = i % 4 == 0,
					    .lead = leads[i / 2 % 4]};

		if (i <= BOTH ? i % 2 : s->rents)
			taste = (struct annex_taste){.slow = s->slow, .rent = s->rent};
		err = try_pass(s, taste);
		reckon_with(s, parts[i % 3]);
	}
	if (!err && s->best && !s->sys->strict && !within(s, PERFECT))
		err = try_unified(s);
	return err ? err : try_others(s);
}

/* The machine as one of its GPUs sees it while the others do the same. */
static struct annex_system share(const struct annex_system *sys)
{
	struct annex_system one = *sys;
	double part = 1.0 / sys->gpus;

	one.gpus = 1;
	one.host /= sys->gpus;
	one.cxl /= sys->gpus;
	one.host_link *= part;
	one.cxl_rate *= part;
	one.ssd_read *= part;
	one.ssd_write *= part;
	return one;
}

/* A plan that was taken over says whose it is. */
static void sign(struct annex_plan *plan)
{
	char other[sizeof(plan->policy)];

	if (!strcmp(plan->policy, policy_annex.name))
		return;
	memcpy(other, plan->policy, sizeof(other));
	snprintf(plan->policy, sizeof(plan->policy), "%s+%.20s", policy_annex.name, other);
}

static int make(const struct annex_vitality *v, const struct annex_system *sys,
		struct annex_plan **plan)
{
	struct search s = {.given = v, .sys = sys, .alone = share(sys)};
	uint32_t n = v->trace->n_kernels;
	int err = -ENOMEM;
	bool rents = true;

	s.ns = calloc(n, sizeof(*s.ns));
	s.bound_ns = calloc(n, sizeof(*s.bound_ns));
	s.samples = calloc(n, sizeof(*s.samples));
	s.best_samples = calloc(n, sizeof(*s.best_samples));
	for (unsigned int b = 0; b < BELOWS; b++) {
		s.rent[b] = calloc(n, sizeof(*s.rent[b]));
		rents = rents && s.rent[b];
	}
	s.together = sys->gpus;
	if (s.ns && s.bound_ns && s.samples && s.best_samples && rents)
		err = annex_vitality_with_ends(v->trace, &s.v);
	if (!err)
		err = bound_times(s.v, &s.alone, s.bound_ns, &s.bound);
	if (!err)
		err = search(&s);
	/* The others may do something else, which leaves more room. */
	if (!err && !s.best && sys->gpus > 1) {
		s.together = 1;
		err = search(&s);
	}
	annex_vitality_destroy(s.v);
	free(s.ns);
	free(s.bound_ns);
	free(s.samples);
	free(s.best_samples);
	for (unsigned int b = 0; b < BELOWS; b++)
		free(s.rent[b]);
	if (!err && !s.best)
		err = -ENOSPC;
	if (err) {
		annex_plan_free(s.best);
		return err;
	}
	sign(s.best);
	*plan = s.best;
	return 0;
}

const struct annex_policy policy_annex = {
	"annex",
	"keeps valid copies, plans the links, takes the best simulated",
	make,
};

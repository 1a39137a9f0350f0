// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <annex/simulate.h>
#include "recompute.h"

#define GROUPS 8u  /* groups of growing size that are tried */
#define HALVES 3u  /* times that the distance around the best one is halved */
#define NEAR 1.001 /* times the bound, at which the search ends */

static void forget(struct annex_recomputed *r)
{
	annex_plan_free(r->plan);
	annex_trace_free(r->trace);
	*r = (struct annex_recomputed){.seconds = INFINITY};
}

/* struct search - @list: tensors that can be computed again. @best: with the first @n of them. */
struct search {
	const struct annex_policy *policy;
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct again *list;
	uint32_t most, n;
	double bound;
	struct annex_recomputed best;
};

/* Bytes of the first @n tensors. */
static uint64_t bytes_of(const struct search *s, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += s->v->trace->tensors[s->list[i].tensor].bytes;
	return sum;
}

/*
 * A plan in which the first @n tensors are computed again. -ENOSPC: it cannot run, or is slower, or
 * the iteration is beyond the limits of a trace.
 */
static int measure(const struct search *s, uint32_t n, struct annex_recomputed *r)
{
	struct annex_vitality *v = NULL;
	struct annex_sim_job jobs[ANNEX_MAX_GPUS];
	struct annex_sim_options opts = {.limit = isfinite(s->best.seconds) ? s->best.seconds : 0};
	struct annex_sim_result result;
	int err = recompute_trace(s->v, s->list, n, &r->trace);

	if (!err)
		err = annex_vitality_create(r->trace, &v);
	if (!err)
		err = annex_plan_make(s->policy, v, s->sys, &r->plan);
	annex_vitality_destroy(v);
	for (uint32_t i = 0; !err && i < s->sys->gpus; i++)
		jobs[i] = (struct annex_sim_job){r->trace, r->plan};
	if (!err)
		err = annex_simulate(jobs, s->sys->gpus, s->sys, &opts, &result);
	if (err)
		return err == -EDEADLK || err == -ETIME || err == -E2BIG ? -ENOSPC : err;
	r->seconds = result.iteration;
	r->kernels = n;
	r->bytes = bytes_of(s, n);
	for (uint32_t i = 0; i < n; i++)
		r->ns += s->v->trace->kernels[s->list[i].kernel].ns;
	return 0;
}

static int try(struct search *s, uint32_t n)
{
	struct annex_recomputed r = {.seconds = INFINITY};
	int err = s->best.seconds <= s->bound * NEAR ? 0 : measure(s, n, &r);

	if (!err && r.seconds < s->best.seconds) {
		struct annex_recomputed worse = s->best;

		s->best = r;
		s->n = n;
		r = worse;
	}
	forget(&r);
	return err == -ENOSPC ? 0 : err;
}

/* The first tensors that have @bytes. */
static uint32_t count(const struct search *s, double bytes)
{
	uint32_t n = 0;

	for (; n < s->most && bytes > 0; n++)
		bytes -= (double)s->v->trace->tensors[s->list[n].tensor].bytes;
	return n;
}

static int search(struct search *s)
{
	double step = (double)bytes_of(s, s->most) / GROUPS;
	uint32_t last = 0;
	int err = try(s, 0);

	for (uint32_t i = 1; i <= GROUPS && !err; i++) {
		uint32_t n = count(s, step * i);

		if (n != last)
			err = try(s, n);
		last = n;
	}
	for (uint32_t i = 0; i < HALVES && !err && s->most; i++) {
		uint32_t n = s->n;
		double bytes = (double)bytes_of(s, n);

		step /= 2;
		if (count(s, bytes - step) != n)
			err = try(s, count(s, bytes - step));
		if (!err && count(s, bytes + step) != n)
			err = try(s, count(s, bytes + step));
	}
	return err;
}

int annex_recompute(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, struct annex_recomputed *result)
{
	struct search s = {.policy = policy, .v = v, .sys = sys, .best = {.seconds = INFINITY}};
	int err = annex_recompute_bound(v, sys, &s.bound);

	if (!err)
		err = recompute_choose(v, sys, &s.list, &s.most);
	if (!err)
		err = search(&s);
	free(s.list);
	if (!err && !s.best.plan)
		err = -ENOSPC;
	if (err)
		forget(&s.best);
	*result = s.best;
	return err;
}

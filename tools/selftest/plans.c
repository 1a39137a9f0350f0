// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plans: random traces on random machines. Each policy's plan is checked, written and read, and
 * simulated; it is not faster than the bound, nor in more memory than there is. Plans that were
 * spoilt are refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/generate.h>
#include <annex/simulate.h>
#include "selftest.h"

#define GIB (1ull << 30)

struct plans {
	struct tally *t;
	struct annex_trace *trace;
	struct annex_vitality *v;
	struct annex_system sys;
	double ideal, bound;
	uint64_t seed;
};

/* Bytes that live while each kernel runs, by plain loops over tensors and uses. */
static int check_lives(struct plans *w)
{
	const struct annex_trace *tr = w->trace;
	uint32_t *first = malloc(tr->n_tensors * sizeof(*first));
	uint32_t *last = malloc(tr->n_tensors * sizeof(*last));
	uint64_t ns = 0;
	int err = first && last ? 0 : tally_memory(w->t);

	for (uint32_t i = 0; i < tr->n_tensors && !err; i++) {
		first[i] = tr->tensors[i].global ? 0 : tr->tensors[i].birth;
		last[i] = tr->tensors[i].global ? tr->n_kernels : tr->tensors[i].death;
	}
	for (uint32_t k = 0; k < tr->n_kernels && !err; k++) {
		ns += tr->kernels[k].ns;
		for (uint32_t u = tr->kernels[k].first; u < tr->kernels[k + 1].first; u++) {
			uint32_t i = tr->uses[u].tensor;

			first[i] = first[i] == ANNEX_KERNEL_NONE ? k : first[i];
			if (tr->tensors[i].death == ANNEX_KERNEL_NONE && !tr->tensors[i].global)
				last[i] = k;
		}
	}
	for (uint32_t k = 0; k < tr->n_kernels && !err; k++) {
		uint64_t live = 0;

		for (uint32_t i = 0; i < tr->n_tensors; i++)
			live += first[i] <= k && k <= last[i] ? tr->tensors[i].bytes : 0;
		err = tally_value(w->t, "bytes that live at a kernel", k, (int64_t)w->v->live[k],
				  (int64_t)live);
	}
	w->ideal = (double)ns * 1e-9;
	free(first);
	free(last);
	return err;
}

/* A machine with room for the largest kernel, and not for all. */
static void machine(struct plans *w)
{
	uint64_t least = 0, room;

	annex_system_init(&w->sys);
	for (uint32_t k = 0; k < w->trace->n_kernels; k++)
		least = w->v->active[k] > least ? w->v->active[k] : least;
	room = w->v->peak_bytes > least ? w->v->peak_bytes - least : 1;
	w->sys.gpu = least + pick(&w->seed, room);
	w->sys.host = pick(&w->seed, 3) * 8 * GIB;
	w->sys.ssds = (uint32_t)pick(&w->seed, 3) + 1;
}

static int check_round_trip(struct plans *w, const struct annex_plan *p)
{
	struct annex_plan *again = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = f ? annex_plan_write(p, f) : -ENOMEM;

	if (f)
		fclose(f);
	if (!err)
		err = annex_plan_parse(text, len, &again);
	err = tally_call(w->t, err, "a plan that is written and read");
	if (!err)
		err = tally_value(w->t, "steps", 0, (int64_t)again->n_steps, (int64_t)p->n_steps);
	for (size_t i = 0; i < p->n_steps && !err; i++) {
		const struct annex_plan_step *a = &again->steps[i], *b = &p->steps[i];

		if (a->kernel != b->kernel || a->tensor != b->tensor || a->bytes != b->bytes ||
		    a->ns != b->ns || a->op != b->op || a->tier != b->tier || a->keep != b->keep)
			err = tally_wrong(w->t, "step %zu is another when it is read", i);
	}
	annex_plan_free(again);
	free(text);
	w->t->bytes += len;
	return err;
}

static int check_result(struct plans *w, const struct annex_plan *p)
{
	const struct annex_sim_job job = {w->trace, p};
	struct annex_sim_result r;
	int err = tally_call(w->t, annex_simulate(&job, 1, &w->sys, NULL, &r), p->policy);

	if (err)
		return err;
	if (r.iteration < w->ideal * (1 - 1e-9))
		return tally_wrong(w->t, "%s: %.9g s, faster than its kernels, which take %.9g s",
				   p->policy, r.iteration, w->ideal);
	if (p->flags & ANNEX_PLAN_UNLIMITED)
		return 0;
	if (r.steady && r.iteration < w->bound * (1 - 1e-9))
		return tally_wrong(w->t, "%s: %.9g s, faster than the bound of %.9g s", p->policy,
				   r.iteration, w->bound);
	if (r.gpu_peak > w->sys.gpu || r.host_peak > w->sys.host)
		return tally_wrong(w->t, "%s: more memory than there is", p->policy);
	return 0;
}

/* Without one of its allocations it is no plan any more; where memory is reclaimed, it may be. */
static int check_spoilt(struct plans *w, const struct annex_plan *p)
{
	size_t left = pick(&w->seed, p->n_steps), n = 0;
	struct annex_plan *bad = NULL;
	int err;

	while (n < p->n_steps && p->steps[left].op != ANNEX_PLAN_ALLOC) {
		left = (left + 1) % p->n_steps;
		n++;
	}
	if (n == p->n_steps)
		return 0;
	err = annex_plan_create(p->policy, w->trace, &w->sys, &bad);
	if (!err)
		bad->flags = p->flags;
	for (size_t i = 0; i < p->n_steps && !err; i++)
		err = i == left ? 0 : annex_plan_add(bad, &p->steps[i]);
	if (!err)
		err = annex_plan_finish(bad);
	err = tally_call(w->t, err, "a plan that is copied");
	w->t->faults++;
	if (!err && annex_plan_check(bad, w->trace, &w->sys) != -EINVAL)
		err = tally_wrong(w->t, "%s: step %zu is missing, and the check passed", p->policy,
				  left);
	annex_plan_free(bad);
	return err;
}

static int policy(struct plans *w, const struct annex_policy *by)
{
	struct annex_plan *p = NULL;
	int err = annex_plan_make(by, w->v, &w->sys, &p);

	w->t->operations++;
	if (err == -ENOSPC) /* it says that it cannot, on such a machine */
		return 0;
	err = tally_call(w->t, err, by->name);
	if (!err)
		err = check_round_trip(w, p);
	if (!err)
		err = check_result(w, p);
	if (!err && p->n_steps && !(p->flags & ANNEX_PLAN_RECLAIM))
		err = check_spoilt(w, p);
	annex_plan_free(p);
	return err;
}

int selftest_plans(const struct selftest *s, struct tally *t, uint64_t seed)
{
	struct plans w = {.t = t, .seed = seed};
	struct annex_trace_spec spec = {.model = "synthetic",
					.kernels = 20 + pick(&w.seed, 180),
					.seed = annex_random(&w.seed) >> 12,
					.peak = (8 + pick(&w.seed, 56)) * GIB};
	const struct annex_policy *by;
	int err = tally_call(t, annex_trace_generate(&spec, &w.trace), "annex_trace_generate()");

	(void)s;
	if (!err)
		err = tally_call(t, annex_vitality_create(w.trace, &w.v),
				 "annex_vitality_create()");
	if (!err)
		err = check_lives(&w);
	if (!err) {
		machine(&w);
		/* Where no plan can run there is no bound. */
		err = annex_bound(w.v, &w.sys, &w.bound);
		err = err == -ENOSPC ? 0 : tally_call(t, err, "annex_bound()");
	}
	for (unsigned int i = 0; !err && (by = annex_policy_at(i)); i++)
		err = policy(&w, by);
	annex_vitality_destroy(w.v);
	annex_trace_free(w.trace);
	return err;
}

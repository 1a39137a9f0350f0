// SPDX-License-Identifier: MIT
/*
 * A pass as the steps of a plan.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/least.h"
#include "planner.h"
#include "plan/policy/policy.h"

struct emit {
	struct annex_pass *p;
	struct annex_plan *plan;
	uint64_t *keep; /* of each period: bytes still to return that keep their copy */
	uint32_t *row;  /* the slices of a slot */
	uint32_t n_row;
};

/*
 * Copies are kept for what later periods of the epoch take out, and for no more. Backwards over a
 * tensor's periods, twice, for those whose epoch began in the iteration before.
 */
static void find_kept(struct emit *e, uint32_t tensor)
{
	const struct annex_pass *p = e->p;
	const struct annex_life *l = &p->v->life[tensor];
	uint32_t rounds = p->v->trace->tensors[tensor].global ? 2 : 1, epoch = NONE, last = 0;
	uint64_t later = 0;

	for (uint32_t i = rounds * l->n_periods; i--;) {
		uint32_t period = l->period + i % l->n_periods;
		const struct idle *idle = &p->idle[period];

		const struct epoch *ep = &p->epochs[idle->epoch];
		uint32_t since = annex_around(p, ep->written, p->v->periods[period].from % p->n);

		/* Another epoch, or the same one of the iteration before. */
		if (idle->epoch != epoch || since >= last)
			later = 0;
		epoch = idle->epoch;
		last = since;
		e->keep[period] = ep->always ? idle->out : least(idle->keep, later);
		later = later > idle->out ? later : idle->out;
	}
}

/* Add a step, or bytes to one like it of the last ones: a striped transfer has several. */
static int add(struct emit *e, enum annex_plan_op op, uint32_t kernel, uint32_t tensor,
	       uint64_t bytes, unsigned int tier, bool keep)
{
	for (size_t i = 0; i < e->plan->n_steps && i <= e->p->sys->ssds; i++) {
		struct annex_plan_step *last = &e->plan->steps[e->plan->n_steps - 1 - i];

		if (last->op != op || last->kernel != kernel || last->tensor != tensor)
			break;
		if (last->tier == tier && last->keep == keep) {
			last->bytes += bytes;
			return 0;
		}
	}
	return policy_step(e->plan, e->p->v, op, kernel, tensor, bytes, tier, keep);
}

static int step(struct emit *e, enum annex_plan_op op, uint32_t kernel, uint32_t period,
		uint64_t bytes, unsigned int below, bool keep)
{
	static const unsigned int tiers[BELOWS] = {ANNEX_TIER_HOST, ANNEX_TIER_CXL, ANNEX_TIER_SSD};
	bool out = op == ANNEX_PLAN_EVICT || op == ANNEX_PLAN_SAVE;
	uint32_t parts = out && below == BELOW_SSD ? e->p->sys->ssds : 1;
	int err = 0;

	for (uint32_t i = 0; i < parts && !err; i++) {
		uint64_t part = bytes / (parts - i);

		bytes -= part;
		if (part)
			err = add(e, op, kernel, e->p->v->periods[period].tensor, part,
				  out ? tiers[below] + i : 0, keep);
	}
	return err;
}

/* Slots until a slice is due. */
static uint32_t wait_of(const struct annex_pass *p, uint32_t slice)
{
	const struct slice *s = &p->slices[slice];

	return annex_around(p, s->slot, annex_due(p, &p->jobs[s->job]));
}

/* The slices of a slot, those due first at the front. */
static void gather(struct emit *e, uint32_t k)
{
	const struct annex_pass *p = e->p;

	e->n_row = 0;
	for (uint32_t i = p->slot[k]; i != NONE; i = p->slices[i].in_slot) {
		uint32_t at = e->n_row++;

		for (; at && wait_of(p, e->row[at - 1]) > wait_of(p, i); at--)
			e->row[at] = e->row[at - 1];
		e->row[at] = i;
	}
}

static int fetch(struct emit *e, uint32_t k, uint32_t period, uint64_t bytes)
{
	uint64_t kept = least(bytes, e->keep[period]);
	int err = step(e, ANNEX_PLAN_PREFETCH, k, period, kept, 0, true);

	e->keep[period] -= kept;
	return err ? err : step(e, ANNEX_PLAN_PREFETCH, k, period, bytes - kept, 0, false);
}

static int emit_slice(struct emit *e, uint32_t k, uint32_t slice)
{
	const struct slice *s = &e->p->slices[slice];
	const struct job *j = &e->p->jobs[s->job];

	if (j->dir == LINK_IN)
		return fetch(e, k, j->period, s->bytes);
	return step(e, ANNEX_PLAN_SAVE, k, j->period, s->bytes, j->below, false);
}

/* Late writes: what leaves now has its copy made now. */
static int emit_late(struct emit *e)
{
	const struct annex_pass *p = e->p;
	int err = 0;

	for (uint32_t i = 0; i < p->n_slices && !err; i++)
		if (p->jobs[p->slices[i].job].dir == LINK_OUT && !wait_of(p, i))
			err = emit_slice(e, p->slices[i].slot, i);
	return err;
}

static int emit_slices(struct emit *e, uint32_t k)
{
	const struct annex_pass *p = e->p;
	int err = 0;

	gather(e, k);
	/* Fetches first: they free room below for writes. */
	for (unsigned int dir = LINKS; dir--;) {
		for (uint32_t i = 0; i < e->n_row && !err; i++) {
			uint32_t slice = e->row[i];

			if (p->jobs[p->slices[slice].job].dir != dir ||
			    (dir == LINK_OUT && !wait_of(p, slice)))
				continue;
			err = emit_slice(e, k, slice);
		}
	}
	return err;
}

static int emit_cuts(struct emit *e)
{
	int err = 0;

	for (uint32_t i = 0; i < e->p->n_cuts && !err; i++) {
		const struct cut *c = &e->p->cuts[i];

		err = step(e, ANNEX_PLAN_EVICT, c->drop, c->period, c->bytes, c->below, false);
	}
	return err;
}

/* Frees and cuts make room; then come transfers, then births. */
static int emit_all(struct emit *e)
{
	struct annex_pass *p = e->p;
	const struct annex_trace *t = p->v->trace;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		if (!t->tensors[i].global && p->v->life[i].used)
			err = policy_step(e->plan, p->v, ANNEX_PLAN_FREE, p->v->life[i].death + 1,
					  i, t->tensors[i].bytes, 0, false);
	if (!err)
		err = emit_late(e);
	if (!err)
		err = emit_cuts(e);
	for (uint32_t k = 0; k < p->n && !err; k++)
		err = emit_slices(e, k);
	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		if (!t->tensors[i].global && p->v->life[i].used)
			err = policy_step(e->plan, p->v, ANNEX_PLAN_ALLOC, p->alloc[i], i,
					  t->tensors[i].bytes, 0, false);
	return err ? err : annex_plan_finish(e->plan);
}

int annex_emit(struct annex_pass *p, struct annex_plan *plan)
{
	struct emit e = {.p = p, .plan = plan};
	int err = -ENOMEM;

	e.keep = calloc((size_t)p->v->n_periods + 1, sizeof(*e.keep));
	e.row = malloc(((size_t)p->n_slices + 1) * sizeof(*e.row));
	if (e.keep && e.row) {
		for (uint32_t i = 0; i < p->v->trace->n_tensors; i++)
			find_kept(&e, i);
		err = emit_all(&e);
	}
	free(e.keep);
	free(e.row);
	return err;
}

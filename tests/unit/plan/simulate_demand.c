// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "demand.h"
#include "simulate_reference.h"
#include "tests/unit/unit.h"

static uint64_t leaving(const struct demand *d, uint32_t tensor)
{
	return demand_moving(d, tensor, DEMAND_OUT, DEMAND_ANY);
}

static bool allocating(const struct demand *d, uint32_t tensor)
{
	return demand_moving(d, tensor, DEMAND_ALLOC, DEMAND_ANY) > 0;
}

/* Bytes that were to stay leave after all. Returns how many of @bytes there were not. */
static uint64_t take_saves(const struct demand *d, uint32_t tensor, uint64_t bytes)
{
	for (size_t i = d->n; i--;) {
		struct demand_request *r = &d->requests[i];
		uint64_t n = demand_of(r, tensor, true) ? least(r->stay, bytes) : 0;

		r->stay -= n;
		bytes -= n;
	}
	return bytes;
}

/* And the other way round. */
static uint64_t recall(const struct demand *d, uint32_t tensor, uint64_t bytes, bool keep)
{
	for (size_t i = d->n; i--;) {
		struct demand_request *r = &d->requests[i];
		uint64_t n, unsent;

		if (!demand_of(r, tensor, true))
			continue;
		n = least(r->left + r->moving - r->stay, bytes);
		unsent = keep ? 0 : least(n, r->left);
		r->left -= unsent;
		r->stay += n - unsent;
		bytes -= n;
	}
	return bytes;
}

static void written(const struct demand *d, uint32_t tensor)
{
	struct demand_tensor *x = &d->tensors[tensor];

	x->dirty += demand_clean(d, tensor);
	memset(x->clean, 0, sizeof(x->clean));
	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++) {
		if (!demand_of(r, tensor, true))
			continue;
		r->left = 0;
		r->stale = true;
	}
}

static void die(const struct demand *d, uint32_t tensor)
{
	struct demand_tensor *x = &d->tensors[tensor];

	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++) {
		if (r->tensor != tensor)
			continue;
		r->left = r->asked = r->granted = 0;
		r->stale = true;
		r->waits = false;
	}
	if (!(d->p->flags & ANNEX_PLAN_LAZY))
		x->dirty = 0;
	memset(x->clean, 0, sizeof(x->clean));
	memset(x->out, 0, sizeof(x->out));
	x->born = false;
}

static void prefetch(struct demand *d, const struct annex_plan_step *s)
{
	uint64_t left = recall(d, s->tensor, s->bytes, s->keep);

	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
		uint64_t n = least(demand_absent(d, s->tensor, t), left);

		if (n)
			demand_fetch(d, s->tensor, t, n, s->keep, false);
		left -= n;
	}
}

static void leave(struct demand *d, const struct annex_plan_step *s, bool stay)
{
	uint64_t n = s->bytes;

	if (!d->tensors[s->tensor].born)
		return;
	if (!stay)
		n = take_saves(d, s->tensor, demand_drop(d, s->tensor, n));
	n = least(n, d->tensors[s->tensor].dirty - leaving(d, s->tensor));
	if (n)
		demand_leave(d, s->tensor, s->tier, n)->stay = stay ? n : 0;
}

static void carry_out(struct demand *d, const struct annex_plan_step *s)
{
	bool lives = d->tensors[s->tensor].born || allocating(d, s->tensor);

	if (s->op == ANNEX_PLAN_FREE)
		die(d, s->tensor);
	else if (s->op == ANNEX_PLAN_EVICT || s->op == ANNEX_PLAN_SAVE)
		leave(d, s, s->op == ANNEX_PLAN_SAVE);
	else if (s->op != ANNEX_PLAN_WAIT && !lives)
		demand_bear(d, s->tensor, false);
	else if (s->op == ANNEX_PLAN_PREFETCH)
		prefetch(d, s);
}

/* It is the next kernel's turn: tensors of those in the window are not taken. */
static void turn(struct demand *d)
{
	const struct annex_trace *t = d->t;
	uint64_t window = least(d->p->window, t->n_kernels - 1);

	d->state = DEMAND_NEXT;
	if (d->kernel == t->n_kernels)
		return;
	for (uint64_t w = d->count ? window : 0; w <= window; w++) {
		const struct annex_kernel *k = &t->kernels[(d->count + w) % t->n_kernels];

		for (uint32_t u = k->first; u < k[1].first; u++)
			d->tensors[t->uses[u].tensor].guarded = d->count + w + 1;
	}
}

/* Faults on bytes that take @s seconds to fetch, and each @latency more. */
static void pay(struct demand *d, uint64_t bytes, double s, uint64_t latency)
{
	double faults = ceil((double)bytes / (double)d->sys->fault_bytes);

	d->cost += faults * (double)(d->sys->fault_ns + latency);
	d->fetch += s * 1e9;
}

static void fault(struct demand *d, uint32_t tensor)
{
	const struct annex_system *sys = d->sys;
	uint64_t n[ANNEX_TIERS], sum = 0, most = 0;

	demand_hurry(d, tensor);
	if (!d->tensors[tensor].born) {
		if (!allocating(d, tensor))
			demand_bear(d, tensor, true);
		return;
	}
	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
		n[t] = demand_absent(d, tensor, t);
		if (n[t])
			demand_fetch(d, tensor, t, n[t], false, true);
	}
	for (unsigned int t = ANNEX_TIER_SSD; t < d->tiers; t++) {
		sum += n[t];
		most = n[t] > most ? n[t] : most;
	}
	pay(d, n[ANNEX_TIER_HOST], (double)n[ANNEX_TIER_HOST] / sys->pcie, 0);
	pay(d, n[ANNEX_TIER_CXL], (double)n[ANNEX_TIER_CXL] / fmin(sys->cxl_rate, sys->pcie), 0);
	pay(d, sum, fmax((double)most / sys->ssd_read, (double)sum / sys->pcie), sys->ssd_read_ns);
}

static void issue(struct demand *d)
{
	const struct annex_kernel *k = &d->t->kernels[d->kernel];

	d->state = DEMAND_WAITS;
	d->issued = d->now;
	d->cost = (double)k->ns;
	d->fetch = 0;
	for (uint32_t u = k->first; u < k[1].first; u++) {
		uint32_t tensor = d->t->uses[u].tensor;

		d->tensors[tensor].active = d->count + 1;
		recall(d, tensor, UINT64_MAX, false);
		fault(d, tensor);
	}
}

static bool ready(const struct demand *d)
{
	const struct annex_kernel *k = &d->t->kernels[d->kernel];

	for (size_t i = 0; i < d->step; i++) {
		const struct annex_plan_step *s = &d->p->steps[i];

		if (s->kernel == d->kernel && s->op == ANNEX_PLAN_WAIT && leaving(d, s->tensor))
			return false;
	}
	for (uint32_t u = k->first; u < k[1].first; u++) {
		const struct demand_tensor *x = &d->tensors[d->t->uses[u].tensor];

		if (!x->born)
			return false;
		for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++)
			if (x->out[t])
				return false;
	}
	return true;
}

static void launch(struct demand *d)
{
	const struct annex_kernel *k = &d->t->kernels[d->kernel];

	for (uint32_t u = k->first; u < k[1].first; u++) {
		if (d->t->uses[u].how & ANNEX_USE_WRITE)
			written(d, d->t->uses[u].tensor);
		demand_touch(d, d->t->uses[u].tensor);
	}
	d->state = DEMAND_RUNS;
	d->end = d->now + d->cost;
	if (d->p->flags & ANNEX_PLAN_OVERLAP)
		d->end = fmax(d->issued + d->cost + d->fetch, d->now);
}

static void run(struct demand *d)
{
	if (d->state == DEMAND_RUNS && d->end <= d->now + DEMAND_SAME) {
		d->count++;
		d->kernel++;
		turn(d);
	}
	if (d->state == DEMAND_NEXT) {
		while (d->step < d->p->n_steps && d->p->steps[d->step].kernel == d->kernel)
			carry_out(d, &d->p->steps[d->step++]);
		if (d->kernel == d->t->n_kernels)
			d->state = DEMAND_DONE;
		else
			issue(d);
	}
	if (d->state == DEMAND_WAITS && ready(d))
		launch(d);
}

/* Nanoseconds of an iteration. */
static double iterate(struct demand *d)
{
	double began = d->now;

	d->kernel = 0;
	d->step = 0;
	turn(d);
	for (;;) {
		double ns;

		demand_pump(d);
		run(d);
		demand_pump(d);
		if (d->state == DEMAND_DONE)
			return d->now - began;
		demand_start(d);
		ns = demand_next(d);
		if (d->state == DEMAND_RUNS)
			ns = fmin(ns, d->end - d->now);
		if (ns == INFINITY)
			return -1;
		demand_advance(d, fmax(ns, 0));
	}
}

/* A tensor that lives from the start begins below. */
static bool place(struct demand *d, uint32_t tensor)
{
	struct demand_tensor *x = &d->tensors[tensor];
	unsigned int tier = ANNEX_TIER_HOST;
	uint32_t n = d->sys->ssds;

	for (uint32_t i = 0; i < n; i++)
		x->out[ANNEX_TIER_SSD + i] = x->bytes / n + (i < x->bytes % n);
	if (n)
		return true;
	if (demand_room(d, tier) < x->bytes)
		tier = ANNEX_TIER_CXL;
	if (demand_room(d, tier) < x->bytes)
		return false;
	x->out[tier] = x->bytes;
	return true;
}

double demand_simulate(const struct annex_trace *t, const struct annex_plan *p,
		       const struct annex_system *sys, unsigned int iterations)
{
	struct demand d = {
		.t = t, .p = p, .sys = sys, .space = 16, .tiers = ANNEX_TIER_SSD + sys->ssds};
	double ns = 0;

	d.tensors = calloc((size_t)t->n_tensors + 1, sizeof(*d.tensors));
	d.requests = calloc(d.space, sizeof(*d.requests));
	CU_ASSERT_FATAL(d.tensors && d.requests);
	for (uint32_t i = 0; i < t->n_tensors && ns >= 0; i++) {
		d.tensors[i].bytes = t->tensors[i].bytes;
		d.tensors[i].born = t->tensors[i].global;
		if (t->tensors[i].global && !place(&d, i))
			ns = -1;
	}
	for (unsigned int i = 0; i < iterations && ns >= 0; i++)
		ns = iterate(&d);
	free(d.tensors);
	free(d.requests);
	return ns < 0 ? -1 : ns * 1e-9;
}

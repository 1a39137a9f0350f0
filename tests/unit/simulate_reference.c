// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "plan/place.h"
#include "simulate_reference.h"
#include "unit.h"

#define DUST 1.0     /* bytes that rounding leaves */
#define PATIENCE 1e5 /* steps without a byte moving or a kernel running */

enum { IN, OUT, ALLOC };

/* struct order - A step under way: @want has no memory yet; @stay: saved, not evicted. */
struct order {
	unsigned int kind, tier, tensor;
	bool keep;
	double want, have, stay;
	double total;
};

struct fluid {
	double dirty, clean[ANNEX_TIERS], out[ANNEX_TIERS], coming[ANNEX_TIERS];
	double ready;
	bool born, asked;
};

struct reference {
	const struct annex_trace *t;
	const struct annex_plan *p;
	const struct annex_system *sys;
	struct fluid *f;
	struct order *orders;
	unsigned int n;
	double gpu, room[ANNEX_TIERS], now, dt;
	unsigned int tiers;
};

static struct order *order(struct reference *r, unsigned int kind, unsigned int tensor,
			   unsigned int tier, double bytes)
{
	r->orders[r->n] = (struct order){
		.kind = kind, .tensor = tensor, .tier = tier, .want = bytes, .total = bytes};
	return &r->orders[r->n++];
}

/* Dirty bytes that no order writes already. */
static double idle_dirty(const struct reference *r, unsigned int tensor)
{
	double bytes = r->f[tensor].dirty;

	for (unsigned int i = 0; i < r->n; i++)
		if (r->orders[i].kind == OUT && r->orders[i].tensor == tensor)
			bytes -= r->orders[i].want;
	return bytes;
}

static void evict(struct reference *r, const struct annex_plan_step *s)
{
	struct fluid *f = &r->f[s->tensor];
	double left = (double)s->bytes;

	for (unsigned int t = ANNEX_TIER_HOST; t < r->tiers; t++) {
		double n = fmin(left, f->clean[t]);

		f->clean[t] -= n;
		f->out[t] += n;
		r->gpu += n;
		left -= n;
	}
	for (unsigned int i = 0; i < r->n; i++) {
		struct order *o = &r->orders[i];
		double n = o->kind == OUT && o->tensor == s->tensor ? fmin(left, o->stay) : 0;

		o->stay -= n;
		left -= n;
	}
	left = fmin(left, idle_dirty(r, s->tensor));
	if (left > DUST)
		order(r, OUT, s->tensor, s->tier, left);
}

/* Bytes that were to leave stay, some with a copy. Returns how many of @bytes must be fetched. */
static double recall(struct reference *r, unsigned int tensor, double bytes, bool keep)
{
	for (unsigned int i = 0; i < r->n; i++) {
		struct order *o = &r->orders[i];
		double n = o->kind == OUT && o->tensor == tensor ? fmin(bytes, o->want - o->stay)
								 : 0;

		o->want -= keep ? 0 : n;
		o->stay += keep ? n : 0;
		bytes -= n;
	}
	return bytes;
}

static void prefetch(struct reference *r, const struct annex_plan_step *s)
{
	struct fluid *f = &r->f[s->tensor];
	double left = recall(r, s->tensor, (double)s->bytes, s->keep);

	for (unsigned int t = ANNEX_TIER_HOST; t < r->tiers; t++) {
		double n = fmin(left, f->out[t] - f->coming[t]);

		if (n <= DUST)
			continue;
		order(r, IN, s->tensor, t, n)->keep = s->keep;
		f->coming[t] += n;
		left -= n;
	}
}

static void drop(struct reference *r, unsigned int tensor)
{
	struct fluid *f = &r->f[tensor];

	r->gpu += f->dirty;
	for (unsigned int t = 0; t < r->tiers; t++) {
		r->gpu += f->clean[t];
		r->room[t] += f->clean[t] + f->out[t];
	}
	for (unsigned int i = 0; i < r->n; i++) {
		if (r->orders[i].tensor != tensor)
			continue;
		r->gpu += r->orders[i].kind == OUT ? 0 : r->orders[i].have;
		r->orders[i].want = r->orders[i].have = 0;
	}
	*f = (struct fluid){0};
}

static void written(struct reference *r, unsigned int tensor)
{
	struct fluid *f = &r->f[tensor];

	for (unsigned int t = ANNEX_TIER_HOST; t < r->tiers; t++) {
		f->dirty += f->clean[t];
		r->room[t] += f->clean[t];
		f->clean[t] = 0;
	}
	for (unsigned int i = 0; i < r->n; i++)
		if (r->orders[i].kind == OUT && r->orders[i].tensor == tensor)
			r->orders[i].want = 0;
}

/* What is out, or will be, must all return, and nobody may wait for memory. */
static bool return_waits(const struct reference *r, const struct annex_plan_step *s)
{
	double leaving = 0, gone = 0, wanted = 0;

	for (unsigned int i = 0; i < r->n; i++) {
		const struct order *o = &r->orders[i];

		if (o->kind != OUT)
			wanted += o->want;
		else if (o->tensor == s->tensor)
			leaving += o->want;
		if (o->kind == OUT && o->tensor == s->tensor)
			gone += o->want - o->stay;
	}
	for (unsigned int t = 0; t < r->tiers; t++)
		gone += r->f[s->tensor].out[t] - r->f[s->tensor].coming[t];
	return leaving > DUST && (wanted > DUST || (double)s->bytes < gone - DUST);
}

/* What is still coming, and copies that are not made yet where there are several. */
static bool leaving_waits(const struct reference *r, const struct annex_plan_step *s)
{
	bool coming = false, saving = false;
	unsigned int tiers = 0;

	for (unsigned int t = 0; t < r->tiers; t++)
		tiers |= (unsigned int)(r->f[s->tensor].clean[t] > DUST) << t;
	for (unsigned int i = 0; i < r->n; i++) {
		const struct order *o = &r->orders[i];

		if (o->tensor != s->tensor)
			continue;
		coming = coming || (o->kind != OUT && o->want + o->have > DUST);
		if (o->kind != OUT || o->stay <= DUST)
			continue;
		saving = true;
		tiers |= 1u << o->tier;
	}
	return coming || (saving && (tiers & (tiers - 1)));
}

static bool waits(const struct reference *r, const struct annex_plan_step *s)
{
	if (s->op == ANNEX_PLAN_PREFETCH)
		return return_waits(r, s);
	if (s->op == ANNEX_PLAN_EVICT || s->op == ANNEX_PLAN_SAVE)
		return leaving_waits(r, s);
	return false;
}

static void carry_out(struct reference *r, const struct annex_plan_step *s)
{
	double bytes;

	switch (s->op) {
	case ANNEX_PLAN_ALLOC:
		order(r, ALLOC, s->tensor, 0, (double)r->t->tensors[s->tensor].bytes);
		break;
	case ANNEX_PLAN_FREE:
		drop(r, s->tensor);
		break;
	case ANNEX_PLAN_PREFETCH:
		prefetch(r, s);
		break;
	case ANNEX_PLAN_EVICT:
		evict(r, s);
		break;
	case ANNEX_PLAN_SAVE:
		bytes = fmin((double)s->bytes, idle_dirty(r, s->tensor));
		if (bytes > DUST)
			order(r, OUT, s->tensor, s->tier, bytes)->stay = bytes;
		break;
	}
}

/* Memory goes to who asked first. */
static void give_memory(struct reference *r)
{
	for (unsigned int i = 0; i < r->n; i++) {
		struct order *o = &r->orders[i];
		double n;

		if (o->kind == OUT || o->want <= 0)
			continue;
		n = fmin(o->want, r->gpu);
		r->gpu -= n;
		o->have += n;
		o->want -= n;
		if (o->want > DUST)
			return;
		o->have += o->want;
		r->gpu -= o->want;
		o->want = 0;
	}
}

/* The first order of each tier in one direction, if it can move; those that are over go. */
static void heads(struct reference *r, unsigned int kind, struct order **head)
{
	memset(head, 0, ANNEX_TIERS * sizeof(*head));
	for (unsigned int i = 0; i < r->n; i++) {
		struct order *o = &r->orders[i];

		if (o->kind == kind && !head[o->tier])
			head[o->tier] = o;
	}
	for (unsigned int t = 0; t < r->tiers; t++) {
		if (kind == IN && head[t] && head[t]->have <= 0)
			head[t] = NULL;
		if (kind == OUT && head[t] && r->room[t] < DUST)
			head[t] = NULL;
		if (kind == ALLOC && head[t] && head[t]->want > 0)
			head[t] = NULL;
	}
}

static double device(const struct reference *r, unsigned int tier, unsigned int kind)
{
	if (tier == ANNEX_TIER_HOST)
		return r->sys->host_link > 0 ? r->sys->host_link : INFINITY;
	if (tier == ANNEX_TIER_CXL)
		return r->sys->cxl_rate;
	return kind == IN ? r->sys->ssd_read : r->sys->ssd_write;
}

/* Fair shares of the link: the slowest devices first, the others share what they leave. */
static void share(const struct reference *r, unsigned int kind, struct order *const *head,
		  double *rate)
{
	double left = r->sys->pcie;
	unsigned int n = 0;
	bool fixed[ANNEX_TIERS] = {false};

	for (unsigned int t = 0; t < r->tiers; t++)
		n += head[t] != NULL;
	while (n) {
		unsigned int slow = ANNEX_TIERS;

		for (unsigned int t = 0; t < r->tiers; t++)
			if (head[t] && !fixed[t] &&
			    (slow == ANNEX_TIERS || device(r, t, kind) < device(r, slow, kind)))
				slow = t;
		rate[slow] = fmin(device(r, slow, kind), left / n--);
		left -= rate[slow];
		fixed[slow] = true;
	}
}

static void arrive(struct reference *r, struct order *o, double n)
{
	struct fluid *f = &r->f[o->tensor];

	o->have -= n;
	f->out[o->tier] -= n;
	f->coming[o->tier] -= n;
	if (o->keep) {
		f->clean[o->tier] += n;
	} else {
		f->dirty += n;
		r->room[o->tier] += n;
	}
	if (o->tier >= ANNEX_TIER_SSD)
		f->ready = r->now + (double)r->sys->ssd_read_ns * 1e-9;
}

static void leave(struct reference *r, struct order *o, double n)
{
	struct fluid *f = &r->f[o->tensor];
	double gone = fmin(n, o->want - o->stay);

	f->dirty -= n;
	f->out[o->tier] += gone;
	f->clean[o->tier] += n - gone;
	r->gpu += gone;
	o->stay -= n - gone;
	o->want -= n;
	r->room[o->tier] -= n;
}

static void allocate(struct reference *r, struct order *o, double n)
{
	o->have -= n;
	if (o->have > 0)
		return;
	r->f[o->tensor].born = true;
	r->f[o->tensor].dirty = o->total;
}

static double flow(struct reference *r, unsigned int kind)
{
	struct order *head[ANNEX_TIERS];
	double rate[ANNEX_TIERS] = {0}, moved = 0;

	heads(r, kind, head);
	if (kind == ALLOC)
		rate[0] = r->sys->alloc;
	else
		share(r, kind, head, rate);
	for (unsigned int t = 0; t < r->tiers; t++) {
		struct order *o = head[t];
		double n;

		if (!o)
			continue;
		n = fmin(rate[t] * r->dt, kind == OUT ? fmin(o->want, r->room[t]) : o->have);
		moved += n;
		if (kind == IN)
			arrive(r, o, n);
		else if (kind == OUT)
			leave(r, o, n);
		else
			allocate(r, o, n);
	}
	return moved;
}

/* Orders that are over go. */
static void tidy(struct reference *r)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->n; i++)
		if (r->orders[i].want > 0 || r->orders[i].have > 0)
			r->orders[n++] = r->orders[i];
	r->n = n;
}

static bool launches(const struct reference *r, uint32_t k)
{
	for (uint32_t u = r->t->kernels[k].first; u < r->t->kernels[k + 1].first; u++) {
		const struct fluid *f = &r->f[r->t->uses[u].tensor];
		double out = 0;

		for (unsigned int t = 0; t < r->tiers; t++)
			out += f->out[t];
		if (!f->born || out > 64 * DUST || f->ready > r->now)
			return false;
	}
	return true;
}

static double pass(struct reference *r)
{
	double moved;

	tidy(r);
	give_memory(r);
	moved = flow(r, OUT) + flow(r, IN) + flow(r, ALLOC);
	r->now += r->dt;
	return moved;
}

static bool run_steps(struct reference *r, uint32_t k, size_t *step)
{
	for (; *step < r->p->n_steps && r->p->steps[*step].kernel == k; ++*step) {
		for (double idle = 0; waits(r, &r->p->steps[*step]);) {
			idle = pass(r) > 0 ? 0 : idle + 1;
			if (idle > PATIENCE)
				return false;
		}
		carry_out(r, &r->p->steps[*step]);
		tidy(r);
		give_memory(r);
	}
	return true;
}

static bool run_kernel(struct reference *r, uint32_t k, size_t *step)
{
	uint32_t first = r->t->kernels[k].first, end = r->t->kernels[k + 1].first;
	double until, idle = 0;

	if (!run_steps(r, k, step))
		return false;
	while (!launches(r, k)) {
		idle = pass(r) > 0 ? 0 : idle + 1;
		if (idle > PATIENCE)
			return false;
	}
	for (uint32_t u = first; u < end; u++)
		if (r->t->uses[u].how & ANNEX_USE_WRITE)
			written(r, r->t->uses[u].tensor);
	until = r->now + (double)r->t->kernels[k].ns * 1e-9;
	while (r->now < until - r->dt / 2)
		pass(r);
	return true;
}

static double iterate(struct reference *r)
{
	double began = r->now;
	size_t step = 0;

	for (uint32_t k = 0; k < r->t->n_kernels; k++)
		if (!run_kernel(r, k, &step))
			return -1;
	return run_steps(r, r->t->n_kernels, &step) ? r->now - began : -1;
}

static void begin(struct reference *r)
{
	struct place *places = calloc((size_t)r->t->n_tensors + 1, sizeof(*places));

	CU_ASSERT_PTR_NOT_NULL_FATAL(places);
	CU_ASSERT_EQUAL_FATAL(annex_plan_replay(r->p, r->t, r->sys, places), 0);
	for (unsigned int t = 0; t < r->tiers; t++)
		r->room[t] = t == ANNEX_TIER_HOST  ? (double)r->sys->host
			     : t == ANNEX_TIER_CXL ? (double)r->sys->cxl
						   : 1e18;
	r->gpu = (double)r->sys->gpu;
	for (uint32_t i = 0; i < r->t->n_tensors; i++) {
		r->f[i].born = places[i].born;
		r->f[i].dirty = (double)places[i].dirty;
		r->gpu -= (double)annex_place_resident(&places[i]);
		for (unsigned int t = ANNEX_TIER_HOST; t < r->tiers; t++) {
			r->f[i].clean[t] = (double)places[i].clean[t];
			r->f[i].out[t] = (double)places[i].out[t];
			r->room[t] -= (double)annex_place_below(&places[i], t);
		}
	}
	free(places);
}

double reference_simulate(const struct annex_trace *t, const struct annex_plan *p,
			  const struct annex_system *sys, unsigned int iterations, double dt)
{
	struct reference r = {
		.t = t, .p = p, .sys = sys, .dt = dt, .tiers = ANNEX_TIER_SSD + sys->ssds};
	double seconds = 0;

	r.f = calloc((size_t)t->n_tensors + 1, sizeof(*r.f));
	/* Each step makes an order a tier at most; those of earlier iterations may wait still. */
	r.orders = calloc((p->n_steps + 1) * r.tiers * iterations, sizeof(*r.orders));
	CU_ASSERT_FATAL(r.f && r.orders);
	begin(&r);
	for (unsigned int i = 0; i < iterations && seconds >= 0; i++)
		seconds = iterate(&r);
	free(r.f);
	free(r.orders);
	return seconds;
}

// SPDX-License-Identifier: MIT
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "plan/place.h"
#include "simulate_reference.h"
#include "tests/unit/unit.h"

#define DUST 0.5        /* bytes that rounding leaves */
#define TAIL 1024.0     /* the last bytes of an order, which are there when its latency is over */
#define CHUNK 4194304.0 /* bytes that leave together: a recall finds all of them, or none */
#define PATIENCE 1e5    /* steps without a byte moving or a kernel running */
#define AT_ONCE 1e18    /* bytes of memory a second */
#define NOBODY UINT_MAX

enum { IN, OUT, ALLOC };

/*
 * struct order - A step in progress. @want: bytes without memory yet; @stay: saved, not evicted.
 * @passed: bytes of a leaving chunk that have passed the link and are still on the GPU. @lands:
 *	arrival
 * of the last bytes; 0: they have not passed the link. @tensor: NOBODY once it is freed.
 */
struct order {
	unsigned int kind, tier, tensor;
	bool keep;
	double want, have, stay, passed;
	double total, lands;
};

struct fluid {
	double dirty, clean[ANNEX_TIERS], out[ANNEX_TIERS], coming[ANNEX_TIERS];
	bool born;
};

struct reference {
	const struct annex_trace *t;
	const struct annex_plan *p;
	const struct annex_system *sys;
	struct fluid *f;
	struct order *orders;
	unsigned int n;
	double gpu, room[ANNEX_TIERS], now, dt;
	double arrived; /* bytes since the last kernel began */
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
	for (unsigned int i = r->n; i--;) {
		struct order *o = &r->orders[i];
		double n = o->kind == OUT && o->tensor == s->tensor ? fmin(left, o->stay) : 0;

		o->stay -= n;
		left -= n;
	}
	left = fmin(left, idle_dirty(r, s->tensor));
	if (left > DUST)
		order(r, OUT, s->tensor, s->tier, left);
}

/*
 * Bytes that were to leave stay, the last asked first, and some with a copy. Returns how many of
 * @bytes must be fetched.
 */
static double recall(struct reference *r, unsigned int tensor, double bytes, bool keep)
{
	for (unsigned int i = r->n; i--;) {
		struct order *o = &r->orders[i];
		double n = o->kind == OUT && o->tensor == tensor ? fmin(bytes, o->want - o->stay)
								 : 0;

		o->want -= keep ? 0 : n;
		o->passed = fmin(o->passed, o->want);
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

/* Bytes of an order that may pass the link now. */
static double there(const struct reference *r, const struct order *o)
{
	if (o->kind == OUT)
		return fmax(fmin(o->want, r->room[o->tier] + DUST) - o->passed, 0);
	if (o->kind == IN && o->tier >= ANNEX_TIER_SSD && r->sys->ssd_read_ns)
		return fmax(o->have - fmin(TAIL, o->total), 0);
	return o->have;
}

/* The first order of each tier in one direction, if it can move; removes ended orders. */
static void heads(struct reference *r, unsigned int kind, struct order **head)
{
	for (unsigned int t = 0; t < ANNEX_TIERS; t++)
		head[t] = NULL;
	for (unsigned int i = 0; i < r->n; i++) {
		struct order *o = &r->orders[i];

		if (o->kind == kind && !head[o->tier] && o->lands <= 0)
			head[o->tier] = o;
	}
	for (unsigned int t = 0; t < r->tiers; t++) {
		if (kind == IN && head[t] && there(r, head[t]) <= 0)
			head[t] = NULL;
		/* Rounding must not keep the last byte from its room. */
		if (kind == OUT && head[t] && r->room[t] + DUST <= 0)
			head[t] = NULL;
		if (kind == ALLOC && head[t] && head[t]->want > 0)
			head[t] = NULL;
	}
}

/* Its memory is free, but for what a read under way still goes to: that, when it has landed. */
static void cancel(struct reference *r, struct order *o, struct order *const *reading)
{
	bool late = o->kind == IN && o->tier >= ANNEX_TIER_SSD && r->sys->ssd_read_ns &&
		    (o->lands > 0 || o == reading[o->tier]);
	double held = late ? fmin(o->have, TAIL) : 0;

	r->gpu += o->kind == OUT ? 0 : o->have - held;
	o->want = 0;
	o->have = held;
	o->tensor = NOBODY;
	if (o->lands <= 0)
		o->lands = r->now + (double)r->sys->ssd_read_ns * 1e-9;
}

static void drop(struct reference *r, unsigned int tensor)
{
	struct order *reading[ANNEX_TIERS];
	struct fluid *f = &r->f[tensor];

	r->gpu += f->dirty;
	for (unsigned int t = 0; t < r->tiers; t++) {
		r->gpu += f->clean[t];
		r->room[t] += f->clean[t] + f->out[t];
	}
	heads(r, IN, reading);
	for (unsigned int i = 0; i < r->n; i++)
		if (r->orders[i].tensor == tensor)
			cancel(r, &r->orders[i], reading);
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

/* struct traffic - Bytes of one tensor in flight. */
struct traffic {
	double arriving, leaving; /* @leaving: all that is being written */
	double saving;            /* of @leaving, bytes that stay on the GPU */
	unsigned int
		keeping; /* tiers from where bytes come that keep their copy there; a bit each */
	unsigned int copying; /* tiers where @saving goes */
};

static struct traffic traffic_of(const struct reference *r, unsigned int tensor)
{
	struct traffic w = {0};

	for (unsigned int i = 0; i < r->n; i++) {
		const struct order *o = &r->orders[i];

		if (o->tensor != tensor || o->want + o->have <= DUST)
			continue;
		if (o->kind == OUT) {
			w.leaving += o->want;
			w.saving += o->stay;
			w.copying |= (unsigned int)(o->stay > DUST) << o->tier;
		} else {
			w.arriving += o->want + o->have;
			w.keeping |= (unsigned int)o->keep << o->tier;
		}
	}
	return w;
}

static bool memory_is_short(const struct reference *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (r->orders[i].kind != OUT && r->orders[i].want > DUST)
			return true;
	return false;
}

/* While bytes are written: all bytes that are out, or will be, must return, and no order may wait
 * for memory. */
static bool return_waits(const struct reference *r, const struct annex_plan_step *s)
{
	const struct fluid *f = &r->f[s->tensor];
	struct traffic w = traffic_of(r, s->tensor);
	double gone = w.leaving - w.saving;

	for (unsigned int t = 0; t < r->tiers; t++)
		gone += f->out[t] - f->coming[t];
	return w.leaving > DUST && (memory_is_short(r) || (double)s->bytes < gone - DUST);
}

/*
 * Bytes with copies are first, and of several tiers the nearest: bytes in flight must have arrived
 * if there are others. For the rest there must be enough bytes without a copy, or none in flight.
 */
static bool eviction_waits(const struct reference *r, const struct annex_plan_step *s)
{
	const struct fluid *f = &r->f[s->tensor];
	struct traffic w = traffic_of(r, s->tensor);
	unsigned int tiers = w.keeping | w.copying;
	double left = (double)s->bytes - w.saving;

	for (unsigned int t = 0; t < r->tiers; t++) {
		tiers |= f->clean[t] > DUST ? 1u << t : 0;
		left -= f->clean[t];
	}
	if ((w.keeping || w.copying) && (tiers & (tiers - 1)))
		return true;
	if (left <= DUST)
		return false;
	return w.keeping || (w.arriving > DUST && left > f->dirty - w.leaving + DUST);
}

static bool save_waits(const struct reference *r, const struct annex_plan_step *s)
{
	struct traffic w = traffic_of(r, s->tensor);

	return w.arriving > DUST && (double)s->bytes > r->f[s->tensor].dirty - w.leaving + DUST;
}

/* Whether to do it now would do something else than to do it when all before it is done. */
static bool waits(const struct reference *r, const struct annex_plan_step *s)
{
	if (s->op == ANNEX_PLAN_PREFETCH)
		return return_waits(r, s);
	if (s->op == ANNEX_PLAN_EVICT)
		return eviction_waits(r, s);
	return s->op == ANNEX_PLAN_SAVE && save_waits(r, s);
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

/* Grant memory in the order of requests. */
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

static double device(const struct reference *r, unsigned int tier, unsigned int kind)
{
	if (tier == ANNEX_TIER_HOST)
		return r->sys->host_link > 0 ? r->sys->host_link : INFINITY;
	if (tier == ANNEX_TIER_CXL)
		return r->sys->cxl_rate;
	return kind == IN ? r->sys->ssd_read : r->sys->ssd_write;
}

/* The first orders of both directions, and the bytes that they pass in this step of time. */
struct flows {
	struct order *head[ALLOC][ANNEX_TIERS];
	double most[ALLOC][ANNEX_TIERS], rate[ALLOC][ANNEX_TIERS];
	bool grows[ALLOC][ANNEX_TIERS];
};

/* Time of an SSD that a byte takes. */
static double time_of(const struct reference *r, unsigned int kind, unsigned int tier)
{
	return tier < ANNEX_TIER_SSD || r->sys->ssd_duplex >= 2 ? 0 : 1 / device(r, tier, kind);
}

/* By how much each flow on the link in one direction can grow. */
static double link_leaves(const struct reference *r, const struct flows *f, unsigned int kind)
{
	double left = r->sys->pcie;
	unsigned int n = 0;

	for (unsigned int t = 0; t < r->tiers; t++) {
		left -= f->rate[kind][t];
		n += f->grows[kind][t];
	}
	return n ? left / n : INFINITY;
}

/* Likewise each flow of one SSD. */
static double time_leaves(const struct reference *r, const struct flows *f, unsigned int tier)
{
	double left = r->sys->ssd_duplex, each = 0;

	for (unsigned int kind = 0; kind < ALLOC; kind++) {
		left -= f->rate[kind][tier] * time_of(r, kind, tier);
		each += f->grows[kind][tier] ? time_of(r, kind, tier) : 0;
	}
	return each > 0 ? left / each : INFINITY;
}

static double leaves(const struct reference *r, const struct flows *f, unsigned int kind,
		     unsigned int tier)
{
	return fmin(f->most[kind][tier] - f->rate[kind][tier],
		    fmin(link_leaves(r, f, kind), time_leaves(r, f, tier)));
}

/* All grow alike, and each until something that it passes is full. */
static void share(const struct reference *r, struct flows *f)
{
	double step;

	do {
		step = INFINITY;
		for (unsigned int i = 0; i < ALLOC * r->tiers; i++)
			if (f->grows[i / r->tiers][i % r->tiers])
				step = fmin(step, leaves(r, f, i / r->tiers, i % r->tiers));
		for (unsigned int i = 0; i < ALLOC * r->tiers; i++)
			if (f->grows[i / r->tiers][i % r->tiers])
				f->rate[i / r->tiers][i % r->tiers] += fmax(step, 0);
		for (unsigned int i = 0; i < ALLOC * r->tiers; i++)
			if (leaves(r, f, i / r->tiers, i % r->tiers) <= DUST)
				f->grows[i / r->tiers][i % r->tiers] = false;
	} while (step < INFINITY);
}

/* No flow exceeds the bytes that can pass in this step of time. */
static void find_flows(struct reference *r, struct flows *f)
{
	memset(f, 0, sizeof(*f));
	for (unsigned int kind = 0; kind < ALLOC; kind++) {
		heads(r, kind, f->head[kind]);
		for (unsigned int t = 0; t < r->tiers; t++) {
			const struct order *o = f->head[kind][t];

			f->grows[kind][t] = o;
			f->most[kind][t] = o ? fmin(device(r, t, kind), there(r, o) / r->dt) : 0;
		}
	}
	share(r, f);
}

static void arrive(struct reference *r, struct order *o, double n)
{
	struct fluid *f;

	o->have -= n;
	if (o->tensor == NOBODY) {
		r->gpu += n;
		return;
	}
	r->arrived += n;
	f = &r->f[o->tensor];
	f->out[o->tier] -= n;
	f->coming[o->tier] -= n;
	if (o->keep) {
		f->clean[o->tier] += n;
	} else {
		f->dirty += n;
		r->room[o->tier] += n;
	}
}

/* The last bytes of a read from SSDs arrive a latency after they have passed the link. */
static void land(struct reference *r)
{
	for (unsigned int i = 0; i < r->n; i++) {
		struct order *o = &r->orders[i];

		if (o->kind != IN || o->have <= 0 || o->want > 0 || there(r, o) > 0)
			continue;
		if (o->lands <= 0)
			o->lands = r->now + (double)r->sys->ssd_read_ns * 1e-9;
		else if (r->now >= o->lands)
			arrive(r, o, o->have);
	}
}

/* Bytes leave by whole chunks, or all that are left, or all that the tier has room for. */
static void leave(struct reference *r, struct order *o, double n)
{
	struct fluid *f = &r->f[o->tensor];
	double last = fmin(o->want, r->room[o->tier] + DUST), gone;

	o->passed += n;
	n = o->passed < last - DUST ? floor(o->passed / CHUNK) * CHUNK : last;
	o->passed = fmax(o->passed - n, 0);
	gone = fmin(n, o->want - o->stay);
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

static double flow(struct reference *r, unsigned int kind, struct order *const *head,
		   const double *rate)
{
	double moved = 0;

	for (unsigned int t = 0; t < r->tiers; t++) {
		struct order *o = head[t];
		double n;

		if (!o)
			continue;
		n = rate[t] * r->dt;
		if (n > there(r, o) - DUST)
			n = there(r, o);
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

static double hand_out(struct reference *r)
{
	struct order *head[ANNEX_TIERS];
	double rate[ANNEX_TIERS] = {r->sys->alloc};

	heads(r, ALLOC, head);
	return flow(r, ALLOC, head, rate);
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
		if (!f->born || out > 64 * DUST)
			return false;
	}
	return true;
}

/*
 * Actions that take no time. Memory that is granted at once must not wait for the next step of
 * time: bytes that leave meanwhile would have to be read again, with a latency.
 */
static void settle(struct reference *r)
{
	do {
		tidy(r);
		give_memory(r);
	} while (r->sys->alloc >= AT_ONCE && hand_out(r) > 0);
}

static double pass(struct reference *r)
{
	struct flows f;
	double moved;

	find_flows(r, &f);
	moved = flow(r, OUT, f.head[OUT], f.rate[OUT]) + flow(r, IN, f.head[IN], f.rate[IN]) +
		hand_out(r);
	r->now += r->dt;
	land(r);
	settle(r);
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
		settle(r);
	}
	return true;
}

static bool run_kernel(struct reference *r, uint32_t k, size_t *step)
{
	uint32_t first = r->t->kernels[k].first, end = r->t->kernels[k + 1].first;
	double until, idle = 0;

	if (!run_steps(r, k, step))
		return false;
	until = r->now;
	while (!launches(r, k)) {
		idle = pass(r) > 0 ? 0 : idle + 1;
		if (idle > PATIENCE)
			return false;
	}
	for (uint32_t u = first; u < end; u++)
		if (r->t->uses[u].how & ANNEX_USE_WRITE)
			written(r, r->t->uses[u].tensor);
	tidy(r);
	/* A kernel that begins before its tensors are there stands still until they are. */
	until = (r->p->flags & ANNEX_PLAN_OVERLAP ? until : r->now) +
		(double)r->t->kernels[k].ns * 1e-9;
	until = fmax(until, r->now) + r->arrived / 4096 * (double)r->sys->page_ns * 1e-9;
	r->arrived = 0;
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
	/* Each step makes at most one order per tier; orders of earlier iterations may still
	 * wait. */
	r.orders = calloc((p->n_steps + 1) * r.tiers * iterations, sizeof(*r.orders));
	CU_ASSERT_FATAL(r.f && r.orders);
	begin(&r);
	for (unsigned int i = 0; i < iterations && seconds >= 0; i++)
		seconds = iterate(&r);
	free(r.f);
	free(r.orders);
	return seconds;
}

// SPDX-License-Identifier: MIT
/*
 * Links of the simulator: chunks in flight, and how they share links and devices.
 *
 * Every chunk passes its GPU's link and its tier's device. Rates are max-min fair: all grow
 * together, and those stop that pass something full.
 */
#include <errno.h>
#include <math.h>
#include "simulate.h"

static bool over(const struct sim_request *r)
{
	return !r->left && !r->granted && !r->moving && !r->gated;
}

/* Nothing of it is left: it is forgotten. */
static void retire(struct sim_gpu *g, struct sim_request *r)
{
	if (r->newer)
		r->newer->sibling = r->sibling;
	else
		g->tensors[r->tensor].requests = r->sibling;
	if (r->sibling)
		r->sibling->newer = r->newer;
	r->next = g->sim->pool;
	g->sim->pool = r;
}

/* A flow to a memory that is full goes to an SSD. */
static bool divert(struct sim_gpu *g, struct sim_flow *f)
{
	struct sim_request *r = f->head;
	struct sim_flow *ssd;

	if (!g->sim->sys->ssds)
		return false;
	sim_unqueue(f, r);
	r->tier = (uint8_t)sim_ssd(g);
	ssd = &g->out[r->tier];
	if (ssd->tail)
		ssd->tail->next = r;
	else
		ssd->head = r;
	ssd->tail = r;
	return true;
}

static bool take_room(struct sim_gpu *g, unsigned int tier, uint64_t bytes)
{
	struct sim *s = g->sim;

	if (sim_room(g, tier) < bytes)
		return false;
	sim_take(g, tier, bytes);
	if (s->room[tier] < s->least_room[tier])
		s->least_room[tier] = s->room[tier];
	return true;
}

bool sim_links_divert(struct sim *s)
{
	bool any = false;

	for (unsigned int i = 0; i < s->n; i++) {
		for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIER_SSD; t++) {
			struct sim_flow *f = &s->gpus[i].out[t];

			any = (f->head && !f->current && divert(&s->gpus[i], f)) || any;
		}
	}
	return any;
}

/* The next request that may go on; NULL while the first of them waits for memory. */
static struct sim_request *next_in(struct sim_gpu *g, struct sim_flow *f)
{
	struct sim_request *r, *next;

	for (r = f->head; r; r = next) {
		next = r->next;
		if (over(r)) {
			sim_unqueue(f, r);
			retire(g, r);
			continue;
		}
		/* The allocator hands out a tensor at a time. */
		if (r->granted && (r->kind == SIM_IN || !r->left))
			return r;
		/* An earlier request may wait for memory that later ones hold. */
		if (!r->first)
			return NULL;
	}
	return NULL;
}

static void start_in(struct sim_gpu *g, struct sim_flow *f)
{
	struct sim_request *r = f->current ? NULL : next_in(g, f);
	uint64_t n;

	if (!r)
		return;
	n = r->kind == SIM_IN && r->granted > g->sim->chunk ? g->sim->chunk : r->granted;
	r->granted -= n;
	r->moving = n;
	f->left = (double)n;
	f->current = r;
}

/* A chunk departs. If it goes to flash, garbage may be collected before. */
static void depart(struct sim_gpu *g, struct sim_request *r, uint64_t bytes)
{
	struct sim *s = g->sim;
	uint64_t before = s->ptes.copied, copied;

	r->flight.tier = r->tier;
	sim_move(s, g->tensors[r->tensor].lists, &r->flight, bytes);
	s->written += r->tier < ANNEX_TIER_SSD ? 0 : bytes;
	copied = s->ptes.copied - before;
	s->busy[r->tier] = fmax(s->busy[r->tier], s->now) +
			   (double)copied / s->sys->ssd_write * 1e9;
}

static void start_out(struct sim_gpu *g, struct sim_flow *f, unsigned int tier)
{
	while (!f->current && f->head) {
		struct sim_request *r = f->head;
		uint64_t n = r->left > g->sim->chunk ? g->sim->chunk : r->left;

		if (!n) {
			sim_unqueue(f, r);
			retire(g, r);
			continue;
		}
		if (!take_room(g, tier, n)) {
			if (!(g->plan->flags & ANNEX_PLAN_RECLAIM) || tier >= ANNEX_TIER_SSD ||
			    !divert(g, f))
				return;
			continue;
		}
		depart(g, r, n);
		r->left -= n;
		r->moving = n;
		f->left = (double)n;
		f->current = r;
	}
}

/* Each flow passes its GPU's link and one device, in its direction, and an SSD's time. */
#define PASSES 3

/* struct pipe - Of its @rate, @users take @taken for each byte a second, all together. */
struct pipe {
	double rate, taken;
	unsigned int users;
};

/* struct share - A flow, and how much it takes of which pipes for each byte. */
struct share {
	struct sim_flow *flow;
	struct pipe *pipes[PASSES];
	double takes[PASSES];
};

/* fmin() is a call. */
static inline double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double fair(const struct pipe *p)
{
	return p->users ? p->rate / p->taken : INFINITY;
}

static void pass(struct share *sh, unsigned int i, struct pipe *p, double takes)
{
	sh->pipes[i] = p;
	sh->takes[i] = takes;
	p->taken += takes;
	p->users++;
}

static double least_fair(const struct share *sh)
{
	double level = INFINITY;

	for (unsigned int i = 0; i < PASSES; i++)
		level = lesser(level, fair(sh->pipes[i]));
	return level;
}

static void fix(struct share *sh, double rate)
{
	sh->flow->rate = rate;
	for (unsigned int i = 0; i < PASSES; i++) {
		struct pipe *p = sh->pipes[i];

		p->rate = fmax(p->rate - rate * sh->takes[i], 0);
		p->taken -= sh->takes[i];
		p->users--;
	}
	sh->flow = NULL;
}

static void water(struct share *shares, unsigned int n, struct pipe *pipes, unsigned int n_pipes)
{
	for (unsigned int fixed = 0; fixed < n;) {
		double level = INFINITY;

		for (unsigned int i = 0; i < n_pipes; i++)
			level = lesser(level, fair(&pipes[i]));
		for (unsigned int i = 0; i < n; i++) {
			struct share *sh = &shares[i];

			if (!sh->flow)
				continue;
			/* Rounding must not keep the fullest pipe from being recognised. */
			if (least_fair(sh) <= level * (1 + 1e-12)) {
				fix(sh, level);
				fixed++;
			}
		}
	}
}

/* Bytes a second that a tier's device carries in one direction. */
static double device_rate(const struct sim *s, unsigned int tier, bool in)
{
	const struct annex_system *sys = s->sys;

	if (tier == ANNEX_TIER_GPU)
		return INFINITY;
	if (tier == ANNEX_TIER_HOST)
		return sys->host_link > 0 ? sys->host_link : INFINITY;
	if (tier == ANNEX_TIER_CXL)
		return sys->cxl_rate;
	if (!in && s->busy[tier] > s->now)
		return 0;
	return in ? sys->ssd_read : sys->ssd_write;
}

/* The flows of one direction: links of GPUs, and devices, are pipes of their own in each. */
static unsigned int add_flows(struct sim *s, bool in, struct pipe *pipes, struct pipe *time,
			      struct share *shares)
{
	double alone = in ? s->sys->ssd_read : s->sys->ssd_write;
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n; i++)
		pipes[i] = (struct pipe){.rate = s->sys->pcie};
	for (unsigned int t = 0; t < s->tiers; t++)
		pipes[s->n + t] = (struct pipe){.rate = device_rate(s, t, in)};
	for (unsigned int i = 0; i < s->n; i++) {
		for (unsigned int t = ANNEX_TIER_HOST; t < s->tiers; t++) {
			struct sim_flow *f = in ? &s->gpus[i].in[t] : &s->gpus[i].out[t];

			if (!f->current)
				continue;
			shares[n].flow = f;
			pass(&shares[n], 0, &pipes[i], 1);
			pass(&shares[n], 1, &pipes[s->n + t], 1);
			pass(&shares[n], 2, &time[t], t < ANNEX_TIER_SSD ? 0 : 1 / alone);
			n++;
		}
	}
	return n;
}

static void share_links(struct sim *s)
{
	struct pipe pipes[2 * (ANNEX_MAX_GPUS + ANNEX_TIERS) + ANNEX_TIERS];
	struct share shares[2 * ANNEX_MAX_GPUS * ANNEX_TIERS];
	struct pipe *out = pipes + s->n + s->tiers, *time = out + s->n + s->tiers;
	unsigned int n;

	for (unsigned int t = 0; t < s->tiers; t++)
		time[t] = (struct pipe){.rate = s->sys->ssd_duplex < 2 ? s->sys->ssd_duplex
								       : INFINITY};
	n = add_flows(s, true, pipes, time, shares);
	n += add_flows(s, false, out, time, shares + n);
	water(shares, n, pipes, 3 * s->tiers + 2 * s->n);
}

/* Whether a chunk is under way, which was not when rates were shared, or the other way round. */
static bool changed(struct sim_flow *f)
{
	bool before = f->shares;

	f->shares = f->current;
	return f->shares != before;
}

void sim_links_start(struct sim *s)
{
	/* Garbage collection stops an SSD's writes for a time. */
	bool anew = s->sys->ssd_bytes;

	for (unsigned int i = 0; i < s->n; i++) {
		struct sim_gpu *g = &s->gpus[i];

		start_in(g, &g->alloc);
		g->alloc.rate = s->sys->alloc;
		for (unsigned int t = ANNEX_TIER_HOST; t < s->tiers; t++) {
			start_in(g, &g->in[t]);
			start_out(g, &g->out[t], t);
			anew = changed(&g->in[t]) || anew;
			anew = changed(&g->out[t]) || anew;
		}
	}
	if (anew)
		share_links(s);
}

static void soonest(const struct sim_flow *f, double now, double *ns)
{
	if (f->current)
		*ns = lesser(*ns, f->left / f->rate * 1e9);
	if (f->landing)
		*ns = lesser(*ns, fmax(f->landing->lands - now, 0));
}

double sim_links_next(const struct sim *s)
{
	double ns = INFINITY;

	for (unsigned int i = 0; i < s->n; i++) {
		soonest(&s->gpus[i].alloc, s->now, &ns);
		for (unsigned int t = ANNEX_TIER_HOST; t < s->tiers; t++) {
			soonest(&s->gpus[i].in[t], s->now, &ns);
			soonest(&s->gpus[i].out[t], s->now, &ns);
			if (s->busy[t] > s->now && s->gpus[i].out[t].current)
				ns = lesser(ns, s->busy[t] - s->now);
		}
	}
	return ns;
}

bool sim_links_busy(const struct sim_gpu *g)
{
	for (unsigned int t = ANNEX_TIER_HOST; t < g->sim->tiers; t++)
		if (g->in[t].current || g->out[t].current)
			return true;
	return false;
}

static void arrived(struct sim_gpu *g, struct sim_request *r, uint64_t n)
{
	struct sim *s = g->sim;
	struct sim_tensor *t = &g->tensors[r->tensor];

	if (r->stale) {
		g->used -= n;
		return;
	}
	if (r->kind == SIM_ALLOC) {
		s->err = s->err ? s->err : ptes_add(&s->ptes, t->lists, n);
		t->dirty += n;
		t->born = true;
		t->allocating = false;
	} else {
		t->pending[r->tier] -= n;
		sim_move(s, sim_out(t, r->tier), r->keep ? sim_clean(t, r->tier) : t->lists, n);
		if (!r->keep) {
			t->dirty += n;
			sim_give(g, r->tier, n);
		}
		g->stats->in[r->tier] += n;
		g->moved_in += n;
	}
	sim_touch(g, r->tensor);
}

static void left(struct sim_gpu *g, struct sim_request *r, uint64_t n)
{
	struct sim_tensor *t = &g->tensors[r->tensor];
	uint64_t forgotten = r->forget, gone;

	g->stats->out[r->tier] += n;
	g->moved_out += n;
	if (r->stale) {
		sim_give(g, r->tier, n);
		return;
	}
	r->forget = 0;
	sim_give(g, r->tier, forgotten);
	n -= forgotten;
	t->leaving -= n;
	/* Bytes that are evicted go before bytes that stay: their memory may be waited for. */
	gone = r->left + n - r->stay;
	if (gone > n)
		gone = n;
	r->stay -= n - gone;
	t->dirty -= n;
	sim_move(g->sim, &r->flight, sim_out(t, r->tier), gone);
	sim_move(g->sim, &r->flight, sim_clean(t, r->tier), n - gone);
	g->used -= gone;
	if (r->reclaim)
		g->reclaiming -= gone;
}

static void land(struct sim_gpu *g, struct sim_request *r)
{
	uint64_t n = r->moving;

	r->moving = 0;
	if (r->kind == SIM_OUT)
		left(g, r, n);
	else
		arrived(g, r, n);
}

/* The last chunk of a request is not there before its latency has passed; the link goes on. */
static void fly(struct sim_gpu *g, struct sim_flow *f, struct sim_request *r, double latency)
{
	sim_unqueue(f, r);
	r->lands = g->sim->now + latency;
	if (f->landing)
		f->landing_tail->next = r;
	else
		f->landing = r;
	f->landing_tail = r;
}

static void advance(struct sim_gpu *g, struct sim_flow *f, double ns, double latency)
{
	if (f->current) {
		f->left -= f->rate * ns / 1e9;
		/* A thousandth of a byte is what rounding leaves. */
		if (f->left <= 1e-3) {
			struct sim_request *r = f->current;

			f->current = NULL;
			if (latency > 0 && !r->left && !r->granted)
				fly(g, f, r, latency);
			else
				land(g, r);
		}
	}
	/* A thousandth of a nanosecond, likewise. */
	while (f->landing && f->landing->lands <= g->sim->now + 1e-3) {
		struct sim_request *r = f->landing;

		f->landing = r->next;
		land(g, r);
		retire(g, r);
	}
}

void sim_links_advance(struct sim *s, double ns)
{
	for (unsigned int i = 0; i < s->n; i++) {
		struct sim_gpu *g = &s->gpus[i];

		advance(g, &g->alloc, ns, 0);
		for (unsigned int t = ANNEX_TIER_HOST; t < s->tiers; t++) {
			bool ssd = t >= ANNEX_TIER_SSD;

			advance(g, &g->in[t], ns, ssd ? (double)s->sys->ssd_read_ns : 0);
			advance(g, &g->out[t], ns, ssd ? (double)s->sys->ssd_write_ns : 0);
		}
	}
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "demand.h"
#include "tests/unit/unit.h"

#define AHEAD (16ull << 20) /* granted to a read, or reclaimed, at a time */

bool demand_of(const struct demand_request *r, uint32_t tensor, bool out)
{
	return r->tensor == tensor && !r->stale && (r->kind == DEMAND_OUT) == out;
}

uint64_t demand_moving(const struct demand *d, uint32_t tensor, enum demand_kind kind,
		       unsigned int tier)
{
	uint64_t sum = 0;

	for (const struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		if (demand_of(r, tensor, kind == DEMAND_OUT) && r->kind == kind &&
		    (r->tier == tier || tier == DEMAND_ANY))
			sum += r->left + r->granted + r->moving;
	return sum;
}

uint64_t demand_absent(const struct demand *d, uint32_t tensor, unsigned int tier)
{
	return d->tensors[tensor].out[tier] - demand_moving(d, tensor, DEMAND_IN, tier);
}

uint64_t demand_clean(const struct demand *d, uint32_t tensor)
{
	uint64_t sum = 0;

	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++)
		sum += d->tensors[tensor].clean[t];
	return sum;
}

static uint64_t used(const struct demand *d)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->t->n_tensors; i++)
		sum += d->tensors[i].dirty + demand_clean(d, i);
	for (const struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		sum += r->kind == DEMAND_OUT ? 0 : r->granted + r->moving;
	return sum;
}

uint64_t demand_room(const struct demand *d, unsigned int tier)
{
	uint64_t bytes = tier == ANNEX_TIER_HOST ? least(d->p->host, d->sys->host)
						 : least(d->p->cxl, d->sys->cxl);

	if (tier >= ANNEX_TIER_SSD)
		return UINT64_MAX;
	for (uint32_t i = 0; i < d->t->n_tensors; i++)
		bytes -= d->tensors[i].clean[tier] + d->tensors[i].out[tier];
	for (const struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		bytes -= r->kind == DEMAND_OUT && r->tier == tier ? r->moving : 0;
	return bytes;
}

unsigned int demand_next_ssd(struct demand *d)
{
	return ANNEX_TIER_SSD + (unsigned int)(d->striped++ % d->sys->ssds);
}

void demand_touch(struct demand *d, uint32_t tensor)
{
	d->tensors[tensor].touched = ++d->touches;
}

static uint64_t asked(const struct demand *d)
{
	uint64_t sum = 0;

	for (const struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		sum += r->asked;
	return sum;
}

static struct demand_request *gate_head(const struct demand *d)
{
	struct demand_request *head = NULL;

	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		if (r->waits && (!head || r->gate < head->gate))
			head = r;
	return head;
}

/* Before another is first: a tensor to be born has no use for a part of its memory. */
static void give_back(const struct demand *d)
{
	struct demand_request *head = gate_head(d);

	if (!head || head->kind != DEMAND_ALLOC)
		return;
	head->left += head->granted;
	head->asked += head->granted;
	head->granted = 0;
}

static void enter_gate(struct demand *d, struct demand_request *r, bool first)
{
	if (first)
		give_back(d);
	r->asked = r->kind == DEMAND_IN ? least(r->left, AHEAD) : r->left;
	r->waits = true;
	r->gate = first ? --d->front : ++d->back;
}

struct demand_request *demand_in_flow(const struct demand *d, enum demand_kind kind,
				      unsigned int tier, int64_t turn)
{
	struct demand_request *next = NULL;

	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		if (r->flows && r->kind == kind && r->tier == tier && r->turn > turn &&
		    (!next || r->turn < next->turn))
			next = r;
	return next;
}

/* In each flow the first that needs memory asks for it. */
static void ask(struct demand *d)
{
	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
		struct demand_request *r = demand_in_flow(d, DEMAND_IN, t, INT64_MIN);

		while (r && !r->left && !r->waits)
			r = demand_in_flow(d, DEMAND_IN, t, r->turn);
		if (r && !r->waits && r->granted < AHEAD)
			enter_gate(d, r, r->first);
	}
}

static void grant(struct demand *d)
{
	uint64_t all = d->p->flags & ANNEX_PLAN_UNLIMITED ? UINT64_MAX : d->sys->gpu;

	for (struct demand_request *r = gate_head(d); r; r = gate_head(d)) {
		uint64_t n = least(r->asked, all - used(d));

		if (n < r->asked && n < DEMAND_CHUNK)
			return;
		r->left -= n;
		r->asked -= n;
		r->granted += n;
		if (r->asked)
			return;
		r->waits = false;
	}
}

static struct demand_request *request(struct demand *d, enum demand_kind kind, uint32_t tensor,
				      unsigned int tier, uint64_t bytes)
{
	struct demand_request *r;

	if (d->n == d->space) {
		d->space *= 2;
		d->requests = realloc(d->requests, d->space * sizeof(*d->requests));
		CU_ASSERT_PTR_NOT_NULL_FATAL(d->requests);
	}
	r = &d->requests[d->n++];
	*r = (struct demand_request){.kind = kind, .tensor = tensor, .tier = tier, .left = bytes};
	r->flows = true;
	r->turn = ++d->back;
	return r;
}

static void lead(struct demand *d, struct demand_request *r)
{
	r->turn = --d->front;
	r->first = true;
}

void demand_bear(struct demand *d, uint32_t tensor, bool first)
{
	struct demand_tensor *x = &d->tensors[tensor];
	struct demand_request *r;

	x->born = x->dirty == x->bytes;
	if (x->born)
		return;
	x->dirty = 0;
	r = request(d, DEMAND_ALLOC, tensor, ANNEX_TIER_GPU, x->bytes);
	if (first)
		lead(d, r);
	enter_gate(d, r, first);
}

void demand_fetch(struct demand *d, uint32_t tensor, unsigned int tier, uint64_t bytes, bool keep,
		  bool first)
{
	struct demand_request *r = request(d, DEMAND_IN, tensor, tier, bytes);

	r->keep = keep;
	if (first)
		lead(d, r);
}

struct demand_request *demand_leave(struct demand *d, uint32_t tensor, unsigned int tier,
				    uint64_t bytes)
{
	return request(d, DEMAND_OUT, tensor, tier, bytes);
}

void demand_hurry(struct demand *d, uint32_t tensor)
{
	for (size_t i = d->n; i--;) {
		struct demand_request *r = &d->requests[i];

		if (!demand_of(r, tensor, false) || r->first)
			continue;
		if (!r->waits && !(r->kind == DEMAND_IN && r->left))
			continue;
		if (r->waits) {
			if (r == gate_head(d))
				give_back(d);
			r->waits = false;
			enter_gate(d, r, true);
		}
		lead(d, r);
	}
}

uint64_t demand_drop(const struct demand *d, uint32_t tensor, uint64_t bytes)
{
	struct demand_tensor *x = &d->tensors[tensor];

	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
		uint64_t n = least(x->clean[t], bytes);

		x->clean[t] -= n;
		x->out[t] += n;
		bytes -= n;
	}
	return bytes;
}

/* Bytes that will leave to make room. */
static uint64_t reclaiming(const struct demand *d)
{
	uint64_t sum = 0;

	for (const struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		sum += r->reclaim && !r->stale ? r->left + r->moving - r->stay : 0;
	return sum;
}

/* The tensor whose last touch is the oldest after number @touched. */
static struct demand_tensor *oldest(const struct demand *d, uint64_t touched)
{
	struct demand_tensor *old = NULL;

	for (struct demand_tensor *x = d->tensors; x < d->tensors + d->t->n_tensors; x++)
		if (x->touched > touched && (!old || x->touched < old->touched))
			old = x;
	return old;
}

static bool spared(const struct demand *d, uint32_t tensor, bool guarded)
{
	const struct demand_tensor *x = &d->tensors[tensor];

	if (x->active > d->count || demand_moving(d, tensor, DEMAND_ALLOC, DEMAND_ANY))
		return true;
	return guarded &&
	       (x->guarded > d->count || demand_moving(d, tensor, DEMAND_IN, DEMAND_ANY));
}

static void take(struct demand *d, uint32_t tensor, uint64_t bytes, bool host)
{
	struct demand_tensor *x = &d->tensors[tensor];
	uint64_t there = x->dirty + demand_clean(d, tensor), left;

	left = least(bytes, there - demand_moving(d, tensor, DEMAND_OUT, DEMAND_ANY));
	left = demand_drop(d, tensor, left);
	if (!x->born)
		x->dirty -= left;
	else if (left)
		demand_leave(d, tensor, host ? ANNEX_TIER_HOST : demand_next_ssd(d), left)
			->reclaim = true;
}

static void reclaim(struct demand *d, bool guarded)
{
	uint64_t want = least(asked(d), AHEAD), was = used(d);
	bool host = demand_room(d, ANNEX_TIER_HOST) >= DEMAND_CHUNK || !d->sys->ssds;

	for (struct demand_tensor *x = oldest(d, 0); x; x = oldest(d, x->touched)) {
		uint64_t done = reclaiming(d) + was - used(d);
		uint32_t tensor = (uint32_t)(x - d->tensors);

		if (done >= want)
			return;
		if (!spared(d, tensor, guarded))
			take(d, tensor, want - done > DEMAND_CHUNK ? want - done : DEMAND_CHUNK,
			     host);
	}
}

void demand_pump(struct demand *d)
{
	uint64_t was;

	ask(d);
	do {
		grant(d);
		if (!asked(d))
			return;
		was = used(d);
		reclaim(d, d->tensors[gate_head(d)->tensor].active <= d->count);
	} while (used(d) != was);
}

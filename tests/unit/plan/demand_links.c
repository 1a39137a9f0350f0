// SPDX-License-Identifier: MIT
#include <math.h>
#include "demand.h"

static struct demand_request *on_link(const struct demand *d, enum demand_kind kind,
				      unsigned int tier)
{
	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		if (r->flows && r->moving && r->kind == kind && r->tier == tier)
			return r;
	return NULL;
}

static void start(struct demand_request *r, uint64_t bytes)
{
	r->moving = bytes;
	r->rest = (double)bytes;
}

static void start_in(const struct demand *d, enum demand_kind kind, unsigned int tier)
{
	struct demand_request *r = NULL;

	if (!on_link(d, kind, tier))
		r = demand_in_flow(d, kind, tier, INT64_MIN);
	for (; r; r = demand_in_flow(d, kind, tier, r->turn)) {
		uint64_t n = r->granted;

		if (kind == DEMAND_IN)
			n = least(n, DEMAND_CHUNK);
		else if (r->left)
			n = 0;
		if (n) {
			r->granted -= n;
			start(r, n);
			return;
		}
		r->flows = r->left || r->granted || r->waits;
		if (r->flows && !r->first)
			return;
	}
}

static void start_out(struct demand *d, unsigned int tier)
{
	while (!on_link(d, DEMAND_OUT, tier)) {
		struct demand_request *r = demand_in_flow(d, DEMAND_OUT, tier, INT64_MIN);
		uint64_t n = r ? least(r->left, DEMAND_CHUNK) : 0;

		if (!r)
			return;
		if (!n) {
			r->flows = false;
		} else if (n <= demand_room(d, tier)) {
			r->left -= n;
			start(r, n);
		} else if (d->sys->ssds) {
			r->tier = demand_next_ssd(d);
			r->turn = ++d->back;
		} else {
			return;
		}
	}
}

/* Requests that are over go. */
static void tidy(struct demand *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		if (d->requests[i].flows || d->requests[i].waits || d->requests[i].moving)
			d->requests[n++] = d->requests[i];
	d->n = n;
}

void demand_start(struct demand *d)
{
	start_in(d, DEMAND_ALLOC, ANNEX_TIER_GPU);
	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
		start_in(d, DEMAND_IN, t);
		start_out(d, t);
	}
	tidy(d);
}

static double device(const struct demand *d, enum demand_kind kind, unsigned int tier)
{
	if (tier == ANNEX_TIER_HOST)
		return d->sys->host_link > 0 ? d->sys->host_link : INFINITY;
	if (tier == ANNEX_TIER_CXL)
		return d->sys->cxl_rate;
	return kind == DEMAND_IN ? d->sys->ssd_read : d->sys->ssd_write;
}

/* The share of the GPU's link of each whose device is not slower than that. */
static double share(const struct demand *d, enum demand_kind kind)
{
	double even = 0, last = -1;

	while (even > last) {
		double left = d->sys->pcie;
		unsigned int n = 0;

		last = even;
		for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
			if (!on_link(d, kind, t))
				continue;
			if (device(d, kind, t) <= last)
				left -= device(d, kind, t);
			else
				n++;
		}
		even = n ? left / n : last;
	}
	return even;
}

double demand_next(const struct demand *d)
{
	double next = INFINITY;

	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++) {
		if (!r->moving)
			continue;
		if (!r->flows) {
			next = fmin(next, r->lands - d->now);
			continue;
		}
		r->rate = 1e-9 * (r->kind == DEMAND_ALLOC
					  ? d->sys->alloc
					  : fmin(share(d, r->kind), device(d, r->kind, r->tier)));
		next = fmin(next, r->rest / r->rate);
	}
	return next;
}

static void land(struct demand *d, struct demand_request *r)
{
	struct demand_tensor *x = &d->tensors[r->tensor];
	uint64_t n = r->moving, gone = least(r->left + n - r->stay, n);

	r->moving = 0;
	if (r->stale)
		return;
	if (r->kind == DEMAND_OUT) {
		/* Bytes that do not stay leave first. */
		r->stay -= n - gone;
		x->dirty -= n;
		x->out[r->tier] += gone;
		x->clean[r->tier] += n - gone;
		return;
	}
	if (r->kind == DEMAND_IN)
		x->out[r->tier] -= n;
	else
		x->born = true;
	*(r->keep ? &x->clean[r->tier] : &x->dirty) += n;
	demand_touch(d, r->tensor);
}

/* The chunk whose latency is over, the longest of several. */
static struct demand_request *landing(const struct demand *d, enum demand_kind kind,
				      unsigned int tier)
{
	struct demand_request *next = NULL;

	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		if (r->kind == kind && r->tier == tier && r->moving && !r->flows &&
		    r->lands <= d->now + DEMAND_SAME && (!next || r->lands < next->lands))
			next = r;
	return next;
}

static void advance(struct demand *d, enum demand_kind kind, unsigned int tier)
{
	uint64_t latency = kind == DEMAND_IN ? d->sys->ssd_read_ns : d->sys->ssd_write_ns;
	struct demand_request *r = on_link(d, kind, tier);

	if (r && r->rest <= DEMAND_SAME) {
		r->flows = tier < ANNEX_TIER_SSD || !latency || r->left || r->granted;
		r->lands = d->now + (double)latency;
		if (r->flows)
			land(d, r);
	}
	for (r = landing(d, kind, tier); r; r = landing(d, kind, tier))
		land(d, r);
}

void demand_advance(struct demand *d, double ns)
{
	d->now += ns;
	for (struct demand_request *r = d->requests; r < d->requests + d->n; r++)
		r->rest -= r->moving && r->flows ? r->rate * ns : 0;
	advance(d, DEMAND_ALLOC, ANNEX_TIER_GPU);
	for (unsigned int t = ANNEX_TIER_HOST; t < d->tiers; t++) {
		advance(d, DEMAND_IN, t);
		advance(d, DEMAND_OUT, t);
	}
}

// SPDX-License-Identifier: MIT
/*
 * Memories of the simulator: requests, releases and reclaim of bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/least.h"
#include "simulate.h"

#define NOBODY UINT32_MAX
#define BLOCK 256

struct sim_block {
	struct sim_block *next;
	struct sim_request req[BLOCK];
};

static struct sim_request *request(struct sim_gpu *g, uint32_t tensor, enum sim_kind kind,
				   unsigned int tier, uint64_t bytes)
{
	struct sim *s = g->sim;
	struct sim_request *r = s->pool;

	if (!r) {
		struct sim_block *b = malloc(sizeof(*b));

		if (!b) {
			s->err = -ENOMEM;
			return NULL;
		}
		b->next = s->blocks;
		s->blocks = b;
		for (unsigned int i = 0; i < BLOCK; i++) {
			b->req[i].next = s->pool;
			s->pool = &b->req[i];
		}
		r = s->pool;
	}
	s->pool = r->next;
	*r = (struct sim_request){
		.tensor = tensor,
		.kind = (uint8_t)kind,
		.tier = (uint8_t)tier,
		.left = bytes,
		.flight = {.first = PTE_NONE, .last = PTE_NONE, .went = PTE_NONE}};
	r->sibling = g->tensors[tensor].requests;
	if (r->sibling)
		r->sibling->newer = r;
	g->tensors[tensor].requests = r;
	return r;
}

void sim_memory_free(struct sim *s)
{
	while (s->blocks) {
		struct sim_block *b = s->blocks;

		s->blocks = b->next;
		free(b);
	}
}

void sim_unqueue(struct sim_flow *f, struct sim_request *r)
{
	struct sim_request *before = NULL;

	for (struct sim_request *i = f->head; i != r; i = i->next)
		before = i;
	if (before)
		before->next = r->next;
	else
		f->head = r->next;
	if (f->tail == r)
		f->tail = before;
	r->next = NULL;
}

static void enqueue(struct sim_flow *f, struct sim_request *r, bool first)
{
	r->first = first;
	if (first) {
		r->next = f->head;
		f->head = r;
		if (!f->tail)
			f->tail = r;
	} else {
		if (f->tail)
			f->tail->next = r;
		else
			f->head = r;
		f->tail = r;
	}
}

/*
 * Whether it takes memory as its bytes come. That is what a driver does which reclaims; a plan
 * without one has memory for all of a transfer from when that is asked for, and is checked so.
 */
static bool on_demand(const struct sim_gpu *g, const struct sim_request *r)
{
	return g->plan->flags & ANNEX_PLAN_RECLAIM && r->kind == SIM_IN;
}

/* The head of the gate may hold memory while it waits; overtaken, it gives that back. */
static void give_back(struct sim_gpu *g)
{
	struct sim_request *r = g->gate;

	if (!r || on_demand(g, r))
		return;
	g->used -= r->granted;
	g->gate_bytes += r->granted;
	r->left += r->granted;
	r->asked += r->granted;
	r->granted = 0;
}

static void gate_add(struct sim_gpu *g, struct sim_request *r, bool first)
{
	if (first)
		give_back(g);
	r->asked = on_demand(g, r) ? least(r->left, SIM_RECLAIM * g->sim->chunk) : r->left;
	g->gate_bytes += r->asked;
	r->gated = true;
	if (first) {
		r->gate_next = g->gate;
		g->gate = r;
		if (!g->gate_tail)
			g->gate_tail = r;
	} else {
		if (g->gate_tail)
			g->gate_tail->gate_next = r;
		else
			g->gate = r;
		g->gate_tail = r;
	}
}

static void gate_remove(struct sim_gpu *g, struct sim_request *r)
{
	struct sim_request *before = NULL;

	for (struct sim_request *i = g->gate; i != r; i = i->gate_next)
		before = i;
	if (before)
		before->gate_next = r->gate_next;
	else
		g->gate = r->gate_next;
	if (g->gate_tail == r)
		g->gate_tail = before;
	r->gate_next = NULL;
	g->gate_bytes -= r->asked;
}

void sim_hurry(struct sim_gpu *g, uint32_t tensor)
{
	for (struct sim_request *r = g->tensors[tensor].requests; r; r = r->sibling) {
		struct sim_flow *f = r->kind == SIM_ALLOC ? &g->alloc : &g->in[r->tier];

		if (r->first || !(r->gated || (r->left && on_demand(g, r))))
			continue;
		if (r->gated) {
			if (r == g->gate)
				give_back(g);
			gate_remove(g, r);
			gate_add(g, r, true);
		}
		sim_unqueue(f, r);
		enqueue(f, r, true);
	}
}

void sim_fetch(struct sim_gpu *g, uint32_t tensor, unsigned int tier, uint64_t bytes, bool keep,
	       bool first)
{
	struct sim_request *r = request(g, tensor, SIM_IN, tier, bytes);

	if (!r)
		return;
	r->keep = keep;
	g->tensors[tensor].pending[tier] += bytes;
	enqueue(&g->in[tier], r, first);
	if (!on_demand(g, r))
		gate_add(g, r, first);
}

void sim_born(struct sim_gpu *g, uint32_t tensor, bool first)
{
	struct sim_tensor *t = &g->tensors[tensor];
	uint64_t bytes = g->trace->tensors[tensor].bytes;
	struct sim_request *r;

	if (t->dirty == bytes) {
		t->born = true;
		return;
	}
	/* A tensor that waits for memory must not hold any. */
	g->used -= t->dirty;
	sim_drop(g->sim, t->lists, t->dirty);
	t->dirty = 0;
	r = request(g, tensor, SIM_ALLOC, ANNEX_TIER_GPU, bytes);
	if (!r)
		return;
	t->allocating = true;
	enqueue(&g->alloc, r, first);
	gate_add(g, r, first);
}

static struct sim_request *leave(struct sim_gpu *g, uint32_t tensor, unsigned int tier,
				 uint64_t bytes, uint64_t stay)
{
	struct sim_request *r = request(g, tensor, SIM_OUT, tier, bytes);

	if (!r)
		return NULL;
	r->stay = stay;
	g->tensors[tensor].leaving += bytes;
	enqueue(&g->out[tier], r, false);
	return r;
}

/* Bytes with a copy leave for free. Returns how many of @bytes are still to go. */
static uint64_t drop_clean(struct sim_gpu *g, const struct sim_tensor *t, uint64_t bytes)
{
	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers && bytes; i++) {
		uint64_t n = least(sim_clean(t, i)->bytes, bytes);

		sim_move(g->sim, sim_clean(t, i), sim_out(t, i), n);
		g->used -= n;
		bytes -= n;
	}
	return bytes;
}

/* Bytes that are being saved need not be written twice. Returns how many of @bytes are left. */
static uint64_t take_saves(struct sim_gpu *g, struct sim_tensor *t, uint64_t bytes)
{
	for (struct sim_request *r = t->requests; r && bytes; r = r->sibling) {
		uint64_t n = least(r->stay, bytes);

		if (r->kind != SIM_OUT || r->stale)
			continue;
		r->stay -= n;
		bytes -= n;
		if (r->reclaim)
			g->reclaiming += n;
	}
	return bytes;
}

void sim_evict(struct sim_gpu *g, uint32_t tensor, uint64_t bytes, unsigned int tier)
{
	struct sim_tensor *t = &g->tensors[tensor];

	bytes = drop_clean(g, t, bytes);
	bytes = take_saves(g, t, bytes);
	bytes = least(bytes, t->dirty - t->leaving);
	if (bytes)
		leave(g, tensor, tier, bytes, 0);
}

void sim_save(struct sim_gpu *g, uint32_t tensor, uint64_t bytes, unsigned int tier)
{
	struct sim_tensor *t = &g->tensors[tensor];

	bytes = least(bytes, t->dirty - t->leaving);
	if (bytes)
		leave(g, tensor, tier, bytes, bytes);
}

void sim_recall(struct sim_gpu *g, uint32_t tensor, uint64_t *bytes, bool keep)
{
	struct sim_tensor *t = &g->tensors[tensor];

	for (struct sim_request *r = t->requests; r && *bytes; r = r->sibling) {
		uint64_t n = least(r->left + r->moving - r->stay - r->forget, *bytes), unwritten;

		if (r->kind != SIM_OUT || r->stale)
			continue;
		*bytes -= n;
		if (r->reclaim)
			g->reclaiming -= n;
		if (keep) {
			r->stay += n;
			continue;
		}
		unwritten = least(n, r->left);
		r->left -= unwritten;
		t->leaving -= unwritten;
		/* The chunk under way makes a copy, for which a strict plan may have no room. */
		if (g->plan->flags & ANNEX_PLAN_RECLAIM) {
			r->stay += n - unwritten;
		} else {
			r->forget += n - unwritten;
			t->leaving -= n - unwritten;
			sim_move(g->sim, &r->flight, t->lists, n - unwritten);
		}
	}
}

void sim_written(struct sim_gpu *g, uint32_t tensor)
{
	struct sim_tensor *t = &g->tensors[tensor];

	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++) {
		uint64_t bytes = sim_clean(t, i)->bytes;

		t->dirty += bytes;
		sim_give(g, i, bytes);
		sim_move(g->sim, sim_clean(t, i), t->lists, bytes);
	}
	for (struct sim_request *r = t->requests; r; r = r->sibling) {
		if (r->kind != SIM_OUT)
			continue;
		r->left = 0;
		r->stale = true;
		sim_move(g->sim, &r->flight, t->lists, r->flight.bytes);
	}
	t->leaving = 0;
}

/* Nothing of it is on the GPU. */
static void unlist(struct sim_gpu *g, uint32_t tensor)
{
	struct sim_tensor *t = &g->tensors[tensor];

	if (!t->listed)
		return;
	if (t->older == NOBODY)
		g->oldest = t->newer;
	else
		g->tensors[t->older].newer = t->newer;
	if (t->newer == NOBODY)
		g->newest = t->older;
	else
		g->tensors[t->newer].older = t->older;
	t->listed = false;
}

void sim_touch(struct sim_gpu *g, uint32_t tensor)
{
	struct sim_tensor *t = &g->tensors[tensor];

	unlist(g, tensor);
	t->older = g->newest;
	t->newer = NOBODY;
	if (g->newest == NOBODY)
		g->oldest = tensor;
	else
		g->tensors[g->newest].newer = tensor;
	g->newest = tensor;
	t->listed = true;
}

void sim_free(struct sim_gpu *g, uint32_t tensor)
{
	struct sim_tensor *t = &g->tensors[tensor];
	bool lazy = g->plan->flags & ANNEX_PLAN_LAZY;

	for (struct sim_request *r = t->requests; r; r = r->sibling) {
		if (r->kind == SIM_IN || r->kind == SIM_ALLOC) {
			if (r->gated)
				gate_remove(g, r);
			r->gated = false;
			g->used -= r->granted;
			r->granted = r->asked = 0;
		} else if (r->reclaim && !r->stale) {
			g->reclaiming -= r->left + r->moving - r->stay - r->forget;
			r->reclaim = 0;
		}
		r->left = 0;
		r->stale = true;
		sim_move(g->sim, &r->flight, t->lists, r->flight.bytes);
	}
	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++) {
		struct pte_list *clean = sim_clean(t, i), *out = sim_out(t, i);

		g->used -= clean->bytes;
		sim_give(g, i, clean->bytes + out->bytes);
		sim_drop(g->sim, clean, clean->bytes);
		sim_drop(g->sim, out, out->bytes);
		t->pending[i] = 0;
	}
	if (!lazy) {
		g->used -= t->dirty;
		sim_drop(g->sim, t->lists, t->dirty);
		t->dirty = 0;
		unlist(g, tensor);
	}
	t->born = false;
	t->leaving = 0;
	t->allocating = false;
}

bool sim_ready(const struct sim_gpu *g, uint32_t tensor)
{
	const struct sim_tensor *t = &g->tensors[tensor];
	uint64_t out = 0;

	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++)
		out += sim_out(t, i)->bytes;
	return t->born && !out;
}

static uint64_t movable(const struct sim_gpu *g, const struct sim_tensor *t)
{
	uint64_t bytes = t->dirty - t->leaving;

	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++)
		bytes += sim_clean(t, i)->bytes;
	return bytes;
}

static bool arriving(const struct sim_gpu *g, const struct sim_tensor *t)
{
	bool any = t->allocating;

	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++)
		any = any || t->pending[i];
	return any;
}

/* struct copies - Bytes on the GPU that have a copy, or will after the transfers in flight. */
struct copies {
	uint64_t bytes;
	unsigned int tiers; /* where; a bit each */
	bool coming;        /* with bytes that are not there yet */
	bool saving;
};

static struct copies copies(const struct sim_gpu *g, const struct sim_tensor *t)
{
	struct copies c = {0};

	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++) {
		c.bytes += sim_clean(t, i)->bytes;
		c.tiers |= (unsigned int)!!sim_clean(t, i)->bytes << i;
	}
	for (const struct sim_request *r = t->requests; r; r = r->sibling) {
		bool coming = r->kind == SIM_IN && r->keep && r->left + r->granted + r->moving;
		bool saving = r->kind == SIM_OUT && r->stay;

		if (r->stale || (!coming && !saving))
			continue;
		c.coming = c.coming || coming;
		c.saving = c.saving || saving;
		c.bytes += saving ? r->stay : 0;
		c.tiers |= 1u << r->tier;
	}
	return c;
}

bool sim_can_evict(const struct sim_gpu *g, uint32_t tensor, uint64_t bytes)
{
	const struct sim_tensor *t = &g->tensors[tensor];
	struct copies c = copies(g, t);

	/* Bytes with a copy go first, the nearest of several copies: wait until all are there. */
	if ((c.coming || c.saving) && (c.tiers & (c.tiers - 1)))
		return false;
	if (bytes <= c.bytes)
		return true;
	return !c.coming && (bytes - c.bytes <= t->dirty - t->leaving || !arriving(g, t));
}

bool sim_can_save(const struct sim_gpu *g, uint32_t tensor, uint64_t bytes)
{
	const struct sim_tensor *t = &g->tensors[tensor];

	return bytes <= t->dirty - t->leaving || !arriving(g, t);
}

bool sim_can_prefetch(const struct sim_gpu *g, uint32_t tensor, uint64_t bytes)
{
	const struct sim_tensor *t = &g->tensors[tensor];
	uint64_t gone = 0;

	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++)
		gone += sim_out(t, i)->bytes - t->pending[i];
	for (const struct sim_request *r = t->requests; r; r = r->sibling)
		if (r->kind == SIM_OUT && !r->stale)
			gone += r->left + r->moving - r->stay - r->forget;
	/* Of several places the nearest comes first; and a waiter for the memory must get it. */
	return !t->leaving || (!g->gate && bytes >= gone);
}

/* The least recently used bytes leave, until bytes on their way out, and bytes that left, are
 * enough. */
static void reclaim(struct sim_gpu *g, bool guarded)
{
	const struct annex_system *sys = g->sim->sys;
	const uint64_t chunk = g->sim->chunk, used = g->used;
	const uint64_t want = least(g->gate_bytes, SIM_RECLAIM * chunk);
	bool full = sim_room(g, ANNEX_TIER_HOST) < chunk && sys->ssds;

	for (uint32_t i = g->oldest, newer; i != NOBODY; i = newer) {
		struct sim_tensor *t = &g->tensors[i];
		uint64_t done = g->reclaiming + used - g->used, bytes = movable(g, t), left;
		struct sim_request *r;

		newer = t->newer;
		if (done >= want)
			return;
		if (!bytes && !t->leaving)
			unlist(g, i);
		/* Less than a chunk would ask for less than a chunk the next time, and so on. */
		bytes = least(bytes, want - done > chunk ? want - done : chunk);
		if (!bytes || t->allocating || t->active > g->count ||
		    (guarded && (t->guarded > g->count || arriving(g, t))))
			continue;
		left = drop_clean(g, t, bytes);
		if (!t->born) {
			sim_drop(g->sim, t->lists, left);
			t->dirty -= left;
			g->used -= left;
			left = 0;
		}
		if (!left)
			continue;
		r = leave(g, i, full ? sim_ssd(g) : ANNEX_TIER_HOST, left, 0);
		if (!r)
			return;
		r->reclaim = 1;
		g->reclaiming += left;
	}
}

static void grant(struct sim_gpu *g)
{
	bool chunks = g->plan->flags & ANNEX_PLAN_RECLAIM;

	while (g->gate) {
		struct sim_request *r = g->gate;
		uint64_t n = least(r->asked, g->capacity - g->used);

		/* Where memory is reclaimed in chunks, smaller grants would keep shrinking. */
		if (chunks && n < r->asked && n < g->sim->chunk)
			break;
		r->left -= n;
		r->granted += n;
		r->asked -= n;
		g->used += n;
		g->gate_bytes -= n;
		if (r->asked)
			break;
		g->gate = r->gate_next;
		r->gate_next = NULL;
		r->gated = false;
		if (!g->gate)
			g->gate_tail = NULL;
	}
	if (g->used > g->peak)
		g->peak = g->used;
	if (g->used > g->sample_peak)
		g->sample_peak = g->used;
}

/* The first of each flow that takes memory as its bytes come asks for so much ahead of them. */
static void ask(struct sim_gpu *g)
{
	for (unsigned int t = ANNEX_TIER_HOST; t < g->sim->tiers; t++) {
		struct sim_request *r = g->in[t].head;

		while (r && !r->left && !r->gated)
			r = r->next;
		if (r && on_demand(g, r) && !r->gated && r->granted < SIM_RECLAIM * g->sim->chunk)
			gate_add(g, r, r->first);
	}
}

void sim_pump(struct sim_gpu *g)
{
	uint64_t used;

	ask(g);
	do {
		grant(g);
		if (!(g->plan->flags & ANNEX_PLAN_RECLAIM) || !g->gate_bytes)
			return;
		used = g->used;
		/* Tensors of the next kernels are guarded against steps, not against faults. */
		reclaim(g, g->tensors[g->gate->tensor].active <= g->count);
	} while (g->used != used);
}

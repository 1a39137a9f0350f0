// SPDX-License-Identifier: MIT
/*
 * A unit: its generator, sub-cores that issue from one micro-thread after the other, the load/store
 * units, TLB and L1. M2NDP section III-E; L1 is written through, and not filled by stores (III-F).
 */
#include <string.h>
#include "timing.h"

static struct time_slot *slot_of(struct time_sim *s, uint32_t i)
{
	return &s->slots[i];
}

static uint32_t unit_of(const struct time_sim *s, uint32_t slot)
{
	return slot / (s->p->subcores * s->p->slots);
}

void time_unit_ready(struct time_sim *s, uint32_t slot)
{
	s->subcores[slot / s->p->slots].ready |= 1ull << slot % s->p->slots;
}

static void finish(struct time_sim *s, uint32_t slot)
{
	struct time_slot *t = slot_of(s, slot);
	uint64_t at = t->done > s->cycle ? t->done : s->cycle + 1;

	time_later(s, at, EVENT_READY, slot);
}

/* An answer that a slot waits for: one more node at a request. */
static void wait_for(struct time_sim *s, uint32_t request, uint32_t slot)
{
	uint32_t node = time_take(s, &s->nodes);
	struct time_node *n = (struct time_node *)s->nodes.at + node;

	if (node == NONE)
		return;
	*n = (struct time_node){slot, time_request(s, request)->waiters};
	time_request(s, request)->waiters = node;
	slot_of(s, slot)->waits++;
}

static uint32_t find_pending(struct time_sim *s, const struct time_unit *u, uint64_t sector,
			     enum time_kind kind)
{
	uint32_t i = u->pending[time_chain(sector)];

	while (i != NONE &&
	       (time_request(s, i)->sector != sector || time_request(s, i)->kind != kind))
		i = time_request(s, i)->pending;
	return i;
}

static uint32_t send(struct time_sim *s, uint32_t unit, uint64_t sector, enum time_kind kind,
		     uint64_t at)
{
	uint32_t i = time_take(s, &s->requests), channel;
	struct time_unit *u = &s->units[unit];
	struct time_request *r;
	uint64_t local;

	if (i == NONE)
		return NONE;
	channel = time_channel_of(s, sector, &local);
	r = time_request(s, i);
	*r = (struct time_request){.sector = sector, .unit = unit, .kind = kind, .next = NONE};
	r->waiters = NONE;
	r->pending = u->pending[time_chain(sector)];
	u->pending[time_chain(sector)] = i;
	if (kind == TIME_WRITE)
		u->stores++;
	else
		u->loads++;
	s->under_way++;
	at = (at > s->cycle ? at : s->cycle) +
	     time_through(s, &s->in_free[unit], &s->out_free[channel],
			  kind == TIME_READ || kind == TIME_WALK ? 1 : 2);
	time_later(s, at, EVENT_ARRIVE, i);
	return i;
}

/* A page's entry in the DRAM-TLB: 16 bytes, somewhere that its number says (III-H). */
static bool translated(struct time_sim *s, uint32_t unit, uint64_t address)
{
	struct time_unit *u = &s->units[unit];
	uint64_t page = address / s->p->page, entry;
	struct time_line *line = time_find(&u->tlb, page);
	uint32_t walk;

	if (line) {
		line->used = ++s->stamp;
		return true;
	}
	entry = 1ull << 47 | (page * 0x9e3779b97f4a7c15ull >> 40) * 16 / SECTOR * SECTOR;
	walk = find_pending(s, u, entry, TIME_WALK);
	if (walk == NONE) {
		walk = send(s, unit, entry, TIME_WALK, s->cycle);
		if (walk != NONE)
			time_request(s, walk)->page = page;
		s->out->walks++;
	}
	return false;
}

static bool load_sector(struct time_sim *s, uint32_t slot, uint64_t sector, bool atomic,
			uint64_t at)
{
	uint32_t unit = unit_of(s, slot), i;
	struct time_unit *u = &s->units[unit];
	struct time_line *line = time_find(&u->l1, sector / LINE);
	uint8_t bit = (uint8_t)(1u << sector / SECTOR % SECTORS);

	if (!atomic && line && line->valid & bit) {
		line->used = ++s->stamp;
		s->out->l1_hits++;
		return true;
	}
	i = atomic ? NONE : find_pending(s, u, sector, TIME_READ);
	if (i == NONE) {
		if (u->loads >= s->p->loads)
			return false;
		if (atomic && line)
			line->valid &= (uint8_t)~bit;
		i = send(s, unit, sector, atomic ? TIME_ATOMIC : TIME_READ, at);
	}
	s->out->l1_misses++;
	if (i != NONE)
		wait_for(s, i, slot);
	return true;
}

/* The sectors of an instruction, one a cycle through the unit's port. False: it must wait. */
static bool access_memory(struct time_sim *s, uint32_t slot, bool atomic)
{
	struct time_slot *t = slot_of(s, slot);
	struct time_unit *u = &s->units[unit_of(s, slot)];

	for (; t->left; t->left--, t->sector++) {
		uint64_t what = t->trace.sector[t->sector], sector = what & ~(uint64_t)TOUCH_KIND;
		uint64_t at = (u->port > s->cycle ? u->port : s->cycle) + s->p->l1_cycles;

		if (!(what & TOUCH_PAD)) {
			if (!translated(s, unit_of(s, slot), sector))
				return false;
			if ((what & TOUCH_WRITE) && !atomic) {
				if (u->stores >= s->p->stores)
					return false;
				send(s, unit_of(s, slot), sector, TIME_WRITE, at);
			} else if (!load_sector(s, slot, sector, atomic, at)) {
				return false;
			}
		}
		u->port = at - s->p->l1_cycles + 1;
		t->done = t->done > at ? t->done : at;
	}
	if (!t->waits)
		finish(s, slot);
	return true;
}

static bool atomic_step(const struct time_slot *t)
{
	return t->trace.step[t->step - 1].atomic;
}

/* Micro-threads that could not send try again, in their order. */
static void unblock(struct time_sim *s, struct time_unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nblocked; i++) {
		uint32_t slot = u->blocked[i];

		if (!access_memory(s, slot, atomic_step(slot_of(s, slot))))
			u->blocked[n++] = slot;
	}
	u->nblocked = n;
}

static void fill(struct time_sim *s, struct time_unit *u, const struct time_request *r)
{
	struct time_line *line = time_find(&u->l1, r->sector / LINE);

	if (!line) {
		line = time_victim(&u->l1, r->sector / LINE);
		*line = (struct time_line){.tag = r->sector / LINE + 1};
	}
	line->valid |= (uint8_t)(1u << r->sector / SECTOR % SECTORS);
	line->used = ++s->stamp;
}

void time_unit_answer(struct time_sim *s, uint32_t request)
{
	struct time_request *r = time_request(s, request);
	struct time_unit *u = &s->units[r->unit];
	uint32_t *link = &u->pending[time_chain(r->sector)];

	while (*link != request)
		link = &time_request(s, *link)->pending;
	*link = r->pending;
	if (r->kind == TIME_WRITE)
		u->stores--;
	else
		u->loads--;
	s->under_way--;
	if (r->kind == TIME_READ)
		fill(s, u, r);
	if (r->kind == TIME_WALK)
		*time_victim(&u->tlb, r->page) = (struct time_line){r->page + 1, ++s->stamp, 0, 0,
								    0};
	while (r->waiters != NONE) {
		uint32_t node = r->waiters;
		struct time_node *n = (struct time_node *)s->nodes.at + node;
		struct time_slot *t = slot_of(s, n->slot);

		r->waiters = n->next;
		if (!--t->waits && !t->left)
			finish(s, n->slot);
		time_give(&s->nodes, node);
	}
	time_give(&s->requests, request);
	unblock(s, u);
}

/* How long the unit is taken, and when the micro-thread may go on. */
static uint32_t taken(const struct time_sim *s, const struct time_step *step)
{
	switch (step->unit) {
	case RV_VALU:
		return step->uops;
	case RV_VSFU:
		return step->uops * s->p->vsfu_cycles;
	case RV_LSU:
	case RV_VLSU:
		return step->sectors ? step->sectors : 1;
	default: /* two ALUs, for one instruction a cycle; the SFU is a pipeline */
		return 1;
	}
}

static void issue(struct time_sim *s, uint32_t slot)
{
	struct time_slot *t = slot_of(s, slot);
	const struct time_step *step = &t->trace.step[t->step++];
	struct time_subcore *c = &s->subcores[slot / s->p->slots];
	uint32_t busy = taken(s, step);

	c->ready &= ~(1ull << slot % s->p->slots);
	c->taken[step->unit] = s->cycle + busy;
	s->out->busy[step->unit] += busy;
	t->done = s->cycle + s->p->issue_cycles + busy - 1;
	if (step->unit == RV_SFU)
		t->done += s->p->sfu_cycles;
	t->left = step->sectors;
	if (!t->left) {
		finish(s, slot);
	} else if (!access_memory(s, slot, step->atomic)) {
		struct time_unit *u = &s->units[unit_of(s, slot)];

		u->blocked[u->nblocked++] = slot;
	}
}

/* One instruction a cycle, of the next micro-thread that is ready and whose unit is free. */
static void subcore_cycle(struct time_sim *s, uint32_t i)
{
	struct time_subcore *c = &s->subcores[i];
	uint32_t n = s->p->slots;

	for (uint32_t k = 1; k <= n && c->ready; k++) {
		uint32_t at = (c->last + k) % n, slot = i * n + at;
		struct time_slot *t = slot_of(s, slot);

		if (!(c->ready >> at & 1))
			continue;
		if (t->step == t->trace.nsteps) { /* it has ended */
			c->ready &= ~(1ull << at);
			c->idle |= 1ull << at;
			s->units[unit_of(s, slot)].live--;
			s->live--;
			continue;
		}
		if (c->taken[t->trace.step[t->step].unit] > s->cycle)
			continue;
		c->last = at;
		issue(s, slot);
		return;
	}
}

/* The generator gives the unit's next micro-thread to the sub-core that has most room. */
static void spawn(struct time_sim *s, uint32_t unit)
{
	struct time_unit *u = &s->units[unit];
	struct time_subcore *best = NULL;
	uint32_t at, slot;

	if (s->err || u->next >= s->share || u->spawn > s->cycle)
		return;
	for (uint32_t i = 0; i < s->p->subcores; i++) {
		struct time_subcore *c = &s->subcores[unit * s->p->subcores + i];

		if (c->idle &&
		    (!best || __builtin_popcountll(c->idle) > __builtin_popcountll(best->idle)))
			best = c;
	}
	if (!best)
		return;
	at = (uint32_t)__builtin_ctzll(best->idle);
	slot = (uint32_t)(best - s->subcores) * s->p->slots + at;
	s->err = time_thread_run(s, unit, u->next, &s->slots[slot].trace);
	s->slots[slot].step = s->slots[slot].sector = 0;
	best->idle &= ~(1ull << at);
	u->next += s->per_slot ? 1 : s->p->units;
	if (s->per_slot && u->next == (unit + 1ull) * s->share / s->p->units)
		u->next = UINT64_MAX;
	u->spawn = s->cycle + s->p->spawn_cycles;
	u->live++;
	s->live++;
	s->spawned++;
	time_later(s, s->cycle + 1, EVENT_READY, slot);
}

void time_unit_cycle(struct time_sim *s, uint32_t unit)
{
	spawn(s, unit);
	if (!s->units[unit].live)
		return;
	for (uint32_t i = 0; i < s->p->subcores; i++)
		subcore_cycle(s, unit * s->p->subcores + i);
}

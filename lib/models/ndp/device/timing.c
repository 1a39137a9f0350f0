// SPDX-License-Identifier: MIT
/*
 * Common parts of the timed device: events, caches, the network, and their memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/array.h"
#include "core/log.h"
#include "timing.h"

uint32_t time_take(struct time_sim *s, struct time_pool *pool)
{
	uint32_t i = pool->free;

	if (i != NONE) {
		memcpy(&pool->free, pool->at + (size_t)i * pool->bytes, sizeof(pool->free));
		return i;
	}
	if (pool->n == pool->room) {
		uint32_t room = pool->room ? pool->room * 2 : 4096;

		if (!array_resize(&pool->at, (size_t)room * pool->bytes)) {
			s->err = annex_fail(-ENOMEM, "no memory for requests in flight");
			return NONE; /* phase() ends with it */
		}
		pool->room = room;
	}
	return pool->n++;
}

void time_give(struct time_pool *pool, uint32_t i)
{
	memcpy(pool->at + (size_t)i * pool->bytes, &pool->free, sizeof(pool->free));
	pool->free = i;
}

void time_later(struct time_sim *s, uint64_t at, enum time_event_kind kind, uint32_t what)
{
	uint32_t i = time_take(s, &s->events);
	uint32_t *head;

	if (i == NONE)
		return;
	at = at > s->cycle ? at : s->cycle + 1;
	head = &s->wheel[at % WHEEL];
	((struct time_event *)s->events.at)[i] = (struct time_event){at, what, *head, kind};
	*head = i;
}

struct time_line *time_find(const struct time_cache *c, uint64_t number)
{
	struct time_line *set = c->line + number % c->sets * c->ways;

	for (uint32_t i = 0; i < c->ways; i++)
		if (set[i].tag == number + 1)
			return &set[i];
	return NULL;
}

/* The line that was used least recently; NULL: all of them wait for memory. */
struct time_line *time_victim(const struct time_cache *c, uint64_t number)
{
	struct time_line *set = c->line + number % c->sets * c->ways, *best = NULL;

	for (uint32_t i = 0; i < c->ways; i++)
		if (!set[i].pending && (!best || set[i].used < best->used))
			best = &set[i];
	return best;
}

/*
 * Through a crossbar, from a port to a port: cycles until the last flit is there. Half of the
 * crossbars are for each direction, so a port has so many flits a cycle. Ports count flits.
 */
uint64_t time_through(struct time_sim *s, uint64_t *from, uint64_t *to, uint32_t flits)
{
	uint32_t width = s->p->crossbars / 2;
	uint64_t now = s->cycle * width, at = *from > now ? *from : now;

	*from = at + flits;
	at += (uint64_t)s->p->noc_cycles * width;
	at = *to > at ? *to : at;
	*to = at + flits;
	return (at + flits - now + width - 1) / width;
}

/* Which channel has @address, and where: hashed by chunks, so that no stride meets one only. */
uint32_t time_channel_of(const struct time_sim *s, uint64_t address, uint64_t *local)
{
	uint64_t chunk = address / s->p->interleave, hash = 0;

	*local = chunk / s->p->channels * s->p->interleave + address % s->p->interleave;
	if (s->p->channels == 1)
		return 0;
	for (uint64_t left = chunk; left; left /= s->p->channels)
		hash ^= left % s->p->channels;
	return (uint32_t)hash;
}

static int cache(struct time_cache *c, uint32_t bytes, uint32_t line, uint32_t ways)
{
	c->ways = ways;
	c->sets = bytes / line / ways;
	c->line = calloc((size_t)c->sets * ways, sizeof(*c->line));
	return c->line ? 0 : -ENOMEM;
}

static int build_unit(struct time_sim *s, struct time_unit *u)
{
	const struct ndp_time_params *p = s->p;
	uint32_t slots = p->subcores * p->slots;

	memset(u->pending, 0xff, sizeof(u->pending));
	u->blocked = calloc(slots, sizeof(*u->blocked));
	if (!u->blocked)
		return -ENOMEM;
	return cache(&u->tlb, p->tlb_entries, 1, p->tlb_ways);
}

static int build_channel(struct time_sim *s, struct time_channel *c)
{
	const struct ndp_time_params *p = s->p;

	memset(c->pending, 0xff, sizeof(c->pending));
	c->head = NONE;
	c->reads = calloc(p->queue, sizeof(*c->reads));
	c->writes = calloc(p->queue, sizeof(*c->writes));
	c->bank = calloc(p->banks, sizeof(*c->bank));
	if (!c->reads || !c->writes || !c->bank)
		return -ENOMEM;
	return cache(&c->l2, p->l2_bytes, LINE, p->l2_ways);
}

static int build_parts(struct time_sim *s)
{
	const struct ndp_time_params *p = s->p;
	uint32_t subcores = p->units * p->subcores;

	s->units = calloc(p->units, sizeof(*s->units));
	s->subcores = calloc(subcores, sizeof(*s->subcores));
	s->slots = calloc((size_t)subcores * p->slots, sizeof(*s->slots));
	s->channels = calloc(p->channels, sizeof(*s->channels));
	s->in_free = calloc(2ul * (p->units + p->channels), sizeof(*s->in_free));
	if (!s->units || !s->subcores || !s->slots || !s->channels || !s->in_free)
		return -ENOMEM;
	s->home_free = s->in_free + p->units;
	s->out_free = s->home_free + p->units;
	s->back_free = s->out_free + p->channels;
	for (uint32_t i = 0; i < p->units; i++)
		if (build_unit(s, &s->units[i]))
			return -ENOMEM;
	for (uint32_t i = 0; i < p->channels; i++)
		if (build_channel(s, &s->channels[i]))
			return -ENOMEM;
	return 0;
}

/* Prepare scratchpads with the arguments, empty L1s in the rest, and slots for the registers. */
int time_prepare(struct time_sim *s)
{
	const struct ndp_time_kernel *k = s->k;

	for (uint32_t i = 0; i < s->p->units * s->p->subcores; i++)
		s->subcores[i].idle = UINT64_MAX >> (64 - s->slots_used);
	for (uint32_t i = 0; i < s->p->units; i++) {
		struct time_unit *u = &s->units[i];

		free(u->pad);
		free(u->l1.line);
		u->l1.line = NULL;
		u->pad = calloc(1, k->scratchpad + 1);
		if (!u->pad || cache(&u->l1, s->p->l1_bytes - k->scratchpad, LINE, s->p->l1_ways))
			return annex_fail(-ENOMEM, "no memory for scratchpads");
		memcpy(u->pad, k->args, k->args_bytes);
	}
	return 0;
}

int time_build(struct time_sim *s)
{
	s->requests = (struct time_pool){.bytes = sizeof(struct time_request), .free = NONE};
	s->nodes = (struct time_pool){.bytes = sizeof(struct time_node), .free = NONE};
	s->events = (struct time_pool){.bytes = sizeof(struct time_event), .free = NONE};
	memset(s->wheel, 0xff, sizeof(s->wheel));
	return build_parts(s) ? annex_fail(-ENOMEM, "no memory for the device") : 0;
}

void time_free(struct time_sim *s)
{
	const struct ndp_time_params *p = s->p;

	for (uint32_t i = 0; s->units && i < p->units; i++) {
		free(s->units[i].l1.line);
		free(s->units[i].tlb.line);
		free(s->units[i].blocked);
		free(s->units[i].pad);
	}
	for (uint32_t i = 0; s->channels && i < p->channels; i++) {
		free(s->channels[i].l2.line);
		free(s->channels[i].reads);
		free(s->channels[i].writes);
		free(s->channels[i].bank);
	}
	for (uint32_t i = 0; s->slots && i < p->units * p->subcores * p->slots; i++) {
		free(s->slots[i].trace.step);
		free(s->slots[i].trace.sector);
	}
	free(s->units);
	free(s->subcores);
	free(s->slots);
	free(s->channels);
	free(s->in_free);
	free(s->requests.at);
	free(s->nodes.at);
	free(s->events.at);
}

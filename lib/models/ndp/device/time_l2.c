// SPDX-License-Identifier: MIT
/*
 * The cache in front of a channel: a sector a cycle, written back, atomics done here (M2NDP III-F).
 * A request that must wait holds up those behind it.
 */
#include "timing.h"

void time_l2_arrive(struct time_sim *s, uint32_t request)
{
	uint64_t local;
	struct time_channel *c =
		&s->channels[time_channel_of(s, time_request(s, request)->sector, &local)];

	time_request(s, request)->next = NONE;
	if (c->head == NONE)
		c->head = request;
	else
		time_request(s, c->tail)->next = request;
	c->tail = request;
}

static void answer(struct time_sim *s, uint32_t channel, uint32_t request, uint32_t wait)
{
	const struct time_request *r = time_request(s, request);
	uint64_t at = s->cycle + time_through(s, &s->back_free[channel], &s->home_free[r->unit],
					      r->kind == TIME_WRITE ? 1 : 2);

	time_later(s, at + wait, EVENT_ANSWER, request);
}

/* A line for @number; NULL: none can be had now. Its old data goes to DRAM. */
static struct time_line *allocate(struct time_sim *s, uint32_t channel, uint64_t number)
{
	struct time_channel *c = &s->channels[channel];
	struct time_line *line = time_victim(&c->l2, number);

	if (!line || !time_dram_room(s, channel, 0, (uint32_t)__builtin_popcount(line->dirty)))
		return NULL;
	for (uint32_t i = 0; i < SECTORS; i++) {
		/* A line's number is that of its channel's memory. */
		if (line->dirty >> i & 1)
			time_dram_write(s, channel, (line->tag - 1) * LINE + i * SECTOR);
	}
	*line = (struct time_line){.tag = number + 1};
	return line;
}

static void read_sector(struct time_sim *s, uint32_t channel, uint32_t request, uint64_t local,
			struct time_line *line, uint8_t bit)
{
	struct time_channel *c = &s->channels[channel];
	struct time_request *r = time_request(s, request);
	uint32_t *first = &c->pending[time_chain(local)];

	if (line->valid & bit) {
		s->out->l2_hits++;
		if (r->kind == TIME_ATOMIC)
			line->dirty |= bit;
		answer(s, channel, request, s->p->l2_cycles);
		return;
	}
	s->out->l2_misses++;
	r->next = *first;
	*first = request;
	if (!(line->pending & bit))
		time_dram_read(s, channel, local, request);
	line->pending |= bit;
}

void time_l2_cycle(struct time_sim *s, uint32_t channel)
{
	struct time_channel *c = &s->channels[channel];
	uint32_t request = c->head;
	struct time_request *r;
	struct time_line *line;
	uint64_t local;
	uint8_t bit;

	if (request == NONE)
		return;
	r = time_request(s, request);
	time_channel_of(s, r->sector, &local);
	bit = (uint8_t)(1u << local / SECTOR % SECTORS);
	line = time_find(&c->l2, local / LINE);
	if (r->kind != TIME_WRITE && !(line && (line->valid | line->pending) & bit) &&
	    !time_dram_room(s, channel, 1, 0))
		return;
	if (!line)
		line = allocate(s, channel, local / LINE);
	if (!line)
		return;
	c->head = r->next;
	line->used = ++s->stamp;
	if (r->kind != TIME_WRITE) {
		read_sector(s, channel, request, local, line, bit);
		return;
	}
	line->valid |= bit;
	line->dirty |= bit;
	answer(s, channel, request, s->p->l2_cycles);
}

/* DRAM has answered @request: serve all requests that wait for its sector. */
void time_l2_filled(struct time_sim *s, uint32_t request)
{
	uint64_t local;
	uint32_t channel = time_channel_of(s, time_request(s, request)->sector, &local);
	struct time_channel *c = &s->channels[channel];
	struct time_line *line = time_find(&c->l2, local / LINE);
	uint8_t bit = (uint8_t)(1u << local / SECTOR % SECTORS);
	uint32_t *link = &c->pending[time_chain(local)];

	line->valid |= bit;
	line->pending &= (uint8_t)~bit;
	while (*link != NONE) {
		uint32_t one = *link;
		struct time_request *r = time_request(s, one);
		uint64_t here;

		time_channel_of(s, r->sector, &here);
		if (here != local) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		if (r->kind == TIME_ATOMIC)
			line->dirty |= bit;
		answer(s, channel, one, 0);
	}
}

// SPDX-License-Identifier: MIT
/*
 * A channel of DRAM: banks with open rows, commands by the clock, those first that find their row
 * open (FR-FCFS). Reads go before writes until there are many of those.
 */
#include "timing.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool time_dram_room(const struct time_sim *s, uint32_t channel, uint32_t reads, uint32_t writes)
{
	const struct time_channel *c = &s->channels[channel];

	return c->nreads + reads <= s->p->queue && c->nwrites + writes <= s->p->queue;
}

/* Rows one after the other lie in different banks, and not always in the same order. */
static struct time_entry entry(const struct time_sim *s, uint64_t local, uint32_t request)
{
	uint64_t row = local / s->p->row / s->p->banks;
	uint64_t bank = (local / s->p->row ^ row) % s->p->banks;

	return (struct time_entry){.row = row,
				   .bank = (uint32_t)bank,
				   .request = request,
				   .sector = local,
				   .since = s->cycle + (request == NONE ? 0 : s->p->l2_cycles)};
}

void time_dram_read(struct time_sim *s, uint32_t channel, uint64_t local, uint32_t request)
{
	struct time_channel *c = &s->channels[channel];

	c->reads[c->nreads++] = entry(s, local, request);
	s->out->read += SECTOR;
}

void time_dram_write(struct time_sim *s, uint32_t channel, uint64_t local)
{
	struct time_channel *c = &s->channels[channel];

	c->writes[c->nwrites++] = entry(s, local, NONE);
	s->out->written += SECTOR;
}

/* The column command of entry @i, which leaves the queue. */
static void column(struct time_sim *s, uint32_t channel, struct time_entry *queue, uint32_t *n,
		   uint32_t i)
{
	const struct ndp_time_params *p = s->p;
	struct time_channel *c = &s->channels[channel];
	const struct time_entry e = queue[i];
	struct time_bank *b = &c->bank[e.bank];
	uint64_t now = s->clock, end;

	b->used = now;
	if (queue == c->reads) {
		end = now + p->tcl + p->tbl;
		b->pre = later(b->pre, now + p->trtp);
		c->read_at = now + p->tbl;
		c->write_at = later(c->write_at, end + 1 - p->tcwl);
		time_later(s, (end * p->mhz + p->dram_mhz - 1) / p->dram_mhz, EVENT_FILL,
			   e.request);
	} else {
		end = now + p->tcwl + p->tbl;
		b->pre = later(b->pre, end + p->twr);
		c->write_at = now + p->tbl;
		c->read_at = later(c->read_at, end + p->twtr);
	}
	if (e.opened)
		s->out->row_misses++;
	else
		s->out->row_hits++;
	for (--*n; i < *n; i++)
		queue[i] = queue[i + 1];
}

static void activate(struct time_sim *s, struct time_channel *c, struct time_entry *e)
{
	const struct ndp_time_params *p = s->p;
	struct time_bank *b = &c->bank[e->bank];
	uint64_t now = s->clock;

	b->row = e->row + 1;
	b->used = now;
	b->act = now + p->trc;
	b->col = now + p->trcd;
	b->pre = now + p->trc - p->trp;
	for (unsigned int i = 0; i < 3; i++)
		c->acts[i] = c->acts[i + 1];
	c->acts[3] = now;
	c->act_at = later(now + p->trrd, c->acts[0] ? c->acts[0] + p->tfaw : 0);
	e->opened = true;
}

/* Whether an entry of the queue still wants the row that is open in @bank. */
static bool wanted(const struct time_channel *c, const struct time_entry *queue, uint32_t n,
		   uint32_t bank)
{
	for (uint32_t i = 0; i < n; i++)
		if (queue[i].bank == bank && queue[i].row + 1 == c->bank[bank].row)
			return true;
	return false;
}

static void precharge(struct time_sim *s, struct time_bank *b)
{
	b->row = 0;
	b->act = later(b->act, s->clock + s->p->trp);
}

/* One command for the oldest entry that has one to give: of columns, then of rows. */
static bool command(struct time_sim *s, uint32_t channel, struct time_entry *queue, uint32_t *n)
{
	struct time_channel *c = &s->channels[channel];
	uint64_t now = s->clock, at = queue == c->reads ? c->read_at : c->write_at;

	for (uint32_t i = 0; i < *n && now >= at; i++) {
		const struct time_bank *b = &c->bank[queue[i].bank];

		if (b->row == queue[i].row + 1 && now >= b->col && s->cycle >= queue[i].since) {
			column(s, channel, queue, n, i);
			return true;
		}
	}
	for (uint32_t i = 0; i < *n; i++) {
		struct time_bank *b = &c->bank[queue[i].bank];

		if (s->cycle < queue[i].since || b->row == queue[i].row + 1)
			continue;
		if (!b->row && now >= b->act && now >= c->act_at) {
			activate(s, c, &queue[i]);
			return true;
		}
		if (b->row && now >= b->pre && !wanted(c, queue, *n, queue[i].bank)) {
			precharge(s, b);
			return true;
		}
	}
	return false;
}

/* With no other command to give, one bank is looked at: whether its row has been idle for long. */
static void close_idle(struct time_sim *s, struct time_channel *c)
{
	struct time_bank *b = &c->bank[c->look];
	uint32_t bank = c->look;

	c->look = (c->look + 1) % s->p->banks;
	if (b->row && s->clock >= b->pre && s->clock >= b->used + s->p->row_idle &&
	    !wanted(c, c->reads, c->nreads, bank) && !wanted(c, c->writes, c->nwrites, bank))
		precharge(s, b);
}

void time_dram_clock(struct time_sim *s, uint32_t channel)
{
	struct time_channel *c = &s->channels[channel];

	if (c->draining)
		c->draining = c->nwrites > s->p->drain_low;
	else
		c->draining = c->nwrites >= s->p->drain_high ||
			      (!c->nreads && c->nwrites > s->p->drain_low);
	if (!command(s, channel, c->draining ? c->writes : c->reads,
		     c->draining ? &c->nwrites : &c->nreads))
		close_idle(s, c);
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "clock.h"

#define STRETCHES 32u

/*
 * struct channel - Busy times of a channel: stretches in order of time, with gaps between them.
 * When there are too many, the first two are joined, which are usually past by then.
 */
struct channel {
	struct stretch {
		uint64_t from, to;
	} taken[STRETCHES + 1];
	uint32_t n;
};

/*
 * struct ssd_clock - Timing of the flash.
 * @pass: nanoseconds of a page on a channel.
 * @dies: time at which each die is idle.
 * @reads: time at which each die has done its reads.
 */
struct ssd_clock {
	struct ssd_geometry g;
	struct ssd_media media;
	uint64_t pass;
	uint64_t *dies, *reads;
	struct channel *channels;
};

/* Nanoseconds of some bytes on a channel. */
static uint64_t pass(const struct ssd_clock *c, uint32_t bytes)
{
	return ((uint64_t)bytes * 1000000000 + c->media.rate - 1) / c->media.rate;
}

struct ssd_clock *ssd_clock_create(const struct ssd_geometry *g, const struct ssd_media *media)
{
	struct ssd_clock *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->g = *g;
	c->media = *media;
	c->pass = pass(c, g->page);
	c->dies = calloc((size_t)g->channels * g->dies, sizeof(*c->dies));
	c->reads = calloc((size_t)g->channels * g->dies, sizeof(*c->reads));
	c->channels = calloc(g->channels, sizeof(*c->channels));
	if (c->dies && c->reads && c->channels)
		return c;
	ssd_clock_destroy(c);
	return NULL;
}

void ssd_clock_destroy(struct ssd_clock *c)
{
	if (!c)
		return;
	free(c->dies);
	free(c->reads);
	free(c->channels);
	free(c);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Occupy a die for @ns, from @now on or once it is idle. */
static uint64_t busy(struct ssd_clock *c, uint32_t plane, uint64_t now, uint64_t ns)
{
	uint64_t *die = &c->dies[ssd_die(&c->g, plane)];

	*die = later(*die, now) + ns;
	return *die;
}

/* Join stretch @i with the previous one. */
static void join(struct channel *ch, uint32_t i)
{
	ch->taken[i - 1].to = later(ch->taken[i - 1].to, ch->taken[i].to);
	ch->n--;
	memmove(&ch->taken[i], &ch->taken[i + 1], (ch->n - i) * sizeof(ch->taken[0]));
}

/*
 * Transfer for @ns on the channel of a plane, in the first gap from @ready on. A channel does not
 * wait for busy dies. Return: end of the transfer.
 */
static uint64_t carry(struct ssd_clock *c, uint32_t plane, uint64_t ready, uint64_t ns)
{
	struct channel *ch = &c->channels[ssd_channel(&c->g, plane)];
	uint64_t from = ready;
	uint32_t i = 0;

	for (; i < ch->n && from + ns > ch->taken[i].from; i++)
		from = later(from, ch->taken[i].to);
	memmove(&ch->taken[i + 1], &ch->taken[i], (ch->n - i) * sizeof(ch->taken[0]));
	ch->taken[i] = (struct stretch){from, from + ns};
	ch->n++;
	if (i + 1 < ch->n && ch->taken[i + 1].from == from + ns)
		join(ch, i + 1);
	if (i && ch->taken[i - 1].to == from)
		join(ch, i);
	if (ch->n > STRETCHES)
		join(ch, 1);
	return from + ns;
}

/*
 * Read a page from @now on. Return: time at which the register has it. A program or an erase is
 * suspended if possible, and ends later by the same time.
 */
static uint64_t cells(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	const uint32_t die = ssd_die(&c->g, plane);
	const uint64_t from = later(now, c->reads[die]);
	const uint64_t there = from + c->media.suspend + c->media.read;

	if (!c->media.suspend || c->dies[die] <= there)
		return busy(c, plane, now, c->media.read);
	c->dies[die] += there - from;
	return there;
}

uint64_t ssd_clock_read(struct ssd_clock *c, uint32_t plane, uint32_t bytes, uint64_t now)
{
	const uint64_t done = carry(c, plane, cells(c, plane, now),
				    bytes == c->g.page ? c->pass : pass(c, bytes));

	c->reads[ssd_die(&c->g, plane)] = done;
	busy(c, plane, done, 0);
	return done;
}

uint64_t ssd_clock_program(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	const uint64_t from = later(now, ssd_clock_idle(c, plane));

	return busy(c, plane, carry(c, plane, from, c->pass), c->media.program);
}

uint64_t ssd_clock_erase(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	return busy(c, plane, now, c->media.erase);
}

uint64_t ssd_clock_copy(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	return busy(c, plane, now, c->media.read + c->media.program);
}

uint64_t ssd_clock_idle(const struct ssd_clock *c, uint32_t plane)
{
	return c->dies[ssd_die(&c->g, plane)];
}

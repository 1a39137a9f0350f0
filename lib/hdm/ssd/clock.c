// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "clock.h"

/*
 * struct ssd_clock - @pass: nanoseconds of a page on a channel. @dies, @channels: when each will be
 * idle. @reads: when each die has done its reads.
 */
struct ssd_clock {
	struct ssd_geometry g;
	struct ssd_media media;
	uint64_t pass;
	uint64_t *dies, *channels;
	uint64_t *reads;
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

/* The die is busy for @ns from @now on, or from when it is idle. */
static uint64_t busy(struct ssd_clock *c, uint32_t plane, uint64_t now, uint64_t ns)
{
	uint64_t *die = &c->dies[ssd_die(&c->g, plane)];

	*die = later(*die, now) + ns;
	return *die;
}

/*
 * A read that comes at @now. Return: when the register has the page. A program or an erase makes
 * way, and is done so much later.
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
	uint64_t *channel = &c->channels[ssd_channel(&c->g, plane)];

	*channel = later(*channel, cells(c, plane, now)) +
		   (bytes == c->g.page ? c->pass : pass(c, bytes));
	c->reads[ssd_die(&c->g, plane)] = *channel;
	busy(c, plane, *channel, 0);
	return *channel;
}

uint64_t ssd_clock_program(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	uint64_t *channel = &c->channels[ssd_channel(&c->g, plane)];
	uint64_t from = later(now, ssd_clock_idle(c, plane));

	*channel = later(*channel, from) + c->pass;
	return busy(c, plane, *channel, c->media.program);
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

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "clock.h"

/*
 * struct ssd_clock - @pass: nanoseconds of a page on a channel. @dies, @channels: when each will be
 * idle. @held: of each plane, the page in its register + 1; 0: none.
 */
struct ssd_clock {
	struct ssd_geometry g;
	struct ssd_media media;
	uint64_t pass;
	uint64_t *dies, *channels;
	uint64_t *held;
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
	c->channels = calloc(g->channels, sizeof(*c->channels));
	c->held = calloc(ssd_planes(g), sizeof(*c->held));
	if (c->dies && c->channels && c->held)
		return c;
	ssd_clock_destroy(c);
	return NULL;
}

void ssd_clock_destroy(struct ssd_clock *c)
{
	if (!c)
		return;
	free(c->dies);
	free(c->channels);
	free(c->held);
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

uint64_t ssd_clock_read(struct ssd_clock *c, uint32_t plane, uint32_t page, uint32_t bytes,
			uint64_t now)
{
	uint64_t *channel = &c->channels[ssd_channel(&c->g, plane)];
	uint64_t there = busy(c, plane, now, c->held[plane] == page + 1ull ? 0 : c->media.read);

	c->held[plane] = page + 1ull;
	*channel = later(*channel, there) + (bytes == c->g.page ? c->pass : pass(c, bytes));
	return busy(c, plane, *channel, 0);
}

uint64_t ssd_clock_program(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	uint64_t *channel = &c->channels[ssd_channel(&c->g, plane)];
	uint64_t from = later(now, ssd_clock_idle(c, plane));

	c->held[plane] = 0;
	*channel = later(*channel, from) + c->pass;
	return busy(c, plane, *channel, c->media.program);
}

uint64_t ssd_clock_erase(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	c->held[plane] = 0;
	return busy(c, plane, now, c->media.erase);
}

uint64_t ssd_clock_copy(struct ssd_clock *c, uint32_t plane, uint64_t now)
{
	c->held[plane] = 0;
	return busy(c, plane, now, c->media.read + c->media.program);
}

uint64_t ssd_clock_idle(const struct ssd_clock *c, uint32_t plane)
{
	return c->dies[ssd_die(&c->g, plane)];
}

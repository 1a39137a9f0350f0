// SPDX-License-Identifier: GPL-2.0-or-later
#include "series.h"

#define FIRST_WIDTH 1024u

static void join(struct series_sum *sums)
{
	for (uint32_t i = 0; i < SERIES_WINDOWS / 2; i++) {
		sums[i].n = sums[2 * i].n + sums[2 * i + 1].n;
		sums[i].ns = sums[2 * i].ns + sums[2 * i + 1].ns;
	}
	for (uint32_t i = SERIES_WINDOWS / 2; i < SERIES_WINDOWS; i++)
		sums[i] = (struct series_sum){0, 0};
}

/* The window of a moment. */
static uint32_t window(struct series *s, uint64_t now)
{
	uint32_t i;

	if (!s->width)
		s->width = FIRST_WIDTH;
	while (now / s->width >= SERIES_WINDOWS) {
		join(s->loads);
		join(s->stores);
		s->width *= 2;
		s->n = (s->n + 1) / 2;
	}
	i = (uint32_t)(now / s->width);
	s->n = i < s->n ? s->n : i + 1;
	return i;
}

static void add(struct series_sum *sum, uint64_t ns)
{
	sum->n++;
	sum->ns += ns;
}

void series_load(struct series *s, uint64_t now, uint64_t ns)
{
	add(&s->loads[window(s, now)], ns);
}

void series_store(struct series *s, uint64_t now, uint64_t ns)
{
	add(&s->stores[window(s, now)], ns);
}

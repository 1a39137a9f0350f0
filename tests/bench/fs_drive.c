// SPDX-License-Identifier: MIT
/*
 * The rounds of all actors, in the order of their clocks.
 */
#include <stdlib.h>
#include "figure.h"
#include "fs.h"

/* struct drive - @rounds: that nobody has begun. @next: when all is written back next; that has a
 * clock of its own. */
struct drive {
	struct fsb_actor *actors;
	uint32_t running, rounds;
	uint64_t next;
};

/* The earliest one that runs; the others are behind these. */
static struct fsb_actor *earliest(const struct drive *d)
{
	struct fsb_actor *first = d->actors;

	for (uint32_t i = 1; i < d->running; i++)
		if (d->actors[i].clock < first->clock)
			first = &d->actors[i];
	return first;
}

/* Changes of files are written back from time to time, as by the kernel. */
static void write_back(struct fsb *b, struct drive *d)
{
	const uint64_t now = d->next;

	b->clock = now;
	/* Or it is called again, when it is the earliest. */
	d->next = fsb_sync(b, 0) ? now + b->opts.flush / b->opts.scale : b->clock;
	if (d->next < b->clock)
		d->next = b->clock;
}

static void go_on(struct fsb *b, struct drive *d, struct fsb_actor *a)
{
	b->clock = a->clock;
	if (b->work->steps[a->step](b, a)) {
		b->ops++;
		a->step++;
	}
	a->clock = b->clock;
	if (a->step < FSB_STEPS && b->work->steps[a->step])
		return;
	a->step = 0;
	if (d->rounds)
		d->rounds--;
	else
		*a = d->actors[--d->running];
}

void fsb_drive(struct fsb *b)
{
	const uint32_t n = b->work->actors;
	struct drive d = {.actors = calloc(n + 1, sizeof(*d.actors)), .running = n};
	uint64_t last = b->clock;

	if (!d.actors)
		bench_fail("out of memory");
	d.rounds = (uint32_t)(b->work->rounds / b->opts.scale);
	if (d.rounds < n)
		bench_fail("%s: fewer rounds than actors", b->work->name);
	d.rounds -= n;
	d.next = b->clock + b->opts.flush / b->opts.scale;
	for (uint32_t i = 0; i < n; i++)
		d.actors[i].clock = b->clock;
	while (d.running) {
		struct fsb_actor *a = earliest(&d);

		if (d.next < a->clock)
			write_back(b, &d);
		else
			go_on(b, &d, a);
		last = b->clock > last ? b->clock : last;
	}
	b->clock = last;
	free(d.actors);
}

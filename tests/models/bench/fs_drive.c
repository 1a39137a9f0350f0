// SPDX-License-Identifier: MIT
/*
 * The rounds of all actors, in the order of their clocks.
 */
#include <stdlib.h>
#include "../../bench/figure.h"
#include "fs.h"

/*
 * struct drive - @rounds: rounds that no actor has begun. @due: when the next write back begins;
 * @next: when it goes on, with @file. @waits: it has begun.
 */
struct drive {
	struct fsb_actor *actors;
	uint32_t running, rounds, file;
	uint64_t due, next;
	bool waits;
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

/*
 * The next file that was written, and in the end all that is left. annex_fs_fsync() of all files
 * does the same for ANNEX_FS_BYTEFS, but in so long a call that at its end dies are busy for
 * actors that are still at its beginning. Return: whether all was written back.
 */
static bool write_one_back(struct fsb *b, struct drive *d)
{
	while (d->file < b->set.n && !b->set.files[d->file].dirty)
		d->file++;
	if (d->file == b->set.n)
		return fsb_sync(b, 0, false);
	b->set.files[d->file].dirty = false;
	fsb_sync(b, b->set.files[d->file].ino, false);
	return false;
}

/* Changes of files are written back from time to time, as by the kernel. */
static void write_back(struct fsb *b, struct drive *d)
{
	const bool each = b->opts.each && b->opts.design == ANNEX_FS_BYTEFS;

	b->clock = d->next;
	d->waits = !(each ? write_one_back(b, d) : fsb_sync(b, 0, d->waits));
	if (d->waits) {
		d->next = b->clock; /* it goes on when it is the earliest again */
		return;
	}
	d->file = 0;
	d->due += b->opts.flush / b->opts.scale;
	d->due = d->due > b->clock ? d->due : b->clock;
	d->next = d->due;
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
	d.due = d.next = b->clock + b->opts.flush / b->opts.scale;
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

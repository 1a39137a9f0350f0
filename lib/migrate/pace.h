/* SPDX-License-Identifier: MIT */
/*
 * How fast bytes pass a link, each way alone and both ways at once. Callers lock, and tell the
 * time.
 */
#ifndef ANNEX_MIGRATE_PACE_H
#define ANNEX_MIGRATE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* A transfer is under way; or several are, all of them in one direction; or in both. */
enum { PACE_ANY, PACE_ALONE, PACE_BOTH, PACES };

/**
 * struct pace - How fast a link is.
 * @active: transfers in and out under way.
 * @since: when the clocks were set last, in ns.
 * @clocks: time of each direction with such transfers, in ns.
 * @bytes: of each direction that passed in it.
 */
struct pace {
	uint32_t active[2];
	uint64_t since, clocks[2][PACES];
	double bytes[2][PACES];
};

/* struct passing - A transfer: its direction's clocks when it began. */
struct passing {
	uint64_t clocks[PACES];
};

void annex_pace_begin(struct pace *p, bool out, struct passing *t, uint64_t now);

/* @bytes: that have passed; 0: it has failed. */
void annex_pace_end(struct pace *p, bool out, const struct passing *t, double bytes, uint64_t now);

/*
 * Bytes a second in or @out: while several transfers went in this direction alone, if those were
 * enough; else while any did; 0: not known.
 */
double annex_pace_rate(const struct pace *p, bool out);

/*
 * Parts of these rates that both directions had at once, together, as struct annex_system's
 * @ssd_duplex; 2: not known.
 */
double annex_pace_duplex(const struct pace *p);

#endif

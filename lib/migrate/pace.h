/* SPDX-License-Identifier: MIT */
/*
 * Measured rates of a link, in each direction alone and in both at once. Callers lock, and pass the
 * time.
 */
#ifndef ANNEX_MIGRATE_PACE_H
#define ANNEX_MIGRATE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* With any transfer in flight; with several, all in one direction; with transfers in both. */
enum { PACE_ANY, PACE_ALONE, PACE_BOTH, PACES };

/**
 * struct pace - Rates of a link.
 * @active: number of transfers in flight, in and out.
 * @since: time of the last update of the clocks, in ns.
 * @clocks: for each direction, time with such transfers, in ns.
 * @bytes: for each direction, bytes that passed in that time.
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

/* @bytes: bytes that have passed; 0: it has failed. */
void annex_pace_end(struct pace *p, bool out, const struct passing *t, double bytes, uint64_t now);

/*
 * Rate in or @out in bytes per second: that with several transfers in this direction only, if
 * enough bytes passed; otherwise that with any transfers; 0: unknown.
 */
double annex_pace_rate(const struct pace *p, bool out);

/*
 * Sum of the fractions of these rates that both directions reach at once, as ssd_duplex of struct
 * annex_system; 2: unknown.
 */
double annex_pace_duplex(const struct pace *p);

#endif

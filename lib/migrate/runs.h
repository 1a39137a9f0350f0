/* SPDX-License-Identifier: MIT */
/*
 * Pages of a tier, given out in runs of neighbours.
 */
#ifndef ANNEX_MIGRATE_RUNS_H
#define ANNEX_MIGRATE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#define RUNS_MOST (UINT32_MAX - 64) /* pages */
#define RUNS_SLACK 4096u            /* pages: 16 MiB */

/**
 * struct runs - Which of @n pages are taken, a bit each.
 * @free: how many are not.
 * @hand: where the next search begins: behind the last run, so that what is taken together lies
 * together. It returns to the first page behind twice as many pages as are taken, and RUNS_SLACK: a
 * sparse file stays near the bytes that are stored in it.
 * @low: or before any run that has been given back, so that few pages are ever used.
 */
struct runs {
	uint64_t *taken;
	uint32_t n, free, hand;
	bool low;
};

int annex_runs_init(struct runs *r, uint32_t n, bool low);
void annex_runs_fini(struct runs *r);

/* Up to @want neighbours: how many there are, at *@first; 0: none is free. */
uint32_t annex_runs_take(struct runs *r, uint32_t want, uint32_t *first);

/* @want neighbours or none: as annex_runs_take(). */
uint32_t annex_runs_take_all(struct runs *r, uint32_t want, uint32_t *first);

void annex_runs_give(struct runs *r, uint32_t first, uint32_t n);

#endif

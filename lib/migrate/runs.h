/* SPDX-License-Identifier: MIT */
/*
 * Pages of a tier, allocated in runs of neighbours.
 */
#ifndef ANNEX_MIGRATE_RUNS_H
#define ANNEX_MIGRATE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#define RUNS_MOST (UINT32_MAX - 64) /* pages */
#define RUNS_SLACK 4096u            /* pages: 16 MiB */

/**
 * struct runs - A bitmap of allocated pages.
 * @taken: a bit for each page: it is allocated.
 * @written: a bit for each page: annex_runs_wrote() was called for it.
 * @suspect: a bit for each page: annex_runs_failed() was called for it. It is allocated last.
 * @n: number of pages.
 * @free: number of free pages.
 * @hand: page at which the next search begins: after the last run, so that runs that are allocated
 *	one after the other are neighbours. It returns to the first page after twice the number of
 *	allocated pages plus RUNS_SLACK, so that a sparse file stays small.
 * @low: the next search begins no later than any freed run, so that few pages are ever used.
 * @full: free pages that were written are allocated first: the disk has no blocks for others.
 */
struct runs {
	uint64_t *taken, *written, *suspect;
	uint32_t n, free, hand;
	bool low, full;
};

int annex_runs_init(struct runs *r, uint32_t n, bool low);
void annex_runs_fini(struct runs *r);

/* Allocate up to @want neighbours from *@first on. Return: their number; 0: no page is free. */
uint32_t annex_runs_take(struct runs *r, uint32_t want, uint32_t *first);

/* As annex_runs_take(), but @want neighbours or none. */
uint32_t annex_runs_take_all(struct runs *r, uint32_t want, uint32_t *first);

/*
 * Whether page @first is *@free, and the number of neighbours, at most @n, that are like it. If
 * they are free, they are allocated.
 */
uint32_t annex_runs_take_here(struct runs *r, uint32_t first, uint32_t n, bool *free);

void annex_runs_give(struct runs *r, uint32_t first, uint32_t n);

/* Record that pages were written, so that a sparse file has blocks for them. */
void annex_runs_wrote(struct runs *r, uint32_t first, uint32_t n);

/* Record that pages could not be written. The next search begins behind them. */
void annex_runs_failed(struct runs *r, uint32_t first, uint32_t n);

#endif

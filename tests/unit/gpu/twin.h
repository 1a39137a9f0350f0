/* SPDX-License-Identifier: MIT */
/*
 * A GPU's threads played on the host, so that device code is tested where there is no GPU.
 *
 * A warp is a thread, its lanes are fibers in it, which run in random order, part at random and
 * meet again only where the code says so. Orders that a GPU leaves open are left open here: lanes
 * are ordered by annex_warp_sync() alone, also for the race detector, and lanes that wait for each
 * other in a way that cannot end are found out.
 */
#ifndef ANNEX_TESTS_TWIN_H
#define ANNEX_TESTS_TWIN_H

#include <stdint.h>

/**
 * struct twin_grid - How many threads a kernel has.
 * @warps: of 32 lanes each, all at once. @per_block: warps of a thread block.
 * @tail: lanes of the last warp; 0: all.
 * @seed: what the order of the lanes follows from, as far as the machine lets it.
 */
struct twin_grid {
	unsigned int warps;
	unsigned int per_block;
	unsigned int tail;
	uint64_t seed;
};

/**
 * twin_run() - Run a kernel: @kernel(@arg, thread) for each thread. Returns when all have ended.
 *
 * Ends the program with a message when lanes of a warp wait for each other for ever.
 */
void twin_run(const struct twin_grid *grid, void (*kernel)(void *arg, unsigned int thread),
	      void *arg);

#endif

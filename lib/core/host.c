// SPDX-License-Identifier: MIT
/*
 * Functions of the host that device code calls when it is compiled for a host: clock, warp and
 * back-off.
 */
#include <sched.h>
#include <time.h>
#include <annex/detail/ring.h>
#include <annex/warp.h>
#include "thread.h"

#define SPIN_ROUNDS 16u
#define YIELD_ROUNDS 24u
#define NAP_NS 50000u
#define NAP_DOUBLINGS 9u /* up to 25.6 ms: many waiting threads must not use up the cores */

uint64_t annex_host_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static _Thread_local const struct annex_host_warp *played;

const struct annex_host_warp *annex_host_warp(void)
{
	return played;
}

void annex_host_warp_set(const struct annex_host_warp *warp)
{
	played = warp;
}

/* Sleep longer with each round. The caller checks its deadline in between. */
void annex_host_backoff(unsigned int round)
{
	const struct annex_host_warp *warp = annex_host_warp();
	unsigned int longer;
	struct timespec nap;

	if (warp) { /* this lane may wait for other lanes */
		warp->pause();
	} else if (round < SPIN_ROUNDS) {
		annex_pause();
	} else if (round < YIELD_ROUNDS) {
		sched_yield();
	} else {
		longer = (round - YIELD_ROUNDS) / 2;
		nap.tv_sec = 0;
		nap.tv_nsec = NAP_NS << (longer < NAP_DOUBLINGS ? longer : NAP_DOUBLINGS);
		THREAD_KEPT(nanosleep(&nap, NULL));
	}
}

// SPDX-License-Identifier: MIT
/*
 * How long a waiting thread sleeps between two looks.
 */
#include <sched.h>
#include <time.h>
#include <annex/detail/ring.h>
#include <annex/warp.h>
#include "thread.h"

#define SPIN_ROUNDS 16u
#define YIELD_ROUNDS 24u
#define NAP_NS 50000u
#define NAP_DOUBLINGS 9u /* to 25.6 ms, in time with the wait: many naps must not eat the cores */

void annex_host_backoff(unsigned int round)
{
	const struct annex_host_warp *warp = annex_host_warp();
	unsigned int longer;
	struct timespec nap;

	if (warp) { /* other lanes may have what this one waits for */
		warp->pause();
	} else if (round < SPIN_ROUNDS) {
		annex_pause();
	} else if (round < YIELD_ROUNDS) {
		sched_yield();
	} else {
		longer = (round - YIELD_ROUNDS) / 2;
		nap.tv_sec = 0;
		nap.tv_nsec = NAP_NS << (longer < NAP_DOUBLINGS ? longer : NAP_DOUBLINGS);
		THREAD_KEPT(
			nanosleep(&nap, NULL)); /* the caller looks at its deadline between naps */
	}
}

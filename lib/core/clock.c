// SPDX-License-Identifier: MIT
#include <time.h>
#include <annex/detail/clock.h>

uint64_t annex_host_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

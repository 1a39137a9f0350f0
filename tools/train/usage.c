// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/resource.h>
#include <annex/detail/clock.h>
#include "usage.h"

static uint64_t to_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)t.tv_usec * 1000;
}

void usage_busy(uint64_t *user, uint64_t *kernel)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	*user = to_ns(u.ru_utime);
	*kernel = to_ns(u.ru_stime);
}

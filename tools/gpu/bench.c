// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include "tools/common/error.h"
#include "bench.h"

void bench_add(struct gpu_bench *b, const char *key, const char *label, double value,
	       const char *unit, double target)
{
	if (b->n < BENCH_FIGURES)
		b->figure[b->n++] = (struct figure){key, label, unit, value, target};
}

double bench_median(const double v[3])
{
	double low = v[0] < v[1] ? v[0] : v[1], high = v[0] < v[1] ? v[1] : v[0];

	return v[2] < low ? low : v[2] > high ? high : v[2];
}

int bench_result(struct gpu_bench *b, struct gpu_result *there, struct gpu_result *found,
		 const char *what)
{
	int err = runner_get(b->r, found, there, sizeof(*found));

	if (!err)
		err = runner_zero(b->r, there, sizeof(*there));
	if (!err && found->wrong)
		err = err_set(-EBADMSG, "%s: %llu are wrong", what, (ull)found->wrong);
	return err;
}

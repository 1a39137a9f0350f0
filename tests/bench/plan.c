// SPDX-License-Identifier: MIT
/*
 * The benchmarks of migration plans: plan OUTPUT.json TOOL DIR [cost|g10|noise|grid|many|growth]...
 * Measured traces are looked for in $TRACES, or in ../shared/traces.
 */
#include "plan.h"

static const struct bench_group groups[] = {
	{"cost", plan_cost}, {"g10", plan_g10},       {"noise", plan_noise}, {"grid", plan_grid},
	{"many", plan_many}, {"growth", plan_growth}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	bench_groups(groups, argc, argv);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The benchmarks of migration plans: plan OUTPUT.json TOOL DIR [cost|g10|noise|grid|growth]...
 * Measured traces are looked for in $TRACES, or in ../shared/traces.
 */
#include <stdlib.h>
#include <string.h>
#include "plan.h"

/* Costs come first: they are those of programs that are small when this one is (spawn.h). */
static const struct {
	const char *name;
	void (*run)(const struct plan_ctx *ctx);
} groups[] = {
	{"cost", plan_cost}, {"g10", plan_g10},       {"noise", plan_noise},
	{"grid", plan_grid}, {"growth", plan_growth},
};

static int wanted(const char *name, int argc, char **argv)
{
	for (int i = 4; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc == 4;
}

int main(int argc, char **argv)
{
	struct plan_ctx ctx = {.traces = getenv("TRACES")};
	unsigned int ran = 0;

	if (argc < 4)
		bench_fail("usage: plan OUTPUT.json TOOL DIR [cost|g10|noise|grid|growth]...");
	ctx.tool = argv[2];
	ctx.dir = argv[3];
	if (!ctx.traces)
		ctx.traces = "../shared/traces";
	bench_begin();
	for (unsigned int i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (!wanted(groups[i].name, argc, argv))
			continue;
		groups[i].run(&ctx);
		ran++;
	}
	if (!ran)
		bench_fail("no such benchmark: there are cost, g10, noise, grid, growth");
	bench_end(argv[1]);
	return 0;
}

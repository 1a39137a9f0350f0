// SPDX-License-Identifier: MIT
/*
 * The cost of planning and simulating one trace: the tool's own run, from start to end, and the
 * most memory that it had.
 */
#include <stdio.h>
#include "plan.h"

/* Measured traces, and the generated ones that stand in for them. */
static const struct plan_subject measured[] = {
	{"bert-256", 0}, {"vit-1280", 0}, {"resnet152-1280", 0}};
static const struct plan_subject generated[] = {
	{"bert-base", 256}, {"vit-l16", 256}, {"resnet152", 1024}};

/* The tool reads files, so write a generated trace first. */
static void write_trace(const struct bench_ctx *ctx, struct plan_trace *t)
{
	char path[4300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", ctx->dir, t->file);
	f = fopen(path, "w");
	if (!f || annex_trace_write(t->trace, f) || fclose(f))
		bench_fail("cannot write %s", path);
	snprintf(t->file, sizeof(t->file), "%.4095s", path);
}

static void one(const struct bench_ctx *ctx, const struct plan_subject *s)
{
	double seconds[BENCH_ROUNDS], peak = 0;
	struct plan_trace t;
	char name[160];
	char *argv[] = {(char *)ctx->tool, "simulate", t.file, "--policy", "annex", "--json", NULL};

	if (!plan_open(s, &t))
		return;
	bench_command("%s/usr/bin/time -v annex simulate %s --policy annex", plan_prepare(s),
		      t.file);
	if (s->batch)
		write_trace(ctx, &t);
	plan_close(&t);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		struct bench_usage usage;

		json_decref(bench_run_usage(ctx->dir, argv, &usage));
		seconds[r] = usage.seconds;
		peak = usage.peak > peak ? usage.peak : peak;
	}
	if (s->batch)
		remove(t.file);
	snprintf(name, sizeof(name), "%s: read, plan and simulate", t.label);
	bench_series(name, seconds, bench_rounds, "s", 1, 1);
	snprintf(name, sizeof(name), "%s: memory for that, most", t.label);
	bench_figure(name, peak / 1e6, "MB", 200, 1);
}

void plan_cost(const struct bench_ctx *ctx)
{
	struct plan_trace t;
	bool there = true;

	for (unsigned int i = 0; i < 3; i++) {
		there = plan_open(&measured[i], &t);
		plan_close(&t);
		if (!there)
			break;
	}
	for (unsigned int i = 0; i < 3; i++)
		one(ctx, there ? &measured[i] : &generated[i]);
}

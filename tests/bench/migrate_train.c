// SPDX-License-Identifier: MIT
/*
 * annex train with all the memory that it wants, and with a quarter of it, the rest on storage, in
 * turns: the same losses, bit for bit, and nearly the same speed.
 */
#include <stdio.h>
#include <unistd.h>
#include <jansson.h>
#include "migrate.h"
#include "spawn.h"

#define STEPS BENCH_SIZE("6", "3")
#define LITTLE (64 * MIB) /* that may be resident beyond the budget */

/* @budget: of the device tier, or 0. */
static json_t *train(const struct bench_ctx *ctx, uint64_t budget)
{
	char tool[4096], device[32], storage[4200];
	char *argv[] = {tool,        "train",
			"--layers",  "2",
			"--width",   BENCH_SIZE("1536", "64"),
			"--heads",   "8",
			"--context", BENCH_SIZE("256", "32"),
			"--batch",   BENCH_SIZE("32", "4"),
			"--steps",   STEPS,
			"--json",    "--device-memory",
			device,      "--storage",
			storage,     NULL};

	snprintf(tool, sizeof(tool), "%s", ctx->tool);
	snprintf(device, sizeof(device), "%llu", (unsigned long long)budget);
	snprintf(storage, sizeof(storage), "file:%s/train.data?size=3G&direct=1", ctx->dir);
	if (!budget)
		argv[15] = NULL;
	return bench_run_json(ctx->dir, argv);
}

void migrate_train(const struct bench_ctx *ctx)
{
	double whole[BENCH_ROUNDS], part[BENCH_ROUNDS], ratios[BENCH_ROUNDS], beyond = 0;
	uint64_t budget = 0;
	char path[4200];

	for (unsigned int r = 0; r < bench_rounds; r++) {
		json_t *all = train(ctx, 0), *less;
		double resident;

		budget = (uint64_t)bench_number(all, "tensors_bytes") / 4 / MIB * MIB;
		less = train(ctx, budget);
		if (!json_equal(json_object_get(all, "losses"), json_object_get(less, "losses")))
			bench_fail("annex train: with less memory the losses are others");
		whole[r] = bench_number(all, "tokens_per_s");
		part[r] = bench_number(less, "tokens_per_s");
		resident = bench_number(less, "resident_bytes") -
			   bench_number(less, "resident_base_bytes") - (double)budget;
		beyond = resident > beyond ? resident : beyond;
		json_decref(all);
		json_decref(less);
	}
	snprintf(path, sizeof(path), "%s/train.data", ctx->dir);
	unlink(path);
	bench_ratios(ratios, part, whole, bench_rounds);
	bench_series("annex train, all memory", whole, bench_rounds, "tokens/s", 0, 0);
	bench_series("annex train, device tier of a quarter, storage by O_DIRECT", part,
		     bench_rounds, "tokens/s", 0, 0);
	bench_series("a quarter / all of the memory, losses equal bit for bit", ratios,
		     bench_rounds, "x", 0.95, 0);
	bench_figure("resident beyond the device tier", beyond / MIB, "MiB", (double)LITTLE / MIB,
		     1);
}

// SPDX-License-Identifier: MIT
/*
 * docs/examples/train.c with all the memory that its network takes, and with a quarter of it, the
 * rest on storage, in turns: nearly the same speed. The program itself compares its losses with
 * plain memory's.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "migrate.h"

json_t *migrate_run(const struct bench_ctx *ctx, const struct migrate_job *job)
{
	char tool[4096], storage[4200], device[32], rate[32];
	char *argv[] = {tool,
			(char *)job->layers,
			(char *)job->width,
			(char *)job->batch,
			(char *)job->steps,
			storage,
			device,
			(char *)job->policy,
			rate,
			NULL};

	snprintf(tool, sizeof(tool), "%.*strain", (int)(strrchr(ctx->tool, '/') + 1 - ctx->tool),
		 ctx->tool);
	snprintf(storage, sizeof(storage), "file:%s/train.data?size=1G&direct=1", ctx->dir);
	snprintf(device, sizeof(device), "%.0f", job->device);
	snprintf(rate, sizeof(rate), "%.0f", job->rate);
	return bench_run_json(ctx->dir, argv);
}

void migrate_forget(const struct bench_ctx *ctx)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/train.data", ctx->dir);
	unlink(path);
}

void migrate_train(const struct bench_ctx *ctx)
{
	double whole[BENCH_ROUNDS], part[BENCH_ROUNDS], plain[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
	struct migrate_job job = {.layers = "12",
				  .width = BENCH_SIZE("1536", "256"),
				  .batch = BENCH_SIZE("256", "32"),
				  .steps = BENCH_SIZE("6", "3"),
				  .policy = "annex"};

	for (unsigned int r = 0; r < bench_rounds; r++) {
		json_t *all, *less;

		job.device = 1024.0 * MIB;
		all = migrate_run(ctx, &job);
		job.device = bench_number(all, "tensors_bytes") / 4;
		less = migrate_run(ctx, &job);
		plain[r] = bench_number(all, "plain_s");
		whole[r] = bench_number(all, "iteration_s");
		part[r] = bench_number(less, "iteration_s");
		json_decref(all);
		json_decref(less);
	}
	migrate_forget(ctx);
	bench_ratios(ratios, whole, part, bench_rounds);
	bench_series("a quarter / all of the memory, speed, losses equal bit for bit", ratios,
		     bench_rounds, "x", 0.95, 0);
	bench_series("an iteration in plain memory", plain, bench_rounds, "s", 0, 0);
	bench_series("in a space, all memory", whole, bench_rounds, "s", 0, 0);
	bench_series("in a device tier of a quarter, storage by O_DIRECT", part, bench_rounds, "s",
		     0, 0);
}

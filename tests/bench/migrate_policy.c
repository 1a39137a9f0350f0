// SPDX-License-Identifier: MIT
/*
 * annex train on a link so slow that G10's policy has 70 % of the speed of all memory: who is
 * quicker, and whether the simulator knew.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <jansson.h>
#include "migrate.h"
#include "spawn.h"

#define TRIES 5u
#define SHARE 0.7 /* of the speed of all memory, for G10 */
#define NEAR 0.06 /* that is near enough */

/* @took: seconds of an iteration. @predicted: by the simulator. */
struct outcome {
	double took, predicted, bytes;
	json_t *losses;
};

/* @policy: NULL: all memory. */
static struct outcome train(const struct bench_ctx *ctx, const char *policy, double budget,
			    double rate)
{
	char tool[4096], device[32], storage[4200], speed[32];
	char *argv[] = {tool,           "train",
			"--layers",     "4",
			"--width",      "512",
			"--heads",      "8",
			"--context",    "256",
			"--batch",      "16",
			"--steps",      "10",
			"--json",       policy ? "--policy" : NULL,
			(char *)policy, "--device-memory",
			device,         "--rate",
			speed,          "--storage",
			storage,        NULL};
	struct outcome o = {0};
	json_t *out;

	snprintf(tool, sizeof(tool), "%s", ctx->tool);
	snprintf(device, sizeof(device), "%.0f", budget);
	snprintf(speed, sizeof(speed), "%.0f", rate);
	snprintf(storage, sizeof(storage), "file:%s/policy.data?size=1G&direct=1", ctx->dir);
	out = bench_run_json(ctx->dir, argv);
	o.took = bench_number(out, "iteration_s");
	o.bytes = bench_number(out, "tensors_bytes");
	if (policy)
		o.predicted = bench_number(out, "predicted_s");
	o.losses = json_incref(json_object_get(out, "losses"));
	json_decref(out);
	return o;
}

static void judge(const char *policy, const struct outcome *o, const struct outcome *all,
		  double most)
{
	char name[128];

	if (!json_equal(o->losses, all->losses))
		bench_fail("annex train: with %s the losses are others", policy);
	snprintf(name, sizeof(name), "%s / all memory", policy);
	bench_figure(name, all->took / o->took, "x", 0, 0);
	snprintf(name, sizeof(name), "%s: iteration beside the simulator's, off by", policy);
	bench_figure(name, fabs(o->took / o->predicted - 1), "x", most, 1);
	json_decref(o->losses);
}

void migrate_policy(const struct bench_ctx *ctx)
{
	struct outcome all = train(ctx, NULL, 0, 0), g10 = {0}, annex, uvm;
	double budget = all.bytes / 4, rate = all.bytes / all.took, share = 0;
	char path[4200];

	for (unsigned int i = 0; i < TRIES && fabs(share - SHARE) > NEAR; i++) {
		json_decref(g10.losses);
		g10 = train(ctx, "g10", budget, rate);
		share = all.took / g10.took;
		bench_note("%.0f MiB/s each way: g10 %.3f", rate / MIB, share);
		rate *= SHARE / share;
	}
	rate /= SHARE / share;
	annex = train(ctx, "annex", budget, rate);
	uvm = train(ctx, "uvm", budget, rate);
	snprintf(path, sizeof(path), "%s/policy.data", ctx->dir);
	unlink(path);
	judge("annex", &annex, &all, 0.05);
	judge("g10", &g10, &all, 0.05);
	judge("uvm", &uvm, &all, 0.2);
	bench_figure("annex / g10", g10.took / annex.took, "x", 1, 0);
	bench_figure("g10 / uvm", uvm.took / g10.took, "x", 1, 0);
	json_decref(all.losses);
}

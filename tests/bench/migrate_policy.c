// SPDX-License-Identifier: MIT
/*
 * docs/examples/train.c on a link so slow that G10's policy has 70 % of the speed of all memory:
 * policies beside each other, plain memory and no policy, and the simulator's times beside theirs.
 */
#include <math.h>
#include <stdio.h>
#include "migrate.h"

#define TRIES BENCH_SIZE(5u, 2u)
#define SHARE 0.7 /* of the speed of all memory, for G10 */
#define NEAR 0.06 /* that is near enough */

enum { PLAIN, ALL, ANNEX, G10, UVM, NONE, SIDES };

/*
 * struct side - A policy; the policies take turns.
 * @apart: permitted difference from the simulator's iteration; 0: there is none
 * @took: seconds of an iteration, in each round
 * @off: relative difference of @took from the simulator's, in each round
 * @moved: bytes that an iteration moves
 */
static struct side {
	const char *name, *policy;
	double apart;
	double took[BENCH_ROUNDS], off[BENCH_ROUNDS];
	double moved;
} sides[SIDES] = {
	{.name = "plain memory"},
	{.name = "all memory", .policy = "annex"},
	{.name = "annex", .policy = "annex", .apart = 0.03},
	{.name = "g10", .policy = "g10", .apart = 0.05},
	{.name = "uvm", .policy = "uvm", .apart = 0.1},
	{.name = "none", .policy = "none"},
};

/* @budget: of the device tier; @rate: bytes a second of its link, or 0. */
static json_t *train(const struct bench_ctx *ctx, const struct side *side, double budget,
		     double rate)
{
	const struct migrate_job job = {.layers = "8",
					.width = BENCH_SIZE("1024", "256"),
					.batch = BENCH_SIZE("256", "32"),
					.steps = BENCH_SIZE("8", "3"),
					.policy = side->policy,
					.device = budget,
					.rate = rate};

	return migrate_run(ctx, &job);
}

/* The rate at which G10's policy is as fast as it is to be. */
static double slow_link(const struct bench_ctx *ctx, double took, double budget, double rate)
{
	double share = 0;

	for (unsigned int i = 0; i < TRIES && fabs(share - SHARE) > NEAR; i++) {
		json_t *out;

		rate *= i ? SHARE / share : 1;
		out = train(ctx, &sides[G10], budget, rate);
		share = took / bench_number(out, "iteration_s");
		bench_note("%.0f MiB/s each way: g10 %.3f", rate / MIB, share);
		json_decref(out);
	}
	return rate;
}

static void run(const struct bench_ctx *ctx, struct side *side, unsigned int round, double budget,
		double rate)
{
	json_t *out = train(ctx, side, budget, rate);
	double predicted = bench_number(out, "predicted_s");

	side->took[round] = bench_number(out, "iteration_s");
	side->moved = bench_number(out, "moved_bytes");
	if (side->apart > 0 && predicted <= 0)
		bench_fail("%s: no plan is in use at the end", side->name);
	if (side->apart > 0)
		side->off[round] = fabs(side->took[round] / predicted - 1);
	if (side == &sides[ALL])
		sides[PLAIN].took[round] = bench_number(out, "plain_s");
	json_decref(out);
}

static void ratio(const char *name, const struct side *over, const struct side *under,
		  double target)
{
	double ratios[BENCH_ROUNDS];

	bench_ratios(ratios, under->took, over->took, bench_rounds);
	bench_series(name, ratios, bench_rounds, "x", target, 0);
}

/* Speeds first, as series are sorted when they are printed. */
static void report(void)
{
	char name[128];

	for (struct side *s = sides; s < sides + SIDES; s++) {
		if (s == &sides[ALL])
			continue;
		snprintf(name, sizeof(name), "%s / all memory", s->name);
		ratio(name, s, &sides[ALL], 0);
	}
	ratio("annex / g10", &sides[ANNEX], &sides[G10], 1);
	ratio("g10 / uvm", &sides[G10], &sides[UVM], 1);
	for (struct side *s = sides; s < sides + SIDES; s++) {
		snprintf(name, sizeof(name), "%s: iteration", s->name);
		bench_series(name, s->took, bench_rounds, "s", 0, 0);
		snprintf(name, sizeof(name), "%s: moved in an iteration", s->name);
		if (s->moved > 0)
			bench_figure(name, s->moved / MIB, "MiB", 0, 0);
		else
			bench_note("%s: moves nothing", s->name);
		snprintf(name, sizeof(name), "%s: iteration beside the simulator's, off by",
			 s->name);
		if (s->apart > 0)
			bench_series(name, s->off, bench_rounds, "x", s->apart, 1);
	}
}

void migrate_policy(const struct bench_ctx *ctx)
{
	json_t *all = train(ctx, &sides[ALL], 1024.0 * MIB, 0);
	double bytes = bench_number(all, "tensors_bytes"), took = bench_number(all, "iteration_s");
	double rate = slow_link(ctx, took, bytes / 4, bytes / took);

	for (unsigned int round = 0; round < bench_rounds; round++)
		for (struct side *s = &sides[ALL]; s < sides + SIDES; s++)
			run(ctx, s, round, s == &sides[ALL] ? 1024.0 * MIB : bytes / 4,
			    s == &sides[ALL] ? 0 : rate);
	migrate_forget(ctx);
	report();
	json_decref(all);
}

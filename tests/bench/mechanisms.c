// SPDX-License-Identifier: MIT
/*
 * Time of a search, cut into computing, the cache and the storage (BaM's figure 7), and the worth
 * of each of the cache's mechanisms (figure 8). Every run is compared with a serial one in memory,
 * outside of the time that it gives.
 */
#include <stdio.h>
#include "bench.h"

static const char *const algorithms[] = {"bfs", "cc"};

/* Each is as the one before, and something more. */
static const char *const ladder[] = {"none", "cache", "coalesce", "reuse", "ahead"};
#define RUNGS (sizeof(ladder) / sizeof(ladder[0]))

static double seconds(const struct bench_ctx *ctx, const char *algorithm, char *path,
		      char *const *args)
{
	char *argv[24] = {(char *)ctx->tool, "graph", (char *)algorithm, path,
			  "--threads",       "2",     "--verify",        "--json"};
	unsigned int n = 8;
	json_t *out;
	double s;

	while (*args)
		argv[n++] = *args++;
	out = bench_run_json(ctx->dir, argv);
	s = bench_number(out, "time_s");
	json_decref(out);
	return s;
}

/* @all: bytes of a cache that holds everything; @part: of one that holds an eighth. */
static void breakdown(const struct bench_ctx *ctx, const char *algorithm, char *path, char *all,
		      char *part)
{
	char *const memory[] = {"--access", "memory", NULL};
	char *const warm[] = {"--cache", all, "--warm", NULL};
	char *const cold[] = {"--cache", part, "--cold", NULL};
	double compute[BENCH_ROUNDS], cache[BENCH_ROUNDS], storage[BENCH_ROUNDS];
	char name[96];

	for (unsigned int r = 0; r < bench_rounds; r++) {
		compute[r] = seconds(ctx, algorithm, path, memory);
		cache[r] = seconds(ctx, algorithm, path, warm);
		storage[r] = seconds(ctx, algorithm, path, cold) - cache[r];
		cache[r] -= compute[r];
	}
	snprintf(name, sizeof(name), "%s, Kronecker 22: computing", algorithm);
	bench_series(name, compute, bench_rounds, "s", 0, 0);
	snprintf(name, sizeof(name), "%s: the cache, all in it", algorithm);
	bench_series(name, cache, bench_rounds, "s", 0, 0);
	snprintf(name, sizeof(name), "%s: storage, with a cache of 1/8 of the edges", algorithm);
	bench_series(name, storage, bench_rounds, "s", 0, 0);
}

static void mechanisms(const struct bench_ctx *ctx, const char *algorithm, char *path, char *part)
{
	double s[RUNGS][BENCH_ROUNDS], ratios[BENCH_ROUNDS];
	char name[96];

	for (unsigned int r = 0; r < bench_rounds; r++) {
		for (unsigned int i = 0; i < RUNGS; i++) {
			char *const args[] = {"--cache",         part,     "--mechanisms",
					      (char *)ladder[i], "--cold", NULL};

			s[i][r] = seconds(ctx, algorithm, path, args);
		}
	}
	for (unsigned int i = 1; i < RUNGS; i++) {
		bench_ratios(ratios, s[i - 1], s[i], bench_rounds);
		snprintf(name, sizeof(name), "%s, Kronecker 14: %s / %s", algorithm, ladder[i - 1],
			 ladder[i]);
		bench_series(name, ratios, bench_rounds, "x", 0, 0);
	}
	for (unsigned int i = 0; i < RUNGS; i++) {
		snprintf(name, sizeof(name), "%s, Kronecker 14: %s", algorithm, ladder[i]);
		bench_series(name, s[i], bench_rounds, "s", 0, 0);
	}
}

void bench_mechanisms(const struct bench_ctx *ctx)
{
	char large[4096], small[4096], all[32], part[32], little[32];
	double bytes;

	bench_kronecker(ctx, BENCH_LARGE, large, sizeof(large));
	bench_kronecker(ctx, BENCH_SMALL, small, sizeof(small));
	bytes = bench_edge_bytes(ctx, large);
	snprintf(all, sizeof(all), "%llu", (unsigned long long)bytes * 2);
	snprintf(part, sizeof(part), "%llu", (unsigned long long)bytes / 8 / 4096 * 4096);
	snprintf(little, sizeof(little), "%llu",
		 (unsigned long long)bench_edge_bytes(ctx, small) / 8 / 4096 * 4096);
	for (unsigned int i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
		breakdown(ctx, algorithms[i], large, all, part);
		mechanisms(ctx, algorithms[i], small, little);
	}
}

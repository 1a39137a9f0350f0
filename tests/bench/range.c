// SPDX-License-Identifier: MIT
/*
 * Pieces of a memory range that are taken and freed by two threads, against malloc() in ordinary
 * memory: `annex bench hdm` measures both in one run, and looks whether any piece was given twice.
 */
#include <stdio.h>
#include <unistd.h>
#include "bench.h"

void bench_range(const struct bench_ctx *ctx)
{
	double range[BENCH_ROUNDS], memory[BENCH_ROUNDS], ratio[BENCH_ROUNDS];
	char path[64], uri[96];
	char *argv[] = {(char *)ctx->tool,
			"bench",
			"hdm",
			uri,
			"--threads",
			"2",
			"--bytes",
			"1M",
			"--seconds",
			BENCH_SIZE("1", "0.01"),
			"--json",
			NULL};

	snprintf(path, sizeof(path), "/dev/shm/annex-bench-%d", (int)getpid());
	snprintf(uri, sizeof(uri), "shm:%s?size=256M", path);
	bench_command("annex bench hdm %s --threads 2 --bytes 1M --seconds 1",
		      "'shm:/dev/shm/range?size=256M'");
	for (unsigned int r = 0; r < bench_rounds; r++) {
		json_t *out = bench_run_json(ctx->dir, argv);

		range[r] = bench_number(out, "pairs_per_s") / 1e6;
		memory[r] = bench_number(out, "memory_pairs_per_s") / 1e6;
		json_decref(out);
	}
	unlink(path);
	bench_ratios(ratio, range, memory, bench_rounds);
	bench_series("malloc() in DRAM, take and free 64 to 1087 bytes, 2 threads", memory,
		     bench_rounds, "M/s", 0, 0);
	bench_series("shm: range, the same pairs", range, bench_rounds, "M/s", 0, 0);
	bench_series("shm: range / malloc()", ratio, bench_rounds, "x", 0.2, 0);
	bench_command("make bench");
}

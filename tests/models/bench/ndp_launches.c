// SPDX-License-Identifier: MIT
/*
 * Launches a second with 64 null kernels under way, against registers, which take one at a time;
 * with the paper's link latencies and without (M2NDP, section II-C).
 */
#include <stdio.h>
#include "ndp.h"

#define UNDER_WAY 64
#define SECONDS BENCH_SIZE(0.3, 0.01)
#define MEM_NS 70
#define IO_NS 2000

/* Each has ended, and well, before the next 64 are launched. */
static double launches(struct ndp_bench *b)
{
	struct annex_m2_job jobs[UNDER_WAY];
	double start = bench_seconds();
	uint64_t n = 0, last = 0;

	for (unsigned int i = 0; i < UNDER_WAY; i++)
		jobs[i] = (struct annex_m2_job){.id = b->null, .pool = b->piece, .bytes = 32};
	do {
		if (annex_m2_run_many(b->m2, jobs, UNDER_WAY))
			bench_fail("%s", annex_last_error());
		for (unsigned int i = 0; i < UNDER_WAY; i++)
			if (!jobs[i].instance || jobs[i].instance == last)
				bench_fail("a launch has no instance");
		last = jobs[0].instance;
		n += UNDER_WAY;
	} while (bench_seconds() - start < SECONDS);
	return (double)n / (bench_seconds() - start) / 1e3;
}

/* One at a time, each to its end. */
static double single_launches(const struct ndp_bench *b, uint32_t io_ns)
{
	const struct ndp_rival_opts opts = {.registers = true, .io_ns = io_ns};
	struct ndp_rival *r = ndp_rival_open(b, &opts);
	double start = bench_seconds(), rate;
	uint64_t n = 0;

	for (; bench_seconds() - start < SECONDS; n += UNDER_WAY)
		for (unsigned int i = 0; i < UNDER_WAY; i++)
			ndp_rival_run(r);
	rate = (double)n / (bench_seconds() - start) / 1e3;
	ndp_rival_close(r);
	return rate;
}

/* In turns, since the machine is noisy. */
static void compare(const char *where, uint32_t mem_ns, uint32_t io_ns)
{
	const struct annex_m2_opts cells = {.slots = UNDER_WAY, .mem_ns = mem_ns};
	double many[BENCH_ROUNDS], single[BENCH_ROUNDS], ratio[BENCH_ROUNDS];
	struct ndp_bench a, b;
	char name[128];

	ndp_bench_open(4 << 20, NULL, &cells, &a);
	ndp_bench_open(4 << 20, NULL, NULL, &b);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		many[r] = launches(&a);
		single[r] = single_launches(&b, io_ns);
	}
	bench_ratios(ratio, many, single, bench_rounds);
	snprintf(name, sizeof(name), "null kernels, 64 under way, %s: M2func", where);
	bench_series(name, many, bench_rounds, "k/s", 0, 0);
	snprintf(name, sizeof(name), "null kernels, %s: registers", where);
	bench_series(name, single, bench_rounds, "k/s", 0, 0);
	snprintf(name, sizeof(name), "null kernels, %s: M2func / registers", where);
	bench_series(name, ratio, bench_rounds, "x", 3, 0);
	ndp_bench_close(&a);
	ndp_bench_close(&b);
}

void ndp_launches(const struct bench_ctx *ctx)
{
	(void)ctx;
	compare("this machine", 0, 0);
	compare("paper's latencies", MEM_NS, IO_NS);
}

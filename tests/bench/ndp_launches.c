// SPDX-License-Identifier: MIT
/*
 * Launches a second with 64 null kernels under way, against registers, which take one at a time.
 */
#include "ndp.h"

#define ROUNDS 7
#define UNDER_WAY 64
#define SECONDS 0.3

static void wait_for(struct ndp_bench *b, uint64_t instance)
{
	if (instance && annex_m2_wait(b->m2, instance, 10000, NULL))
		bench_fail("%s", annex_last_error());
}

/* Each of 64 places has an instance, which is waited for before the next is launched there. */
static double outstanding(struct ndp_bench *b)
{
	uint64_t instance[UNDER_WAY] = {0}, n = 0;
	double start = bench_seconds();

	do {
		for (unsigned int i = 0; i < UNDER_WAY; i++, n++) {
			wait_for(b, instance[i]);
			if (annex_m2_launch(b->m2, b->null, b->piece, 32, NULL, 0, &instance[i]))
				bench_fail("%s", annex_last_error());
		}
	} while (bench_seconds() - start < SECONDS);
	for (unsigned int i = 0; i < UNDER_WAY; i++)
		wait_for(b, instance[i]);
	return (double)n / (bench_seconds() - start);
}

static double one_by_one(struct ndp_bench *b)
{
	double start = bench_seconds();
	uint64_t n = 0;

	do {
		for (unsigned int i = 0; i < UNDER_WAY; i++, n++)
			if (annex_m2_run(b->m2, b->null, b->piece, 32, NULL, 0, NULL))
				bench_fail("%s", annex_last_error());
	} while (bench_seconds() - start < SECONDS);
	return (double)n / (bench_seconds() - start);
}

void ndp_launches(const struct bench_ctx *ctx)
{
	const struct annex_m2_opts cells = {.transport = ANNEX_M2_CELLS, .slots = UNDER_WAY};
	const struct annex_m2_opts regs = {.transport = ANNEX_M2_REGS};
	double many[ROUNDS], single[ROUNDS], rate;
	struct ndp_bench a, b;

	(void)ctx;
	ndp_bench_open(4 << 20, NULL, &cells, &a);
	ndp_bench_open(4 << 20, NULL, &regs, &b);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		many[r] = outstanding(&a) / 1e3;
		single[r] = one_by_one(&b) / 1e3;
	}
	rate = bench_median(many, ROUNDS);
	bench_figure("null kernels, 64 under way, M2func", rate, "k/s", 0, 0);
	bench_figure("null kernels, registers", bench_median(single, ROUNDS), "k/s", 0, 0);
	bench_figure("M2func / registers", rate / bench_median(single, ROUNDS), "x", 3, 0);
	ndp_bench_close(&a);
	ndp_bench_close(&b);
}

// SPDX-License-Identifier: MIT
/*
 * A kernel that does nothing, called by M2func and by its two rivals, with the paper's link
 * latencies and without (M2NDP, section II-C and Figure 4); and the cost
 * of writing data back before such a call, for a host without coherent caches.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "ndp.h"

#define CALLS BENCH_SIZE(2000, 20)
#define MEM_NS 70
#define IO_NS 2000
#define RING_NS 4500
#define KERNEL_US 6.4 /* DLRM(SLS)-B32 */
#define FLUSH_BYTES (BENCH_SIZE(64ull, 1ull) << 20)

/* struct way - M2func, or a rival; @mem_ns: M2func's latency, to be added. */
struct way {
	const char *name;
	bool is_rival;
	uint32_t mem_ns;
	struct ndp_rival_opts rival;
	double us[BENCH_ROUNDS];
};

/* Of one call, from the store to the answer; all polling but where a ring has its interrupt. */
static double measure(struct ndp_bench *b, struct ndp_rival *r, unsigned int calls)
{
	double start = bench_seconds();

	for (unsigned int i = 0; i < calls; i++)
		if (r)
			ndp_rival_run(r);
		else if (annex_m2_run(b->m2, b->null, b->piece, 32, NULL, 0, NULL))
			bench_fail("%s", annex_last_error());
	return (bench_seconds() - start) / calls * 1e6;
}

/* In turns, since the machine is noisy. A rival's front end polls, so it is there in its turn. */
static void measure_all(struct way *ways, unsigned int n)
{
	struct ndp_bench b[4];

	for (unsigned int i = 0; i < n; i++)
		ndp_bench_open(4 << 20, NULL, &(struct annex_m2_opts){.mem_ns = ways[i].mem_ns},
			       &b[i]);
	for (unsigned int r = 0; r < bench_rounds; r++)
		for (unsigned int i = 0; i < n; i++) {
			struct ndp_rival *rival = ways[i].is_rival
							  ? ndp_rival_open(&b[i], &ways[i].rival)
							  : NULL;

			measure(&b[i], rival, CALLS / 10); /* the device is awake then */
			ways[i].us[r] = measure(&b[i], rival, CALLS);
			if (rival)
				ndp_rival_close(rival);
		}
	for (unsigned int i = 0; i < n; i++)
		ndp_bench_close(&b[i]);
}

static void less(const char *name, const struct way *way, const struct way *than, double target)
{
	double share[BENCH_ROUNDS];

	for (unsigned int r = 0; r < bench_rounds; r++)
		share[r] = 1 - (way->us[r] + KERNEL_US) / (than->us[r] + KERNEL_US);
	bench_series(name, share, bench_rounds, "of 1", target, 0);
}

/* All lines dirty, as far as the caches hold them. */
static void soil(uint64_t *words, uint64_t round)
{
	for (uint64_t i = 0; i < FLUSH_BYTES / sizeof(*words); i++)
		words[i] = i + round;
}

static double flush(void *data)
{
	double start = bench_seconds();

	if (annex_m2_flush(data, FLUSH_BYTES))
		bench_fail("%s", annex_last_error());
	return FLUSH_BYTES / (bench_seconds() - start) / 1e9;
}

static double copy(void *to, const void *from)
{
	double start = bench_seconds(), end;

	memcpy(to, from, FLUSH_BYTES);
	end = bench_seconds();
	if (memcmp(to, from, FLUSH_BYTES))
		bench_fail("a copy differs from its source");
	return FLUSH_BYTES / (end - start) / 1e9;
}

static void measure_flush(void)
{
	double dirty[BENCH_ROUNDS], clean[BENCH_ROUNDS], copied[BENCH_ROUNDS];
	struct ndp_bench b;
	void *data, *to;

	if (annex_m2_flush(&b, sizeof(b)) == -EOPNOTSUPP) {
		bench_note("%s", annex_last_error());
		return;
	}
	ndp_bench_open(4 * FLUSH_BYTES, NULL, NULL, &b);
	data = ndp_bench_alloc(&b, FLUSH_BYTES);
	to = ndp_bench_alloc(&b, FLUSH_BYTES);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		soil(data, r);
		dirty[r] = flush(data);
		clean[r] = flush(data);
		soil(data, r);
		copied[r] = copy(to, data);
	}
	bench_series("annex_m2_flush of 64 MiB that was just written", dirty, bench_rounds, "GB/s",
		     0, 0);
	bench_series("the same, of uncached data", clean, bench_rounds, "GB/s", 0, 0);
	bench_series("memcpy of 64 MiB that was just written", copied, bench_rounds, "GB/s", 0, 0);
	ndp_bench_close(&b);
}

void ndp_calls(const struct bench_ctx *ctx)
{
	struct way real[] = {
		{.name = "M2func"},
		{.name = "ring", .is_rival = true},
		{.name = "registers", .is_rival = true, .rival = {.registers = true}},
		{.name = "ring, doorbell and eventfd", .is_rival = true, .rival = {.sleeps = true}},
	};
	struct way paper[] = {
		{.name = "M2func", .mem_ns = MEM_NS},
		{.name = "ring", .is_rival = true, .rival = {.io_ns = IO_NS, .ring_ns = RING_NS}},
		{.name = "registers",
		 .is_rival = true,
		 .rival = {.registers = true, .io_ns = IO_NS}},
	};
	char name[128];

	(void)ctx;
	measure_all(paper, 3);
	less("6.4 us kernel end to end, M2func: less than by registers", &paper[0], &paper[2],
	     0.31);
	less("6.4 us kernel end to end, M2func: less than by a ring", &paper[0], &paper[1], 0.53);
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "null kernel, paper's latencies: %s", paper[i].name);
		bench_series(name, paper[i].us, bench_rounds, "us", 0, 0);
	}
	measure_all(real, 4);
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "null kernel, this machine: %s", real[i].name);
		bench_series(name, real[i].us, bench_rounds, "us", 0, 0);
	}
	measure_flush();
}

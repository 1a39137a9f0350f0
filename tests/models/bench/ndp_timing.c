// SPDX-License-Identifier: MIT
/*
 * Cycles that the paper's device would take, against what its authors' simulator says.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "models/ndp/device/time.h"
#include "ndp/kernels/kernels.h"
#include "ndp/client/load.h"
#include "tests/unit/random.h"
#include "ndp.h"

#define VA (1ull << 32)
#define PAGE (2ull << 20) /* of the paper */
#define NUMBERS BENCH_SIZE(1u << 20, 1u << 16)
#define PAPER_CYCLES 64199
#define PAPER_NS 6400

/* Table V: 256 requests of 80 rows, 32 at once, of a million rows of 256 floats. */
enum { ROWS = 1000000, DIM = 256, LOOKUPS = 80, BATCH = 32 };
#define BATCHES BENCH_SIZE(8u, 1u)

/* struct timed - A device and its memory, which kernels see at VA, their image at the beginning. */
struct timed {
	char *memory;
	uint64_t bytes, used;
	struct ndp_time *device;
	struct ndp_time_kernel k;
	struct ndp_time_result r;
};

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	const struct timed *t = ctx;

	if (va - VA >= t->bytes)
		return -EFAULT;
	*span = (struct rv_span){VA, t->bytes, t->memory, RV_READ | RV_WRITE};
	return 0;
}

static void open_timed(struct timed *t, enum k_kernel kernel, uint64_t bytes)
{
	const struct k_image *elf = &k_image[kernel];
	struct m2_program program;

	*t = (struct timed){.bytes = bytes + 8 * PAGE, .used = PAGE};
	t->memory = calloc(1, t->bytes);
	if (!t->memory || ndp_time_open(&ndp_time_table_iv, &t->device) ||
	    annex_m2_program_read(elf->elf, (size_t)(elf->end - elf->elf), &program))
		bench_fail("the timed device: %s", annex_last_error());
	annex_m2_program_place(&program, elf->elf, t->memory);
	t->k = (struct ndp_time_kernel){
		.image = (const struct annex_m2_image *)(const void *)t->memory,
		.va = VA,
		.isa = {256, program.needs.nx, program.needs.nf, program.needs.nv},
		.scratchpad = program.needs.scratchpad,
		.mem = {find, t},
		.piece = 32,
		.budget = 1ull << 32,
	};
}

static void close_timed(struct timed *t)
{
	ndp_time_close(t->device);
	free(t->memory);
}

static void *place(struct timed *t, uint64_t bytes)
{
	void *at = t->memory + t->used;

	t->used += (bytes + PAGE - 1) / PAGE * PAGE;
	if (t->used > t->bytes)
		bench_fail("the timed device has no memory left");
	return at;
}

static uint64_t va_of(const struct timed *t, const void *at)
{
	return VA + (uint64_t)((const char *)at - t->memory);
}

static void run(struct timed *t, const uint64_t *args, uint32_t n, const void *pool, uint64_t bytes)
{
	t->k.args = args;
	t->k.args_bytes = n * (uint32_t)sizeof(*args);
	t->k.base = va_of(t, pool);
	t->k.bound = t->k.base + bytes;
	if (ndp_time_kernel(t->device, &t->k, &t->r))
		bench_fail("a timed kernel ended at %#llx", (unsigned long long)t->r.pc);
}

static void add(void)
{
	uint64_t seed = 1;
	int32_t *a, *b, *c;
	struct timed t;

	open_timed(&t, K_vadd_i32, 3 * NUMBERS * 4ull);
	a = place(&t, NUMBERS * 4);
	b = place(&t, NUMBERS * 4);
	c = place(&t, NUMBERS * 4);
	for (unsigned int i = 0; i < NUMBERS; i++) {
		a[i] = (int32_t)(random_next(&seed) >> 33);
		b[i] = -(int32_t)(random_next(&seed) >> 33);
	}
	run(&t, (uint64_t[]){va_of(&t, a), va_of(&t, b), va_of(&t, c), NUMBERS, 32}, 5, c,
	    NUMBERS); /* a micro-thread has four pieces */
	for (unsigned int i = 0; i < NUMBERS; i++)
		if (c[i] != a[i] + b[i])
			bench_fail("number %u is wrong", i);
	bench_figure("timed: vector add of 1 M int32", (double)t.r.cycles, "cycles", 0, 0);
	bench_figure("timed: off the authors' 64,199 cycles",
		     fabs((double)t.r.cycles / PAPER_CYCLES - 1), "of 1", 0.1, 1);
	close_timed(&t);
}

/* All rows as often, or row r so often as 1 / r, as popular ones are. */
static uint32_t random_row(uint64_t *seed, bool popular)
{
	double u = random_unit(seed);

	u = popular ? pow(ROWS, u) : u * ROWS;
	return (uint32_t)((uint64_t)u * 2654435761u % ROWS);
}

static double sums(bool popular)
{
	uint32_t *index, *first;
	float *table, *out;
	uint64_t seed = 1;
	double ns = 0;
	struct timed t;

	open_timed(&t, K_sls, ROWS * DIM * 4ull);
	table = place(&t, ROWS * DIM * 4ull);
	index = place(&t, BATCHES * BATCH * LOOKUPS * 4);
	first = place(&t, (BATCH + 1) * 4);
	out = place(&t, BATCH * DIM * 4);
	for (unsigned int i = 0; i < BATCHES * BATCH * LOOKUPS; i++) {
		index[i] = random_row(&seed, popular);
		table[(size_t)index[i] * DIM + i % DIM] = (float)i;
	}
	for (unsigned int b = 0; b < BATCHES; b++) {
		for (unsigned int i = 0; i <= BATCH; i++)
			first[i] = (b * BATCH + i) * LOOKUPS;
		run(&t,
		    (uint64_t[]){va_of(&t, table), DIM * 4, va_of(&t, index), va_of(&t, first), 8},
		    5, out, BATCH * DIM * 4);
		for (unsigned int i = 0; i < BATCH * DIM; i++) {
			float sum = 0;

			for (unsigned int k = 0; k < LOOKUPS; k++)
				sum += table[(size_t)index[first[i / DIM] + k] * DIM + i % DIM];
			if (out[i] != sum)
				bench_fail("sum %u is wrong", i);
		}
		ns += t.r.total_ns / BATCHES;
	}
	close_timed(&t);
	return ns;
}

void ndp_timing(const struct bench_ctx *ctx)
{
	double ns;

	(void)ctx;
	add();
	ns = sums(true);
	bench_figure("timed: DLRM sums, batch 32, popular rows (1 / rank)", ns / 1e3, "us", 0, 0);
	bench_figure("timed: off the authors' 6.4 us", fabs(ns / PAPER_NS - 1), "of 1", 0.2, 1);
	bench_figure("timed: DLRM sums, batch 32, all rows as often", sums(false) / 1e3, "us", 0,
		     0);
}

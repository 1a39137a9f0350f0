// SPDX-License-Identifier: MIT
/*
 * The timed device: M2NDP's figures, effects of its parameters, and right results.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "models/ndp/device/time.h"
#include "ndp/kernels/kernels.h"
#include "ndp/client/load.h"
#include "tests/unit/unit.h"

#define VA (1ull << 32)
#define CODE (64ull << 10)

/* struct rig - Memory, which kernels see at VA, with the kernel's image at its beginning. */
struct rig {
	char *memory;
	size_t bytes, used;
	struct ndp_time_params params;
	struct ndp_time *device;
	struct ndp_time_kernel k;
	struct ndp_time_result r;
};

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	const struct rig *r = ctx;

	if (va - VA >= r->bytes)
		return -EFAULT;
	*span = (struct rv_span){VA, r->bytes, r->memory, RV_READ | RV_WRITE};
	return 0;
}

static struct rig *setup(enum k_kernel kernel, size_t bytes)
{
	const struct k_image *elf = &k_image[kernel];
	struct rig *r = calloc(1, sizeof(*r));
	struct m2_program program;

	r->bytes = CODE + bytes;
	r->used = CODE;
	r->memory = calloc(1, r->bytes);
	CU_ASSERT_EQUAL_FATAL(
		annex_m2_program_read(elf->elf, (size_t)(elf->end - elf->elf), &program), 0);
	annex_m2_program_place(&program, elf->elf, r->memory);
	r->params = ndp_time_table_iv;
	r->k = (struct ndp_time_kernel){
		.image = (const struct annex_m2_image *)r->memory,
		.va = VA,
		.isa = {256, program.needs.nx, program.needs.nf, program.needs.nv},
		.scratchpad = program.needs.scratchpad,
		.mem = {find, r},
		.piece = 32,
		.budget = 1ull << 32,
	};
	return r;
}

/* Pages of the paper: 2 MB. */
static uint64_t place(struct rig *r, size_t bytes)
{
	uint64_t at = (r->used + (2u << 20) - 1) & ~(uint64_t)((2u << 20) - 1);

	r->used = at + bytes;
	CU_ASSERT_FATAL(r->used <= r->bytes);
	return VA + at;
}

static void *host(struct rig *r, uint64_t va)
{
	return r->memory + (va - VA);
}

static int run(struct rig *r, const uint64_t *args, size_t n, uint64_t base, uint64_t bytes)
{
	if (!r->device)
		CU_ASSERT_EQUAL_FATAL(ndp_time_open(&r->params, &r->device), 0);
	r->k.args = args;
	r->k.args_bytes = (uint32_t)(n * sizeof(*args));
	r->k.base = base;
	r->k.bound = base + bytes;
	return ndp_time_kernel(r->device, &r->k, &r->r);
}

static void done(struct rig *r)
{
	if (r->device)
		ndp_time_close(r->device);
	free(r->memory);
	free(r);
}

/* c = a + b, of @n numbers; cycles. */
static double vadd(struct rig *r, size_t n)
{
	uint64_t a = place(r, n * 4), b = place(r, n * 4), c = place(r, n * 4);
	const uint64_t args[] = {a, b, c, n, 32};
	int32_t *x = host(r, a), *y = host(r, b), *z = host(r, c);
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		x[i] = (int32_t)i;
		y[i] = (int32_t)(i * 7);
	}
	CU_ASSERT_EQUAL(run(r, args, 5, c, n), 0);
	for (size_t i = 0; i < n; i++)
		wrong += z[i] != (int32_t)(i * 8);
	CU_ASSERT_EQUAL(wrong, 0);
	return (double)r->r.cycles;
}

static void vector_add_as_in_the_paper(void)
{
	struct rig *r = setup(K_vadd_i32, 18u << 20);
	double cycles = vadd(r, 1u << 20);

	CU_ASSERT(cycles > 64199 * 0.9 && cycles < 64199 * 1.1);
	CU_ASSERT_EQUAL(r->r.threads, 1u << 15);
	CU_ASSERT(r->r.read >= 8u << 20 && r->r.read < 9u << 20);
	CU_ASSERT(r->r.written > 0 && r->r.written <= 4u << 20); /* L2 has the rest */
	CU_ASSERT(r->r.row_hits > r->r.row_misses * 8);
	done(r);
}

static void twice_the_same(void)
{
	struct rig *a = setup(K_vadd_i32, 18u << 20), *b = setup(K_vadd_i32, 18u << 20);

	CU_ASSERT_EQUAL(vadd(a, 10000), vadd(b, 10000));
	CU_ASSERT_EQUAL(a->r.row_hits, b->r.row_hits);
	CU_ASSERT_EQUAL(a->r.l2_hits, b->r.l2_hits);
	CU_ASSERT_EQUAL(a->r.walks, b->r.walks);
	done(a);
	done(b);
}

/* Memory bounds one kernel, and the number of slots bounds a kernel with long latency. */
static void less_of_everything(void)
{
	struct rig *whole = setup(K_vadd_i32, 18u << 20), *half = setup(K_vadd_i32, 18u << 20);
	struct rig *slots = setup(K_vadd_i32, 18u << 20);
	double cycles = vadd(whole, 1u << 18), slow;

	half->params.channels /= 2;
	half->params.l2_bytes *= 2;
	slow = vadd(half, 1u << 18);
	CU_ASSERT(slow > cycles * 1.8 && slow < cycles * 2.2);
	slots->params.slots = 1;
	CU_ASSERT(vadd(slots, 1u << 18) > cycles * 1.5);
	done(whole);
	done(half);
	done(slots);
}

/* Sums of 80 rows of 256 floats, 32 at once; 256 in all (Table V). */
enum { ROWS = 1000000, DIM = 256, LOOKUPS = 80, BATCH = 32, BATCHES = 8 };

/* Rows as they come: all as often, or row r so often as 1 / r, as the popular ones of Criteo's. */
static uint32_t random_row(uint64_t *random, bool popular)
{
	double u;

	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	u = (double)(*random >> 11) / (double)(1ull << 53);
	u = popular ? pow(ROWS, u) : u * ROWS;
	return (uint32_t)((uint64_t)u * 2654435761u % ROWS);
}

static bool sums_right(struct rig *r, const float *table, const uint32_t *index, const float *out)
{
	size_t wrong = 0;

	for (unsigned int i = 0; i < BATCH * DIM; i++) {
		float sum = 0;

		for (unsigned int k = 0; k < LOOKUPS; k++)
			sum += table[(size_t)index[i / DIM * LOOKUPS + k] * DIM + i % DIM];
		wrong += sum != out[i];
	}
	return !wrong && r->r.threads == BATCH * DIM * 4 / 32;
}

/* Nanoseconds of a batch, on the average of @batches. */
static double embeddings(bool popular, unsigned int batches)
{
	struct rig *r = setup(K_sls, ROWS * DIM * 4ul + (16u << 20));
	uint64_t table = place(r, ROWS * DIM * 4ul);
	uint64_t index = place(r, BATCHES * BATCH * LOOKUPS * 4);
	uint64_t first = place(r, (BATCHES * BATCH + 1) * 4), out = place(r, BATCH * DIM * 4);
	float *rows = host(r, table);
	uint32_t *indices = host(r, index);
	uint64_t random = 1;
	double ns = 0;

	for (unsigned int i = 0; i < BATCHES * BATCH * LOOKUPS; i++) {
		indices[i] = random_row(&random, popular);
		rows[(size_t)indices[i] * DIM + i % DIM] = (float)i;
	}
	for (unsigned int i = 0; i <= BATCHES * BATCH; i++)
		((uint32_t *)host(r, first))[i] = i * LOOKUPS;
	for (unsigned int i = 0; i < batches; i++) {
		const uint64_t args[] = {table, DIM * 4, index, first + i * BATCH * 4ul, 8};

		CU_ASSERT_EQUAL(run(r, args, 5, out, BATCH * DIM * 4), 0);
		CU_ASSERT(sums_right(r, rows, indices + i * BATCH * LOOKUPS, host(r, out)));
		ns += r->r.total_ns / batches;
	}
	done(r);
	return ns;
}

static void embeddings_as_in_the_paper(void)
{
	double ns = embeddings(true, BATCHES);

	CU_ASSERT(ns > 6400 * 0.8 && ns < 6400 * 1.2);
}

/* DRAM's 409.6 GB/s have the rows of a batch in 6400 ns, if none comes twice. */
static void no_faster_than_memory(void)
{
	double ns = embeddings(false, 1);

	CU_ASSERT(ns > 6400 && ns < 2 * 6400);
}

/* Scratchpads, atomics in them and in memory, and a finalizer. */
static void histogram(void)
{
	enum { N = 40000, THREADS = 256, BINS = 64 };
	struct rig *r = setup(K_histogram, 8u << 20);
	uint64_t data = place(r, N * 4), counts = place(r, BINS * 8);
	const uint64_t args[] = {data, N, THREADS, 5, 0, 4, BINS, counts};
	uint64_t want[BINS] = {0};

	for (unsigned int i = 0; i < N; i++) {
		((int32_t *)host(r, data))[i] = (int32_t)(i * 7919 % 1100);
		if (i * 7919 % 1100 / 16 < BINS)
			want[i * 7919 % 1100 / 16]++;
	}
	CU_ASSERT_EQUAL(run(r, args, 8, data, THREADS * 32), 0);
	CU_ASSERT_EQUAL(memcmp(host(r, counts), want, sizeof(want)), 0);
	CU_ASSERT_EQUAL(r->r.threads, THREADS + 32 * 4 * 16);
	CU_ASSERT(r->r.issued[RV_LSU] > N);
	done(r);
}

static void errors(void)
{
	struct rig *r = setup(K_vadd_i32, 1u << 20);
	uint64_t args[] = {VA + CODE, VA + CODE, VA + (8u << 20), 1000, 32};
	struct ndp_time *device;

	CU_ASSERT_EQUAL(run(r, args, 5, VA + CODE, 1000), -EFAULT);
	CU_ASSERT_EQUAL(r->r.addr, VA + (8u << 20));
	CU_ASSERT(r->r.pc > VA && r->r.pc < VA + CODE);
	args[2] = VA + CODE;
	r->k.budget = 100;
	CU_ASSERT_EQUAL(run(r, args, 5, VA + CODE, 1000), -ETIME);
	CU_ASSERT_EQUAL(run(r, args, 5, VA + CODE, 0), -EINVAL);
	r->k.budget = 1ull << 32;
	CU_ASSERT_EQUAL(run(r, args, 5, VA + CODE, 1000), 0);
	r->params.channels = 3;
	CU_ASSERT_EQUAL(ndp_time_open(&r->params, &device), -EINVAL);
	done(r);

	r = setup(K_vadd_i32, 1u << 20);
	r->params.register_file = 1024;
	CU_ASSERT_EQUAL(run(r, args, 5, VA + CODE, 1000), -EINVAL);
	done(r);
}

UNIT_SUITE(ndp_time, {"vector add as in the paper", vector_add_as_in_the_paper},
	   {"twice the same", twice_the_same}, {"less of everything", less_of_everything},
	   {"embeddings as in the paper", embeddings_as_in_the_paper},
	   {"no faster than memory", no_faster_than_memory}, {"histogram", histogram},
	   {"errors", errors})

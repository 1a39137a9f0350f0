// SPDX-License-Identifier: MIT
/*
 * The program on many lanes at once, each with values of its own, against each lane alone. Runs of
 * single lanes are compared with qemu.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/ndp/harts/rv.h"
#include "fuzz.h"

/* struct lanes - Memory: a block for each lane, as it is at first, and as it is now. */
struct lanes {
	struct rv_gen *g;
	struct rv_batch *batch;
	struct rv_code *code;
	uint8_t *fresh, *now;
	size_t stride;
	uint64_t *sums; /* of records: [lane][item] */
	unsigned int count[RV_LANES];
};

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	struct lanes *l = ctx;

	(void)va; /* there is nothing else */
	*span = (struct rv_span){RV_DATA, l->stride * RV_LANES, (char *)l->now, RV_READ | RV_WRITE};
	return 0;
}

static uint64_t sum(const uint8_t *bytes, size_t n)
{
	uint64_t value = n, word;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		memcpy(&word, bytes + i, 8);
		value = (value ^ word) * 0x9fb21c651e98df25ull;
		value ^= value >> 32;
	}
	return value;
}

/* Lanes [@from, @from + @n) stand at a write: note the bytes that they would have written. */
static bool take_records(struct lanes *l, unsigned int from, unsigned int n, uint64_t pc)
{
	enum { A0 = 10, A2 = 12, A7 = 17 };
	bool ended = true;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int lane = from + i;
		uint64_t *sums = l->sums + (size_t)lane * l->g->n;

		if (rv_pc(l->batch)[i] != pc || rv_x(l->batch, A7)[i] != 64) {
			ended = ended && rv_x(l->batch, A7)[i] == 93;
			continue;
		}
		ended = false;
		if (l->count[lane] < l->g->n) {
			sums[l->count[lane]] = sum(l->now + lane * l->stride,
						   l->g->items[l->count[lane]].bytes);
			l->count[lane]++;
		}
		rv_x(l->batch, A0)[i] = rv_x(l->batch, A2)[i];
		rv_pc(l->batch)[i] += 4;
	}
	return ended;
}

static bool run(struct lanes *l, unsigned int from, unsigned int n)
{
	uint64_t done = 0;
	struct rv_stop stop;

	memcpy(l->now, l->fresh, l->stride * RV_LANES);
	rv_start(l->batch, l->code, n, RV_TEXT + l->g->start + 4);
	for (unsigned int i = 0; i < n; i++) {
		rv_x(l->batch, BLOCK)[i] = RV_DATA + (from + i) * l->stride;
		l->count[from + i] = 0;
	}
	do {
		stop = rv_run(l->batch, 1ull << 40, &done);
		if (stop.why != RV_ECALL) {
			printf("lane %u of %u: stopped (%d) at %#llx\n", stop.lane, n, stop.why,
			       (unsigned long long)stop.pc);
			return false;
		}
	} while (!take_records(l, from, n, stop.pc));
	return true;
}

/* @n lanes together, then some of them alone. */
static bool same(struct lanes *l, unsigned int n)
{
	size_t bytes = l->g->n * sizeof(*l->sums);
	uint64_t *together = malloc(bytes * n);
	bool ok = together && run(l, 0, n);

	if (ok)
		memcpy(together, l->sums, bytes * n);
	for (unsigned int lane = 0; ok && lane < n; lane += 9) {
		const uint64_t *a = together + (size_t)lane * l->g->n;
		const uint64_t *b = l->sums + (size_t)lane * l->g->n;
		unsigned int i = 0;

		ok = run(l, lane, 1);
		while (i < l->g->n && a[i] == b[i])
			i++;
		if (!ok || i == l->g->n)
			continue;
		printf("seed %llu: lane %u of %u is not as it is alone after instruction %u: %s at "
		       "%#x\n",
		       (unsigned long long)l->g->seed, lane, n, i, l->g->items[i].op->name,
		       RV_TEXT + l->g->items[i].test);
		ok = false;
	}
	free(together);
	return ok;
}

static bool prepare(struct lanes *l)
{
	struct rv_isa isa = {l->g->vlenb * 8, 32, 32, 32};
	struct rv_opts opts = {.isa = isa};
	struct rv_mem mem = {find, l};
	struct rv_gen other = *l->g;

	l->stride = rv_block_bytes(l->g);
	l->fresh = malloc(l->stride * RV_LANES);
	l->now = malloc(l->stride * RV_LANES);
	l->sums = calloc(l->g->n, RV_LANES * sizeof(*l->sums));
	if (!l->fresh || !l->now || !l->sums)
		return false;
	for (unsigned int i = 0; i < RV_LANES; i++, other.seed += 1u << 20)
		rv_pools(&other, l->fresh + i * l->stride);
	return !rv_code_create(l->g->text, l->g->bytes, RV_TEXT, &isa, &l->code) &&
	       !rv_batch_create(&opts, &mem, &l->batch);
}

int rv_lanes(struct rv_gen *g)
{
	struct lanes l = {.g = g};
	bool ok = prepare(&l) && same(&l, RV_LANES) && same(&l, 37);

	if (l.batch)
		rv_batch_destroy(l.batch);
	if (l.code)
		rv_code_destroy(l.code);
	free(l.fresh);
	free(l.now);
	free(l.sums);
	return ok ? 0 : 1;
}

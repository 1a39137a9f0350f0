// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every block of edges has a random stream of its own, so that any thread can make it, twice if
 * need be, and the graph depends on the seed alone.
 *
 * Kronecker: an edge picks one quadrant of the adjacency matrix a bit, with probabilities A, B, C
 * and the rest; then the vertices are permuted, so that their degrees tell nothing of their
 * numbers.
 */
#include <errno.h>
#include <annex/detail/random.h>
#include "tools/common/mem.h"
#include "build.h"

/* Probabilities in units of 2^-32. */
#define KRON_A 2448131359u   /* 0.57 */
#define KRON_AB 3264175145u  /* 0.57 + 0.19 */
#define KRON_ABC 4080218931u /* 0.57 + 0.19 + 0.19 */

static uint64_t stream(uint64_t seed, uint64_t number)
{
	uint64_t state = seed;

	state = annex_random(&state) ^ number;
	return annex_random(&state);
}

static void kron_bit(uint32_t r, uint32_t *from, uint32_t *to)
{
	uint32_t low = r >= KRON_AB;

	*from = *from << 1 | low;
	*to = *to << 1 | (r >= KRON_ABC) | (!low & (r >= KRON_A));
}

static void kron_edge(const struct gen *g, uint64_t *state, struct list_edge *e)
{
	uint32_t from = 0, to = 0, bit = 0;

	for (; bit + 2 <= g->scale; bit += 2) {
		uint64_t r = annex_random(state);

		kron_bit((uint32_t)r, &from, &to);
		kron_bit((uint32_t)(r >> 32), &from, &to);
	}
	if (bit < g->scale)
		kron_bit((uint32_t)annex_random(state), &from, &to);
	e->from = g->place[from];
	e->to = g->place[to];
}

static uint32_t fill(void *ctx, uint64_t block, struct list_edge *buf)
{
	const struct gen *g = ctx;
	uint64_t edges = ((uint64_t)g->degree << g->scale) - block * BUILD_BLOCK;
	uint64_t state = stream(g->seed, block), weight = stream(~g->seed, block);
	uint32_t n = edges < BUILD_BLOCK ? (uint32_t)edges : BUILD_BLOCK;

	for (uint32_t i = 0; i < n; i++) {
		if (g->kron) {
			kron_edge(g, &state, &buf[i]);
		} else {
			uint64_t r = annex_random(&state);

			buf[i].from = (uint32_t)(r >> 32) >> (32 - g->scale);
			buf[i].to = (uint32_t)r >> (32 - g->scale);
		}
		/* 1 to 255, from a stream of their own: the same graph with and without. */
		buf[i].weight = g->weights ? (uint32_t)(annex_random(&weight) % 255) + 1 : 0;
	}
	return n;
}

static int permute(struct gen *g)
{
	uint64_t n = 1ull << g->scale, state = stream(g->seed, UINT64_MAX);

	g->place = mem_alloc(n, sizeof(*g->place), "permutation");
	if (!g->place)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t k = (uint64_t)((unsigned __int128)annex_random(&state) * (i + 1) >> 64);

		g->place[i] = g->place[k];
		g->place[k] = (uint32_t)i;
	}
	return 0;
}

int gen_init(struct gen *g, struct build_source *src)
{
	src->ctx = g;
	src->blocks = (((uint64_t)g->degree << g->scale) + BUILD_BLOCK - 1) / BUILD_BLOCK;
	src->fill = fill;
	return g->kron ? permute(g) : 0;
}

void gen_free(struct gen *g)
{
	mem_free(g->place, 1ull << g->scale, sizeof(*g->place));
	g->place = NULL;
}

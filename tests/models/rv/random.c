// SPDX-License-Identifier: MIT
/*
 * Random numbers, and the values that registers are loaded from: such at which arithmetic goes
 * wrong come often.
 */
#include <string.h>
#include <annex/detail/random.h>
#include "fuzz.h"

uint64_t rv_random(struct rv_gen *g)
{
	return annex_random(&g->random);
}

unsigned int rv_below(struct rv_gen *g, unsigned int n)
{
	return (unsigned int)((rv_random(g) >> 32) * n >> 32);
}

bool rv_chance(struct rv_gen *g, unsigned int n)
{
	return !rv_below(g, n);
}

/* An integer of so many bits, in the low ones. */
static uint64_t integer(struct rv_gen *g, unsigned int bits)
{
	uint64_t r = rv_random(g), one = 1;
	uint64_t value;

	switch (rv_below(g, 8)) {
	case 0:
		value = (uint64_t)0 - rv_below(g, 3) + 1; /* 1, 0, -1 */
		break;
	case 1: /* the ends, and their neighbours */
		value = (one << (bits - 1)) - rv_below(g, 3) + 1;
		break;
	case 2:
		value = (one << rv_below(g, bits)) - rv_below(g, 3) + 1;
		break;
	case 3: /* limits of a narrower type */
		value = (uint64_t)(int32_t)((0x7fffffffu >> (rv_below(g, 3) * 8)) + rv_below(g, 3));
		break;
	case 4:
		value = rv_below(g, 72);
		break;
	case 5:
		value = (uint64_t)0 - rv_below(g, 72);
		break;
	default:
		value = r >> rv_below(g, bits);
	}
	return bits < 64 ? value & ((one << bits) - 1) : value;
}

/* A float of 2, 4 or 8 bytes. */
static uint64_t number(struct rv_gen *g, unsigned int bytes)
{
	unsigned int m = bytes == 2 ? 10 : bytes == 4 ? 23 : 52;
	unsigned int e = bytes * 8 - 1 - m;
	uint64_t top = (1ull << e) - 1, bias = top / 2, exp, man;
	uint64_t all = (1ull << m) - 1;

	man = rv_random(g) & all;
	if (rv_chance(g, 4))
		man &= all << rv_below(g, m); /* few digits: exact results, ties */
	else if (rv_chance(g, 8))
		man |= all >> rv_below(g, m);
	exp = bias + rv_below(g, 9) - 4;
	switch (rv_below(g, 16)) {
	case 0:
		exp = man = 0;
		break;
	case 1: /* subnormal */
		exp = 0;
		man = rv_chance(g, 3) ? 1 : rv_chance(g, 3) ? all : man >> rv_below(g, m);
		break;
	case 2:
		exp = top;
		man = 0;
		break;
	case 3: /* not a number, quiet or signalling */
		exp = top;
		man = rv_chance(g, 2) ? 1ull << (m - 1) : man | 1;
		break;
	case 4:
		man = rv_chance(g, 2) ? 0 : all;
		break;
	case 5: /* the largest, and near them */
		exp = top - 1 - rv_below(g, 2);
		man = rv_chance(g, 2) ? all : man;
		break;
	case 6: /* the smallest normal ones, and those whose product is near them */
		exp = rv_chance(g, 2) ? 1 + rv_below(g, 3) : bias / 2 + rv_below(g, 4);
		break;
	case 7: /* where integers end */
		exp = bias + (7u << rv_below(g, 4)) + rv_below(g, 6);
		exp = exp >= top ? top - 1 : exp;
		break;
	case 8:
		exp = rv_random(g) & top;
		break;
	case 9:
		man = 0;
		exp = bias + rv_below(g, 4) - 2;
		break;
	}
	return rv_random(g) >> 63 << (bytes * 8 - 1) | exp << m | man;
}

/* Small whole numbers as floats: half precision holds the sum of a register group exactly. */
static uint64_t whole(struct rv_gen *g, unsigned int bytes)
{
	unsigned int m = bytes == 2 ? 10 : bytes == 4 ? 23 : 52;
	uint64_t bias = (1ull << (bytes * 8 - 2 - m)) - 1, n = 1 + rv_below(g, bytes == 2 ? 3 : 7);
	unsigned int top = n < 2 ? 0 : n < 4 ? 1 : 2;

	return (bias + top) << m | (n << (m - top) & ((1ull << m) - 1));
}

static uint64_t boxed(struct rv_gen *g, unsigned int bytes)
{
	uint64_t bits = number(g, bytes);

	if (bytes == 8 || rv_chance(g, 32))
		return bits | (bytes == 8 ? 0 : rv_random(g) << (bytes * 8));
	return bits | ~0ull << (bytes * 8);
}

/* Offsets of elements: all active ones must stay in the arena. */
static uint64_t offset(struct rv_gen *g, unsigned int bytes)
{
	uint64_t at = rv_below(g, bytes == 1 ? 256 : 2000);

	if (!rv_chance(g, 4))
		at &= ~7ull;
	return bytes == 8 && rv_chance(g, 4) ? (uint64_t)0 - at : at;
}

static uint64_t element(struct rv_gen *g, unsigned int pool, unsigned int bytes)
{
	switch (pool) {
	case P_X:
		return integer(g, rv_chance(g, 3) ? 32 : 64);
	case P_SMALL:
		return rv_below(g, 40);
	case P_MASK:
		return rv_chance(g, 8) ? 0 : rv_chance(g, 4) ? ~0ull : rv_random(g);
	case P_H:
	case P_S:
	case P_D:
		return boxed(g, 2u << (pool - P_H));
	}
	if (pool < P_FLOAT)
		return integer(g, bytes * 8);
	if (pool < P_INDEX && bytes == 1)
		return rv_random(g);
	if (pool < P_WHOLE)
		return number(g, bytes);
	return pool < P_INDEX ? whole(g, bytes) : offset(g, bytes);
}

uint32_t rv_pool_at(const struct rv_gen *g, unsigned int pool)
{
	return rv_arena(g) + ARENA + pool * POOL_BYTES;
}

uint32_t rv_block_bytes(const struct rv_gen *g)
{
	return rv_pool_at(g, POOLS);
}

void rv_pools(struct rv_gen *g, uint8_t *block)
{
	g->random = ~g->seed * 0x2545f4914f6cdd1dull;
	memset(block, 0, rv_arena(g));
	for (uint32_t at = rv_arena(g); at < rv_pool_at(g, 0); at += 8) {
		uint64_t value = rv_random(g);

		memcpy(block + at, &value, 8);
	}
	for (unsigned int pool = 0; pool < POOLS; pool++) {
		uint8_t *to = block + rv_pool_at(g, pool);
		unsigned int bytes = pool < P_I ? 8 : 1u << ((pool - P_I) % 4);

		for (unsigned int at = 0; at < POOL_BYTES; at += bytes) {
			uint64_t value = element(g, pool, bytes);

			memcpy(to + at, &value, bytes);
		}
	}
}

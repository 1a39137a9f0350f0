// SPDX-License-Identifier: GPL-2.0-or-later
#include "stamp.h"

#define ROUNDS 4u

void order_init(struct order *o, enum order_kind kind, uint64_t n, uint64_t seed)
{
	o->kind = kind;
	o->n = n;
	o->seed = seed;
	o->half = 1;
	while (o->half < 32 && n > 1ull << 2 * o->half)
		o->half++;
}

/* A Feistel network: a permutation of the numbers of 2 * half bits, whatever the function is. */
static uint64_t shuffle(const struct order *o, uint64_t x)
{
	uint64_t mask = (1ull << o->half) - 1, left = x >> o->half, right = x & mask;

	for (uint64_t r = 0; r < ROUNDS; r++) {
		uint64_t h = (right ^ (o->seed + r)) * 0x9e3779b97f4a7c15ull, next;

		h = (h ^ h >> 32) * 0xbf58476d1ce4e5b9ull;
		next = (left ^ h >> 32) & mask;
		left = right;
		right = next;
	}
	return left << o->half | right;
}

uint64_t order_at(const struct order *o, uint64_t i)
{
	if (o->kind != ORDER_RANDOM)
		return o->kind == ORDER_UP ? i : o->n - 1 - i;
	/* It may leave the range, but on its way it comes back: fewer than four steps on average.
	 */
	do
		i = shuffle(o, i);
	while (i >= o->n);
	return i;
}

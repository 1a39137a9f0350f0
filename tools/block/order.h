/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_BLOCK_ORDER_H
#define TOOLS_BLOCK_ORDER_H

#include <stdint.h>

enum order_kind { ORDER_RANDOM, ORDER_UP, ORDER_DOWN };

/* struct order - Every number below @n once, in an order that takes no memory. */
struct order {
	enum order_kind kind;
	uint64_t n, seed;
	unsigned int half; /* bits */
};

void order_init(struct order *o, enum order_kind kind, uint64_t n, uint64_t seed);

/* order_at() - The number at place @i, which is below n. */
uint64_t order_at(const struct order *o, uint64_t i);

#endif

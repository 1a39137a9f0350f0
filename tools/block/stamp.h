/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing the pattern to all of a device, and checking that it is there, by all threads, in an
 * order of blocks (order.c).
 */
#ifndef TOOLS_BLOCK_STAMP_H
#define TOOLS_BLOCK_STAMP_H

#include <stdint.h>
#include "tools/common/pool.h"
#include "lane.h"

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

/*
 * stamp_pass() - Go through the first @bytes of the device once, in the order @kind.
 * @write: write the pattern of @seed and flush, else read and check it.
 */
int stamp_pass(struct lanes *ls, struct pool *pool, uint64_t bytes, uint64_t seed,
	       enum order_kind kind, bool write);

/* stamp_wrong() - Set the line for wrong data of a command: @bad is the first sector that is. */
int stamp_wrong(const struct lanes *ls, const struct lane_flight *f, const void *data, uint32_t bad,
		uint64_t seed);

#endif

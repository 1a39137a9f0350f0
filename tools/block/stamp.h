/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing the pattern to all of a device, and checking that it is there, by all threads, in an
 * order of blocks.
 */
#ifndef TOOLS_BLOCK_STAMP_H
#define TOOLS_BLOCK_STAMP_H

#include <stdint.h>
#include "tools/common/pool.h"
#include "lane.h"

enum order_kind { ORDER_RANDOM, ORDER_UP, ORDER_DOWN };

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

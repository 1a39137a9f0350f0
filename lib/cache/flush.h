/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CACHE_FLUSH_H
#define ANNEX_CACHE_FLUSH_H

#include <stdint.h>

/**
 * struct annex_flush - One call of annex_cache_flush() and what became of its writes.
 * @pending: lines under way.
 * @err: the first failure.
 */
struct annex_flush {
	uint64_t pending;
	int32_t err;
};

/**
 * annex_flush_report() - @lines of a flush have been written, or not. The last touch of @flush.
 */
void annex_flush_report(struct annex_flush *flush, int err, uint32_t lines);

#endif

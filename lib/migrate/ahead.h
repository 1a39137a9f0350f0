/* SPDX-License-Identifier: MIT */
/*
 * Read-ahead without a plan. Programs use tensors in the order of their allocation, or in reverse,
 * often in several streams at once: an optimizer iterates over weights, their gradients and its
 * state. After kernels had to wait for two neighbours, the next tensors are prefetched.
 */
#ifndef ANNEX_MIGRATE_AHEAD_H
#define ANNEX_MIGRATE_AHEAD_H

#include "space.h"

#define AHEAD_STREAMS 4u

/**
 * struct ahead - Streams that are followed; initially zero.
 * @of: the streams.
 * @of.first: in a stream to lower addresses, the lowest page that was used or requested.
 * @of.end: in a stream to higher addresses, the page after the last one that was used or requested.
 * @of.window: number of pages to request ahead of the used ones; 0: the stream has one use so far.
 * @of.back: the stream goes to lower addresses.
 * @turn: the stream that the next new one replaces.
 * @follows: some stream has had two uses.
 */
struct ahead {
	struct ahead_stream {
		uint32_t first, end, window;
		bool back;
	} of[AHEAD_STREAMS];
	uint32_t turn;
	bool follows;
};

/*
 * A kernel uses the tensor at @ptr, which was @there or is being brought in: prefetch the tensors
 * that follow it. @order: deadline of the last prefetch, incremented.
 */
void annex_ahead(struct annex_space *s, struct ahead *a, const void *ptr, bool there,
		 uint64_t *order);

#endif

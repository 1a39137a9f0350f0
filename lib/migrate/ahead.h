/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead where no plan says what comes next. Programs use tensors in the order in which they
 * were made, or backwards, and several such streams at once: an optimizer goes through weights,
 * their gradients and its state. When kernels had to wait for two neighbours, those that follow
 * come before they are asked for.
 */
#ifndef ANNEX_MIGRATE_AHEAD_H
#define ANNEX_MIGRATE_AHEAD_H

#include "space.h"

#define AHEAD_STREAMS 4u

/**
 * struct ahead - Streams that are followed. All zero to begin with.
 * @first: of a stream, the page after the last one that was used backwards, or asked for.
 * @end: the page after the last one that was used forwards, or asked for.
 * @window: pages that are asked for ahead of those that are used; 0: it has one use so far.
 * @back: it goes to lower addresses.
 * @turn: the stream that gives way to the next new one.
 * @follows: there has been one with two uses.
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
 * A kernel uses the tensor at @ptr, which was @there or is being brought: ask for those that follow
 * it. @order: of prefetches, counted on.
 */
void annex_ahead(struct annex_space *s, struct ahead *a, const void *ptr, bool there,
		 uint64_t *order);

#endif

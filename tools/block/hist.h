/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram of latencies: classes of about 3 %, in a fixed table.
 */
#ifndef TOOLS_BLOCK_HIST_H
#define TOOLS_BLOCK_HIST_H

#include <stdint.h>

#define HIST_BITS 5u /* classes of each power of two: 2^this */
#define HIST_CLASSES ((64u - HIST_BITS + 1) << HIST_BITS)

struct hist {
	uint64_t n[HIST_CLASSES];
	uint64_t count, most;
};

static inline void hist_add(struct hist *h, uint64_t ns)
{
	unsigned int top = ns >> HIST_BITS ? 63u - (unsigned int)__builtin_clzll(ns) : HIST_BITS;
	unsigned int shift = top - HIST_BITS;

	h->n[(shift << HIST_BITS) + (ns >> shift)]++;
	h->count++;
	if (ns > h->most)
		h->most = ns;
}

void hist_merge(struct hist *to, const struct hist *from);

/* hist_at() - The latency that @share (0 to 1) of all do not exceed, in seconds. */
double hist_at(const struct hist *h, double share);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arithmetic of PageRank, the same on CPUs and GPUs. Ranks are in units of 2^-60: in fixed
 * point the additions commute, so that the result is the same with any number of threads.
 */
#ifndef TOOLS_GPU_RANK_H
#define TOOLS_GPU_RANK_H

#include <stdint.h>
#include <annex/detail/atomic.h>

#define PAGERANK_DAMPING 0.85
#define PAGERANK_TOLERANCE 1e-6 /* change of all ranks together (L1) at which it ends */
#define PAGERANK_ONE (1ull << 60)

/* The part of a vertex' rank that each of its @degree edges carries. */
static inline ANNEX_HD uint64_t pagerank_share(uint64_t rank, uint64_t degree)
{
	return (uint64_t)((double)rank * PAGERANK_DAMPING / (double)degree);
}

/* The part of the rank that each of @n vertices gets; @loose is that of vertices without edges. */
static inline uint64_t pagerank_common(uint64_t loose, uint64_t n)
{
	return (uint64_t)(((1 - PAGERANK_DAMPING) * (double)PAGERANK_ONE +
			   PAGERANK_DAMPING * (double)loose) /
			  (double)n);
}

#endif

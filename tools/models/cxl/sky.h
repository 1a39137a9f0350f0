/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs like the workloads of SkyByte (HPCA 2025). Its traces are not public, so these programs
 * stand in for them. They are 16 times smaller than the workloads of the authors' artifact, as is
 * the simulated machine: at scale 1 their footprints, cache misses and write-backs are close to a
 * sixteenth of the artifact's.
 */
#ifndef TOOLS_CXL_SKY_H
#define TOOLS_CXL_SKY_H

#include <stdbool.h>
#include <stdint.h>
#include "work.h"

#define SKY_LINE 64u /* bytes of a cache line */

/*
 * The artifact does not state how much its programs compute. .work is fitted, so that "ideal" is
 * faster than "base" by the same factor as in the artifact.
 */
extern const struct work_kind work_bc, work_bfs_dense, work_dlrm, work_radix, work_srad, work_tpcc,
	work_ycsb;

/* struct sky_zipf - Ranks 0 to @n - 1; rank i has a probability proportional to (i + 1)^-theta. */
struct sky_zipf {
	uint32_t n;
	uint64_t *sum; /* weights up to each rank */
};

/* sky_zipf_init() - Return: 0, or -ENOMEM with the line set. */
int sky_zipf_init(struct sky_zipf *z, uint32_t n, double theta);
uint32_t sky_zipf_next(const struct sky_zipf *z, uint64_t *state);
void sky_zipf_free(struct sky_zipf *z);

/* sky_own() - Allocate zeroed @own of @size bytes. Return: it, or NULL with the line set. */
void *sky_own(struct work *w, uint64_t size);

/* sky_copy() - Copy @first; free() the copy. NULL: no memory. */
char *sky_copy(const struct work *w);

/* sky_is() - Whether @plain turns a copy of @first into @data. */
bool sky_is(const struct work *w, void (*plain)(const void *own, char *data));

/* sky_same() - Whether @bytes of @data from @at equal those at @want. */
bool sky_same(const struct work *w, uint64_t at, const void *want, uint64_t bytes);

/* sky_scaled() - Scale @n, to at least @least. */
uint32_t sky_scaled(const struct work *w, uint32_t n, uint32_t least);

/* sky_below() - A random number below @n. */
static inline uint32_t sky_below(uint64_t *state, uint32_t n)
{
	return (annex_random(state) >> 32) * n >> 32;
}

/* sky_place() - Map rank @i of @n to a place: a pseudorandom permutation. */
uint32_t sky_place(uint32_t i, uint32_t n);

#endif

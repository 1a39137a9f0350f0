/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs of the kinds that SkyByte (HPCA 2025) is judged by. Its traces are not public, so these
 * are our own, 16 times smaller than those of the authors' artifact, as is the simulated machine.
 * At scale 1 their footprints, the lines that their caches miss and those they write back are close
 * to a sixteenth of the artifact's.
 */
#ifndef TOOLS_CXL_SKY_H
#define TOOLS_CXL_SKY_H

#include <stdbool.h>
#include <stdint.h>
#include "work.h"

#define SKY_LINE 64u /* bytes of a cache line */

/*
 * .work of each is fitted: with it, all data in host memory are as many times as fast as base as
 * they are in the artifact, which does not tell how much its programs compute.
 */
extern const struct work_kind work_bc, work_bfs_dense, work_dlrm, work_radix, work_srad, work_tpcc,
	work_ycsb;

/* struct sky_zipf - Ranks 0 to @n - 1; rank i is drawn as often as (i + 1)^-theta says. */
struct sky_zipf {
	uint32_t n;
	uint64_t *sum; /* of the weights up to this rank */
};

/* sky_zipf_init() - 0, or -ENOMEM with the line set. sky_zipf_free() gives it back. */
int sky_zipf_init(struct sky_zipf *z, uint32_t n, double theta);
uint32_t sky_zipf_next(const struct sky_zipf *z, uint64_t *state);
void sky_zipf_free(struct sky_zipf *z);

/* sky_own() - Zeroed @own of @size bytes; NULL with the line set. */
void *sky_own(struct work *w, uint64_t size);

/* sky_copy() - A copy of @first, which free() gives back; NULL: no memory. */
char *sky_copy(const struct work *w);

/* sky_is() - Whether all of @data is what @plain makes of a copy of @first. */
bool sky_is(const struct work *w, void (*plain)(const void *own, char *data));

/* sky_same() - Whether @bytes of @data from @at are those at @want. */
bool sky_same(const struct work *w, uint64_t at, const void *want, uint64_t bytes);

/* sky_scaled() - @n at scale 1, but at least @least. */
uint32_t sky_scaled(const struct work *w, uint32_t n, uint32_t least);

/* sky_below() - A random number below @n. */
static inline uint32_t sky_below(uint64_t *state, uint32_t n)
{
	return (annex_random(state) >> 32) * n >> 32;
}

/* sky_place() - Where rank @i of @n lies: each rank elsewhere, as if at random. */
uint32_t sky_place(uint32_t i, uint32_t n);

#endif

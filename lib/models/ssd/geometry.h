/* SPDX-License-Identifier: MIT */
/*
 * How the flash of a CXL-SSD is divided, and what its parts take.
 */
#ifndef ANNEX_HDM_SSD_GEOMETRY_H
#define ANNEX_HDM_SSD_GEOMETRY_H

#include <stdint.h>

#define SSD_PAGES_MAX (1ull << 31) /* of flash */

/**
 * struct ssd_geometry - Flash, from its channels down to its pages.
 * @channels: buses, each for itself.
 * @dies: on each channel; a die does one thing at a time.
 * @planes: of each die; garbage collection stays inside one.
 * @blocks: of each plane; a block is erased as a whole.
 * @pages: of each block, programmed one after the other.
 * @page: bytes, a power of two from 512 to 65536.
 */
struct ssd_geometry {
	uint32_t channels, dies, planes, blocks, pages, page;
};

static inline uint32_t ssd_planes(const struct ssd_geometry *g)
{
	return g->channels * g->dies * g->planes;
}

static inline uint32_t ssd_blocks(const struct ssd_geometry *g)
{
	return ssd_planes(g) * g->blocks;
}

/* Neighbouring planes are on different channels, then on different dies of one. */
static inline uint32_t ssd_die(const struct ssd_geometry *g, uint32_t plane)
{
	return plane % (g->channels * g->dies);
}

static inline uint32_t ssd_channel(const struct ssd_geometry *g, uint32_t plane)
{
	return plane % g->channels;
}

/*
 * ssd_geometry_check() - Whether such flash can exist, and can show @bytes with some blocks of each
 * plane to spare. Return: 0; -EINVAL, -ERANGE (too many pages), -ENOSPC (too little is spare), with
 * a line.
 */
int ssd_geometry_check(const struct ssd_geometry *g, uint64_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The geometry of a CXL-SSD's flash.
 */
#ifndef ANNEX_HDM_SSD_GEOMETRY_H
#define ANNEX_HDM_SSD_GEOMETRY_H

#include <stdint.h>

#define SSD_PAGES_MAX (1ull << 31) /* pages of flash */

/**
 * struct ssd_geometry - Flash, from its channels down to its pages.
 * @channels: independent buses.
 * @dies: dies of a channel; a die executes one operation at a time.
 * @planes: planes of a die; garbage collection stays within a plane.
 * @blocks: blocks of a plane; a block is erased as a whole.
 * @pages: pages of a block, programmed in order.
 * @page: bytes of a page, a power of two from 512 to 65536.
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

/* Neighbouring planes are on different channels, then on different dies of a channel. */
static inline uint32_t ssd_die(const struct ssd_geometry *g, uint32_t plane)
{
	return plane % (g->channels * g->dies);
}

static inline uint32_t ssd_channel(const struct ssd_geometry *g, uint32_t plane)
{
	return plane % g->channels;
}

/*
 * ssd_geometry_check() - Check that flash can have this geometry, and hold @bytes with some spare
 * blocks in each plane. Return: 0; -EINVAL, -ERANGE (too many pages), -ENOSPC (too few spare
 * blocks), with a line.
 */
int ssd_geometry_check(const struct ssd_geometry *g, uint64_t bytes);

#endif

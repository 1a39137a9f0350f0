/* SPDX-License-Identifier: MIT */
/*
 * The page cache in a CXL-SSD's internal DRAM: units of a page or less, in sets with the least
 * recently used one as victim. Of each of its 64-byte lines a unit knows whether flash has it
 * (dirty), whether the journal does (loose), and whether it is here at all. Filling units and
 * writing them back is the owner's part. One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_CACHE_H
#define ANNEX_HDM_SSD_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define SSD_WAYS 16u /* of a set: SkyByte's */
#define SSD_NO_FRAME UINT32_MAX

/*
 * struct ssd_frame - A place for a unit.
 * @ready: when its bytes have come. @used: greater than that of all that were used before.
 * @dirty, @loose: a bit for each line. @lacks: likewise, of lines that are not here.
 * @listed: it is in the list of frames with loose lines.
 */
struct ssd_frame {
	uint64_t ready, used;
	uint64_t dirty, loose, lacks;
	bool listed;
};

/*
 * struct ssd_cache - @tags: the number of each frame's unit + 1; 0: it is empty.
 * @loose: frames with loose lines, @n_loose of them. Some have none any more.
 * @dirty: lines.
 */
struct ssd_cache {
	uint32_t unit, ways, sets;
	uint32_t *tags;
	struct ssd_frame *frames;
	char *data;
	uint64_t clock;
	uint32_t *loose;
	uint32_t n_loose;
	uint64_t dirty;
};

/* ssd_cache_init() - @bytes of units; false: out of memory. ssd_cache_free() may follow that. */
bool ssd_cache_init(struct ssd_cache *c, uint64_t bytes, uint32_t unit);
void ssd_cache_free(struct ssd_cache *c);

static inline char *ssd_cache_data(const struct ssd_cache *c, uint32_t frame)
{
	return c->data + (uint64_t)frame * c->unit;
}

/*
 * ssd_cache_set() - The set of a unit. Neighbours are in different ones, if unit / @sets is the
 * same for both; units that are any other distance apart are spread.
 */
static inline uint32_t ssd_cache_set(const struct ssd_cache *c, uint32_t unit)
{
	const uint32_t turn = unit / c->sets * 2654435769u >> 8;

	return (unit % c->sets + turn % c->sets) % c->sets;
}

/* ssd_cache_find() - The frame of a unit, SSD_NO_FRAME. */
static inline uint32_t ssd_cache_find(const struct ssd_cache *c, uint32_t unit)
{
	const uint32_t first = ssd_cache_set(c, unit) * c->ways;
	const uint32_t *tags = c->tags + first;

	for (uint32_t i = 0; i < c->ways; i++)
		if (tags[i] == unit + 1)
			return first + i;
	return SSD_NO_FRAME;
}

static inline void ssd_cache_use(struct ssd_cache *c, uint32_t frame)
{
	c->frames[frame].used = ++c->clock;
}

/* ssd_cache_victim() - The frame that a unit would take: an empty one, or the one whose unit was
 * used longest ago. ssd_cache_unit() - The number of its unit, which it must have. */
uint32_t ssd_cache_victim(const struct ssd_cache *c, uint32_t unit);

static inline uint32_t ssd_cache_unit(const struct ssd_cache *c, uint32_t frame)
{
	return c->tags[frame] - 1;
}

/* ssd_cache_lines() - A bit for each line of a unit. */
static inline uint64_t ssd_cache_lines(const struct ssd_cache *c)
{
	return UINT64_MAX >> (64 - c->unit / 64);
}

/* ssd_cache_has() - Whether a line is here. */
static inline bool ssd_cache_has(const struct ssd_cache *c, uint64_t line)
{
	const uint32_t lines = c->unit / 64;
	const uint32_t frame = ssd_cache_find(c, (uint32_t)(line / lines));

	return frame != SSD_NO_FRAME && !(c->frames[frame].lacks >> line % lines & 1);
}

/* ssd_cache_put() - A frame without dirty lines gets another unit, whose bytes come at @ready. */
void ssd_cache_put(struct ssd_cache *c, uint32_t frame, uint32_t unit, uint64_t ready);

/* ssd_cache_drop() - A unit leaves the cache as it is. */
void ssd_cache_drop(struct ssd_cache *c, uint32_t frame);

/* ssd_cache_soil() - Lines of a frame were stored. ssd_cache_clean() - Flash has them all. */
void ssd_cache_soil(struct ssd_cache *c, uint32_t frame, uint64_t lines);
void ssd_cache_clean(struct ssd_cache *c, uint32_t frame);

/* ssd_cache_firm() - The journal has all lines: none is loose any more. */
void ssd_cache_firm(struct ssd_cache *c);

#endif

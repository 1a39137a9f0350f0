/* SPDX-License-Identifier: MIT */
/*
 * The page cache in a CXL-SSD's internal DRAM: units of a page or less, set-associative with LRU
 * replacement. A unit has three bits for each of its 64-byte lines: flash does not have it (dirty),
 * the journal does not have it (loose), it is not valid (lacks). The owner fills units and writes
 * them back. One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_CACHE_H
#define ANNEX_HDM_SSD_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define SSD_WAYS 16u /* ways of a set, as in SkyByte */
#define SSD_NO_FRAME UINT32_MAX

/*
 * struct ssd_frame - A frame for a unit.
 * @ready: time at which its bytes arrive.
 * @used: clock of the last use.
 * @dirty: lines that flash does not have.
 * @loose: lines that the journal does not have.
 * @lacks: lines that are not valid.
 * @listed: in the list of frames with loose lines.
 */
struct ssd_frame {
	uint64_t ready, used;
	uint64_t dirty, loose, lacks;
	bool listed;
};

/*
 * struct ssd_cache - A cache.
 * @unit: bytes of a unit.
 * @ways: ways of a set.
 * @sets: number of sets.
 * @tags: number of each frame's unit + 1; 0: empty.
 * @frames: the frames.
 * @data: bytes of the frames.
 * @clock: number of uses so far.
 * @loose: frames that had loose lines since ssd_cache_firm().
 * @n_loose: number of these frames.
 * @dirty: number of dirty lines.
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

/*
 * ssd_cache_init() - Allocate @bytes of units; false: out of memory, and ssd_cache_free() is safe.
 */
bool ssd_cache_init(struct ssd_cache *c, uint64_t bytes, uint32_t unit);
void ssd_cache_free(struct ssd_cache *c);

static inline char *ssd_cache_data(const struct ssd_cache *c, uint32_t frame)
{
	return c->data + (uint64_t)frame * c->unit;
}

/*
 * ssd_cache_set() - The set of a unit. Units with the same unit / @sets are in different sets;
 * others are spread.
 */
static inline uint32_t ssd_cache_set(const struct ssd_cache *c, uint32_t unit)
{
	const uint32_t turn = unit / c->sets * 2654435769u >> 8;

	return (unit % c->sets + turn % c->sets) % c->sets;
}

/* ssd_cache_find() - The frame of a unit, or SSD_NO_FRAME. */
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

/* ssd_cache_victim() - The frame that a unit would take: an empty or the least recently used one.
 * ssd_cache_unit() - The number of the unit in a frame that is not empty. */
uint32_t ssd_cache_victim(const struct ssd_cache *c, uint32_t unit);

static inline uint32_t ssd_cache_unit(const struct ssd_cache *c, uint32_t frame)
{
	return c->tags[frame] - 1;
}

/* ssd_cache_lines() - All lines of a unit, a bit each. */
static inline uint64_t ssd_cache_lines(const struct ssd_cache *c)
{
	return UINT64_MAX >> (64 - c->unit / 64);
}

/* ssd_cache_has() - Whether the cache has a valid line. */
static inline bool ssd_cache_has(const struct ssd_cache *c, uint64_t line)
{
	const uint32_t lines = c->unit / 64;
	const uint32_t frame = ssd_cache_find(c, (uint32_t)(line / lines));

	return frame != SSD_NO_FRAME && !(c->frames[frame].lacks >> line % lines & 1);
}

/* ssd_cache_put() - Assign a clean frame to another unit, whose bytes arrive at @ready. */
void ssd_cache_put(struct ssd_cache *c, uint32_t frame, uint32_t unit, uint64_t ready);

/* ssd_cache_drop() - Drop a unit, without a write-back. */
void ssd_cache_drop(struct ssd_cache *c, uint32_t frame);

/*
 * ssd_cache_mark_dirty() - Mark stored lines. ssd_cache_clean() - Flash has all lines of a frame.
 */
void ssd_cache_mark_dirty(struct ssd_cache *c, uint32_t frame, uint64_t lines);
void ssd_cache_clean(struct ssd_cache *c, uint32_t frame);

/* ssd_cache_firm() - The journal has all lines: clear all loose bits. */
void ssd_cache_firm(struct ssd_cache *c);

#endif

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "cache.h"

bool ssd_cache_init(struct ssd_cache *c, uint64_t bytes, uint32_t unit)
{
	const uint64_t n = bytes / unit;

	c->unit = unit;
	c->ways = n < SSD_WAYS ? (uint32_t)n : SSD_WAYS;
	c->sets = (uint32_t)(n / c->ways);
	c->tags = calloc((size_t)c->sets * c->ways, sizeof(*c->tags));
	c->frames = calloc((size_t)c->sets * c->ways, sizeof(*c->frames));
	c->loose = calloc((size_t)c->sets * c->ways, sizeof(*c->loose));
	c->data = malloc((size_t)c->sets * c->ways * unit);
	return c->tags && c->frames && c->loose && c->data;
}

void ssd_cache_free(struct ssd_cache *c)
{
	free(c->tags);
	free(c->frames);
	free(c->loose);
	free(c->data);
}

uint32_t ssd_cache_victim(const struct ssd_cache *c, uint32_t unit)
{
	const uint32_t first = ssd_cache_set(c, unit) * c->ways;
	uint32_t victim = first;

	for (uint32_t i = first; i < first + c->ways; i++) {
		if (!c->tags[i])
			return i;
		if (c->frames[i].used < c->frames[victim].used)
			victim = i;
	}
	return victim;
}

void ssd_cache_put(struct ssd_cache *c, uint32_t frame, uint32_t unit, uint64_t ready)
{
	c->tags[frame] = unit + 1;
	c->frames[frame].ready = ready;
	c->frames[frame].lacks = 0;
	ssd_cache_use(c, frame);
}

void ssd_cache_drop(struct ssd_cache *c, uint32_t frame)
{
	ssd_cache_clean(c, frame);
	c->tags[frame] = 0;
}

void ssd_cache_mark_dirty(struct ssd_cache *c, uint32_t frame, uint64_t lines)
{
	struct ssd_frame *f = &c->frames[frame];

	c->dirty += (uint64_t)__builtin_popcountll(lines & ~f->dirty);
	f->dirty |= lines;
	f->loose |= lines;
	f->lacks &= ~lines;
	if (!f->listed) {
		f->listed = true;
		c->loose[c->n_loose++] = frame;
	}
}

void ssd_cache_clean(struct ssd_cache *c, uint32_t frame)
{
	struct ssd_frame *f = &c->frames[frame];

	c->dirty -= (uint64_t)__builtin_popcountll(f->dirty);
	f->dirty = f->loose = 0;
}

void ssd_cache_firm(struct ssd_cache *c)
{
	for (uint32_t i = 0; i < c->n_loose; i++) {
		c->frames[c->loose[i]].loose = 0;
		c->frames[c->loose[i]].listed = false;
	}
	c->n_loose = 0;
}

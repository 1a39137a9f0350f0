// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ftl.h"

/*
 * struct plane - A plane.
 * @open: the open block, or FTL_NONE.
 * @fill: programmed pages of it.
 * @idle: erased blocks, a ring with room for all blocks.
 * @first_idle: index of the first one.
 * @n_idle: number of erased blocks.
 * @valid: logical pages in this plane.
 * @least: lower bound of the valid pages of a full block.
 */
struct plane {
	uint32_t open, fill;
	uint32_t *idle;
	uint32_t first_idle, n_idle;
	uint32_t valid;
	uint32_t least;
};

/*
 * struct ftl - A translation layer.
 * @map: place of each logical page.
 * @holds: logical page of each place; FTL_NONE: erased or stale.
 * @valid: valid pages of each block.
 * @worn: erases of each block.
 * @heads: lists, by @next and @prev, of the full blocks of each plane with that many valid pages.
 * @turn: the plane to write next, if it is idle.
 */
struct ftl {
	struct ssd_geometry g;
	uint32_t n_planes, n_blocks, logical;
	uint32_t *map, *holds, *valid, *worn, *next, *prev, *heads, *rings;
	struct plane *planes;
	uint32_t turn;
	uint64_t written, copied, erased;
	const struct ftl_ops *ops;
	void *ctx;
};

static uint32_t *fresh(size_t n, int byte)
{
	uint32_t *at = malloc(n * sizeof(*at));

	return at ? memset(at, byte, n * sizeof(*at)) : NULL;
}

static struct plane *plane_of(const struct ftl *f, uint32_t block)
{
	return &f->planes[block / f->g.blocks];
}

static uint32_t *head_of(const struct ftl *f, uint32_t block)
{
	return &f->heads[(size_t)(block / f->g.blocks) * (f->g.pages + 1) + f->valid[block]];
}

static void link_block(struct ftl *f, uint32_t block)
{
	struct plane *p = plane_of(f, block);
	uint32_t *head = head_of(f, block);

	f->next[block] = *head;
	f->prev[block] = FTL_NONE;
	if (*head != FTL_NONE)
		f->prev[*head] = block;
	*head = block;
	if (f->valid[block] < p->least)
		p->least = f->valid[block];
}

static void take(struct ftl *f, uint32_t block)
{
	uint32_t next = f->next[block], prev = f->prev[block];

	if (prev == FTL_NONE)
		*head_of(f, block) = next;
	else
		f->next[prev] = next;
	if (next != FTL_NONE)
		f->prev[next] = prev;
}

static void give_idle(struct ftl *f, uint32_t block)
{
	struct plane *p = plane_of(f, block);

	p->idle[(p->first_idle + p->n_idle++) % f->g.blocks] = block;
}

struct ftl *ftl_create(const struct ssd_geometry *g, uint32_t logical, const struct ftl_ops *ops,
		       void *ctx)
{
	struct ftl *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->g = *g;
	f->n_planes = ssd_planes(g);
	f->n_blocks = ssd_blocks(g);
	f->logical = logical;
	f->ops = ops;
	f->ctx = ctx;
	f->map = fresh(logical, 0xff);
	f->holds = fresh((size_t)f->n_blocks * g->pages, 0xff);
	f->valid = fresh(f->n_blocks, 0);
	f->worn = fresh(f->n_blocks, 0);
	f->next = fresh(f->n_blocks, 0xff);
	f->prev = fresh(f->n_blocks, 0xff);
	f->rings = fresh(f->n_blocks, 0xff);
	f->heads = fresh((size_t)f->n_planes * (g->pages + 1), 0xff);
	f->planes = calloc(f->n_planes, sizeof(*f->planes));
	if (!f->map || !f->holds || !f->valid || !f->worn || !f->next || !f->prev || !f->rings ||
	    !f->heads || !f->planes) {
		ftl_destroy(f);
		return NULL;
	}
	for (uint32_t i = 0; i < f->n_planes; i++)
		f->planes[i] = (struct plane){.open = FTL_NONE,
					      .idle = f->rings + (size_t)i * g->blocks,
					      .least = g->pages};
	for (uint32_t b = 0; b < f->n_blocks; b++)
		give_idle(f, b);
	return f;
}

void ftl_destroy(struct ftl *f)
{
	if (!f)
		return;
	free(f->map);
	free(f->holds);
	free(f->valid);
	free(f->worn);
	free(f->next);
	free(f->prev);
	free(f->rings);
	free(f->heads);
	free(f->planes);
	free(f);
}

uint32_t ftl_find(const struct ftl *f, uint32_t page)
{
	return f->map[page];
}

void ftl_trim(struct ftl *f, uint32_t page)
{
	uint32_t at = f->map[page], block = at / f->g.pages;
	struct plane *p;
	bool full;

	if (at == FTL_NONE)
		return;
	p = plane_of(f, block);
	full = block != p->open;
	if (full)
		take(f, block);
	f->valid[block]--;
	if (full)
		link_block(f, block);
	p->valid--;
	f->holds[at] = FTL_NONE;
	f->map[page] = FTL_NONE;
}

/*
 * Program the next page of a plane's open block with a logical page, and make it the page's only
 * place. After an error the flash page is unusable until an erase.
 */
static int place(struct ftl *f, struct plane *p, uint32_t page, uint32_t from)
{
	uint32_t block, at;
	int err;

	if (p->open == FTL_NONE) {
		p->open = p->idle[p->first_idle];
		p->first_idle = (p->first_idle + 1) % f->g.blocks;
		p->n_idle--;
		p->fill = 0;
	}
	block = p->open;
	at = block * f->g.pages + p->fill++;
	err = f->ops->program(f->ctx, at, from, page);
	if (!err) {
		ftl_trim(f, page);
		f->map[page] = at;
		f->holds[at] = page;
		f->valid[block]++;
		p->valid++;
	}
	if (p->fill == f->g.pages) {
		link_block(f, block);
		p->open = FTL_NONE;
	}
	return err;
}

/* The full block of a plane with the fewest valid pages; FTL_NONE: no block is full. */
static uint32_t fewest(const struct ftl *f, struct plane *p)
{
	const uint32_t *heads = &f->heads[(size_t)(p - f->planes) * (f->g.pages + 1)];

	while (p->least < f->g.pages && heads[p->least] == FTL_NONE)
		p->least++;
	return heads[p->least];
}

/* Copy the valid pages of a block, and erase it. */
static int collect(struct ftl *f, struct plane *p, uint32_t block)
{
	for (uint32_t at = block * f->g.pages; at < (block + 1) * f->g.pages; at++) {
		uint32_t page = f->holds[at];
		int err;

		if (page == FTL_NONE)
			continue;
		err = place(f, p, page, at);
		if (err)
			return err;
		f->copied++;
	}
	take(f, block);
	f->worn[block]++;
	f->erased++;
	f->ops->erase(f->ctx, block);
	give_idle(f, block);
	return 0;
}

/* Whether a block must be collected before the next write. */
static bool is_short(const struct plane *p)
{
	return p->open == FTL_NONE && p->n_idle <= FTL_FREE;
}

/* A plane full of valid pages cannot collect a block: skip it. */
static bool is_full(const struct ftl *f, const struct plane *p)
{
	return p->valid > (f->g.blocks - FTL_FREE - 1) * f->g.pages;
}

/* By ssd_geometry_check() some plane is not full. */
static struct plane *next_plane(const struct ftl *f)
{
	struct plane *best = NULL;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < f->n_planes && least; i++) {
		const uint32_t plane = (f->turn + i) % f->n_planes;
		const uint64_t busy = f->ops->busy ? f->ops->busy(f->ctx, plane) : 0;

		if (busy < least && !is_full(f, &f->planes[plane])) {
			best = &f->planes[plane];
			least = busy;
		}
	}
	return best;
}

bool ftl_collects(const struct ftl *f)
{
	return is_short(next_plane(f));
}

/* Restore the number of erased blocks between writes, after an interrupted collection. */
static int settle(struct ftl *f, struct plane *p)
{
	int err = 0;

	while (!err && p->n_idle < FTL_FREE) {
		uint32_t block = fewest(f, p), room = p->n_idle * f->g.pages;

		room += p->open == FTL_NONE ? 0 : f->g.pages - p->fill;
		if (block == FTL_NONE || f->valid[block] == f->g.pages || f->valid[block] > room)
			return -ENOSPC;
		err = collect(f, p, block);
	}
	return err;
}

int ftl_write(struct ftl *f, uint32_t page)
{
	struct plane *p = next_plane(f);
	int err = settle(f, p);

	while (!err && is_short(p))
		err = collect(f, p, fewest(f, p));
	if (!err)
		err = place(f, p, page, FTL_NONE);
	if (err)
		return err;
	f->turn = ((uint32_t)(p - f->planes) + 1) % f->n_planes;
	f->written++;
	return 0;
}

/* Restore a block. A partly programmed block with valid pages stays open, one in each plane. */
static void restore_block(struct ftl *f, uint32_t block, const struct ftl_found *found)
{
	struct plane *p = plane_of(f, block);
	uint32_t n = found->programmed[block];

	f->worn[block] = found->worn[block];
	for (uint32_t at = block * f->g.pages; at < block * f->g.pages + n; at++) {
		uint32_t page = found->holds[at];

		if (page == FTL_NONE)
			continue;
		f->map[page] = at;
		f->holds[at] = page;
		f->valid[block]++;
		p->valid++;
	}
	if (!n) {
		give_idle(f, block);
	} else if (n < f->g.pages && f->valid[block] && p->open == FTL_NONE) {
		p->open = block;
		p->fill = n;
	} else {
		link_block(f, block);
	}
}

int ftl_restore(struct ftl *f, const struct ftl_found *found)
{
	int err = 0;

	for (uint32_t i = 0; i < f->n_planes; i++)
		f->planes[i].n_idle = 0;
	for (uint32_t b = 0; b < f->n_blocks; b++)
		restore_block(f, b, found);
	for (uint32_t i = 0; !err && i < f->n_planes; i++)
		err = settle(f, &f->planes[i]);
	return err == -ENOSPC ? -EILSEQ : err;
}

uint32_t ftl_worn(const struct ftl *f, uint32_t block)
{
	return f->worn[block];
}

void ftl_get_stats(const struct ftl *f, struct ftl_stats *out)
{
	*out = (struct ftl_stats){.written = f->written,
				  .copied = f->copied,
				  .erased = f->erased,
				  .least_worn = UINT32_MAX};
	for (uint32_t i = 0; i < f->n_planes; i++)
		out->valid += f->planes[i].valid;
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		out->least_worn = f->worn[b] < out->least_worn ? f->worn[b] : out->least_worn;
		out->most_worn = f->worn[b] > out->most_worn ? f->worn[b] : out->most_worn;
	}
}

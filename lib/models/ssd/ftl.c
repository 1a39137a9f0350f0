// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ftl.h"

/*
 * struct ftl - A translation layer.
 * @blocks: its blocks.
 * @map: place of each logical page.
 * @holds: logical page of each place; FTL_NONE: erased or stale.
 * @turn: the plane to write next, if it is idle.
 */
struct ftl {
	struct ssd_geometry g;
	uint32_t n_planes, n_blocks, logical;
	struct flash_blocks *blocks;
	uint32_t *map, *holds;
	uint32_t turn;
	uint64_t written, copied, erased;
	const struct ftl_ops *ops;
	void *ctx;
};

static int move(void *ctx, uint32_t block);

static void erase(void *ctx, uint32_t block)
{
	struct ftl *f = ctx;

	f->erased++;
	f->ops->erase(f->ctx, block);
}

static const struct flash_ops flash_ops = {move, erase};

static uint32_t *empty(size_t n)
{
	uint32_t *at = malloc(n * sizeof(*at));

	return at ? memset(at, 0xff, n * sizeof(*at)) : NULL;
}

struct ftl *ftl_create(const struct ssd_geometry *g, uint32_t logical, const struct ftl_ops *ops,
		       void *ctx)
{
	const struct flash_size size = {ssd_planes(g), g->blocks, g->pages, 1};
	struct ftl *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->g = *g;
	f->n_planes = ssd_planes(g);
	f->n_blocks = ssd_blocks(g);
	f->logical = logical;
	f->ops = ops;
	f->ctx = ctx;
	f->blocks = annex_flash_create(&size, &flash_ops, f);
	f->map = empty(logical);
	f->holds = empty((size_t)f->n_blocks * g->pages);
	if (!f->blocks || !f->map || !f->holds) {
		ftl_destroy(f);
		return NULL;
	}
	return f;
}

void ftl_destroy(struct ftl *f)
{
	if (!f)
		return;
	annex_flash_destroy(f->blocks);
	free(f->map);
	free(f->holds);
	free(f);
}

uint32_t ftl_find(const struct ftl *f, uint32_t page)
{
	return f->map[page];
}

void ftl_trim(struct ftl *f, uint32_t page)
{
	uint32_t at = f->map[page];

	if (at == FTL_NONE)
		return;
	annex_flash_drop(f->blocks, at / f->g.pages, 1);
	f->holds[at] = FTL_NONE;
	f->map[page] = FTL_NONE;
}

/*
 * Program the next page of a plane's open block with a logical page, and make it the page's only
 * place. After an error the flash page is unusable until an erase.
 */
static int place(struct ftl *f, uint32_t plane, uint32_t page, uint32_t from)
{
	struct flash_room room = annex_flash_take(f->blocks, plane, 1);
	uint32_t at = room.block * f->g.pages + room.at;
	int err = f->ops->program(f->ctx, at, from, page);

	if (!err) {
		ftl_trim(f, page);
		f->map[page] = at;
		f->holds[at] = page;
		annex_flash_add(f->blocks, room.block, 1);
	}
	annex_flash_end(f->blocks, plane);
	return err;
}

/* Copy the valid pages of a block. */
static int move(void *ctx, uint32_t block)
{
	struct ftl *f = ctx;

	for (uint32_t at = block * f->g.pages; at < (block + 1) * f->g.pages; at++) {
		uint32_t page = f->holds[at];
		int err;

		if (page == FTL_NONE)
			continue;
		err = place(f, block / f->g.blocks, page, at);
		if (err)
			return err;
		f->copied++;
	}
	return 0;
}

/* By ssd_geometry_check() some plane is not full. */
static uint32_t next_plane(const struct ftl *f)
{
	uint32_t best = 0;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < f->n_planes && least; i++) {
		const uint32_t plane = (f->turn + i) % f->n_planes;
		const uint64_t busy = f->ops->busy ? f->ops->busy(f->ctx, plane) : 0;

		if (busy < least && !annex_flash_full(f->blocks, plane)) {
			best = plane;
			least = busy;
		}
	}
	return best;
}

bool ftl_collects(const struct ftl *f)
{
	return annex_flash_short(f->blocks, next_plane(f));
}

int ftl_write(struct ftl *f, uint32_t page)
{
	uint32_t plane = next_plane(f);
	int err = annex_flash_make_room(f->blocks, plane);

	if (!err)
		err = place(f, plane, page, FTL_NONE);
	if (err)
		return err;
	f->turn = (plane + 1) % f->n_planes;
	f->written++;
	return 0;
}

static void restore_block(struct ftl *f, uint32_t block, const struct ftl_found *found)
{
	uint32_t n = found->programmed[block], valid = 0;

	for (uint32_t at = block * f->g.pages; at < block * f->g.pages + n; at++) {
		uint32_t page = found->holds[at];

		if (page == FTL_NONE)
			continue;
		f->map[page] = at;
		f->holds[at] = page;
		valid++;
	}
	annex_flash_found(f->blocks, block, n, valid, found->worn[block]);
}

int ftl_restore(struct ftl *f, const struct ftl_found *found)
{
	int err = 0;

	for (uint32_t b = 0; b < f->n_blocks; b++)
		restore_block(f, b, found);
	for (uint32_t i = 0; !err && i < f->n_planes; i++)
		err = annex_flash_settle(f->blocks, i);
	return err == -ENOSPC ? -EILSEQ : err;
}

uint32_t ftl_worn(const struct ftl *f, uint32_t block)
{
	return annex_flash_worn(f->blocks, block);
}

void ftl_get_stats(const struct ftl *f, struct ftl_stats *out)
{
	*out = (struct ftl_stats){.written = f->written,
				  .copied = f->copied,
				  .erased = f->erased,
				  .least_worn = UINT32_MAX,
				  .valid = (uint32_t)annex_flash_valid(f->blocks)};
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		uint32_t worn = ftl_worn(f, b);

		out->least_worn = worn < out->least_worn ? worn : out->least_worn;
		out->most_worn = worn > out->most_worn ? worn : out->most_worn;
	}
}

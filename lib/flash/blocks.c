// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "blocks.h"

/*
 * struct plane - A plane.
 * @open: the open block, or FLASH_NONE.
 * @fill: written units of it.
 * @idle: erased blocks, a ring with room for all blocks.
 * @first_idle: index of the first one.
 * @n_idle: number of erased blocks.
 * @valid: valid units.
 * @least: lower bound of the list of a full block.
 */
struct plane {
	uint32_t open, fill;
	uint32_t *idle;
	uint32_t first_idle, n_idle;
	uint64_t valid;
	uint32_t least;
};

/*
 * struct flash_blocks - Blocks of flash.
 * @lists: lists of a plane's full blocks: one for each @step of valid units.
 * @valid: valid units of each block.
 * @worn: erases of each block.
 * @heads: lists, by @next and @prev, of the full blocks of each plane.
 */
struct flash_blocks {
	struct flash_size size;
	uint32_t lists;
	uint32_t *valid, *worn, *next, *prev, *heads, *rings;
	struct plane *planes;
	const struct flash_ops *ops;
	void *ctx;
};

static struct plane *plane_of(const struct flash_blocks *f, uint32_t block)
{
	return &f->planes[block / f->size.blocks];
}

static uint32_t list_of(const struct flash_blocks *f, uint32_t block)
{
	return f->valid[block] / f->size.step;
}

static uint32_t *head_of(const struct flash_blocks *f, uint32_t block)
{
	return &f->heads[(size_t)(block / f->size.blocks) * f->lists + list_of(f, block)];
}

static void link_block(struct flash_blocks *f, uint32_t block)
{
	struct plane *p = plane_of(f, block);
	uint32_t *head = head_of(f, block);

	f->next[block] = *head;
	f->prev[block] = FLASH_NONE;
	if (*head != FLASH_NONE)
		f->prev[*head] = block;
	*head = block;
	if (list_of(f, block) < p->least)
		p->least = list_of(f, block);
}

static void unlink_block(struct flash_blocks *f, uint32_t block)
{
	uint32_t next = f->next[block], prev = f->prev[block];

	if (prev == FLASH_NONE)
		*head_of(f, block) = next;
	else
		f->next[prev] = next;
	if (next != FLASH_NONE)
		f->prev[next] = prev;
}

static void give_idle(struct flash_blocks *f, uint32_t block)
{
	struct plane *p = plane_of(f, block);

	p->idle[(p->first_idle + p->n_idle++) % f->size.blocks] = block;
}

struct flash_blocks *annex_flash_create(const struct flash_size *size, const struct flash_ops *ops,
					void *ctx)
{
	size_t n = (size_t)size->planes * size->blocks, heads;
	struct flash_blocks *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->size = *size;
	f->lists = size->units / size->step + 1;
	f->ops = ops;
	f->ctx = ctx;
	heads = (size_t)size->planes * f->lists;
	f->valid = calloc(n, sizeof(*f->valid));
	f->worn = calloc(n, sizeof(*f->worn));
	f->next = calloc(n, sizeof(*f->next));
	f->prev = calloc(n, sizeof(*f->prev));
	f->rings = calloc(n, sizeof(*f->rings));
	f->heads = malloc(heads * sizeof(*f->heads));
	f->planes = calloc(size->planes, sizeof(*f->planes));
	if (!f->valid || !f->worn || !f->next || !f->prev || !f->rings || !f->heads || !f->planes) {
		annex_flash_destroy(f);
		return NULL;
	}
	memset(f->heads, 0xff, heads * sizeof(*f->heads));
	for (uint32_t i = 0; i < size->planes; i++)
		f->planes[i] = (struct plane){.open = FLASH_NONE,
					      .idle = f->rings + (size_t)i * size->blocks,
					      .least = f->lists - 1};
	for (uint32_t b = 0; b < n; b++)
		give_idle(f, b);
	return f;
}

void annex_flash_destroy(struct flash_blocks *f)
{
	if (!f)
		return;
	free(f->valid);
	free(f->worn);
	free(f->next);
	free(f->prev);
	free(f->rings);
	free(f->heads);
	free(f->planes);
	free(f);
}

struct flash_room annex_flash_take(struct flash_blocks *f, uint32_t plane, uint32_t most)
{
	struct plane *p = &f->planes[plane];
	struct flash_room room;

	if (p->open == FLASH_NONE) {
		p->open = p->idle[p->first_idle];
		p->first_idle = (p->first_idle + 1) % f->size.blocks;
		p->n_idle--;
		p->fill = 0;
	}
	room = (struct flash_room){p->open, p->fill, f->size.units - p->fill};
	if (room.units > most)
		room.units = most;
	p->fill += room.units;
	return room;
}

void annex_flash_add(struct flash_blocks *f, uint32_t block, uint32_t units)
{
	f->valid[block] += units;
	plane_of(f, block)->valid += units;
}

void annex_flash_drop(struct flash_blocks *f, uint32_t block, uint32_t units)
{
	struct plane *p = plane_of(f, block);
	bool full = block != p->open;

	if (full)
		unlink_block(f, block);
	f->valid[block] -= units;
	if (full)
		link_block(f, block);
	p->valid -= units;
}

void annex_flash_end(struct flash_blocks *f, uint32_t plane)
{
	struct plane *p = &f->planes[plane];

	if (p->fill < f->size.units)
		return;
	link_block(f, p->open);
	p->open = FLASH_NONE;
}

/* The full block of a plane with the fewest valid units; FLASH_NONE: no block is full. */
static uint32_t fewest(const struct flash_blocks *f, struct plane *p)
{
	const uint32_t *heads = &f->heads[(size_t)(p - f->planes) * f->lists];

	while (p->least < f->lists - 1 && heads[p->least] == FLASH_NONE)
		p->least++;
	return heads[p->least];
}

static int collect(struct flash_blocks *f, uint32_t block)
{
	int err = f->ops->move(f->ctx, block);

	if (err)
		return err;
	unlink_block(f, block);
	f->worn[block]++;
	if (f->ops->erase)
		f->ops->erase(f->ctx, block);
	give_idle(f, block);
	return 0;
}

bool annex_flash_short(const struct flash_blocks *f, uint32_t plane)
{
	const struct plane *p = &f->planes[plane];

	return p->open == FLASH_NONE && p->n_idle <= FLASH_FREE;
}

bool annex_flash_full(const struct flash_blocks *f, uint32_t plane)
{
	return f->planes[plane].valid > (uint64_t)(f->size.blocks - FLASH_FREE - 1) * f->size.units;
}

int annex_flash_settle(struct flash_blocks *f, uint32_t plane)
{
	struct plane *p = &f->planes[plane];
	int err = 0;

	while (!err && p->n_idle < FLASH_FREE) {
		uint64_t room = (uint64_t)p->n_idle * f->size.units;
		uint32_t block = fewest(f, p);

		room += p->open == FLASH_NONE ? 0 : f->size.units - p->fill;
		if (block == FLASH_NONE || f->valid[block] == f->size.units ||
		    f->valid[block] > room)
			return -ENOSPC;
		err = collect(f, block);
	}
	return err;
}

int annex_flash_make_room(struct flash_blocks *f, uint32_t plane)
{
	int err = annex_flash_settle(f, plane);

	while (!err && annex_flash_short(f, plane))
		err = collect(f, fewest(f, &f->planes[plane]));
	return err;
}

void annex_flash_found(struct flash_blocks *f, uint32_t block, uint32_t written, uint32_t valid,
		       uint32_t worn)
{
	struct plane *p = plane_of(f, block);

	if (block % f->size.blocks == 0)
		p->n_idle = 0;
	f->worn[block] = worn;
	annex_flash_add(f, block, valid);
	if (!written) {
		give_idle(f, block);
	} else if (written < f->size.units && valid && p->open == FLASH_NONE) {
		p->open = block;
		p->fill = written;
	} else {
		link_block(f, block);
	}
}

uint32_t annex_flash_worn(const struct flash_blocks *f, uint32_t block)
{
	return f->worn[block];
}

uint64_t annex_flash_valid(const struct flash_blocks *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->size.planes; i++)
		sum += f->planes[i].valid;
	return sum;
}

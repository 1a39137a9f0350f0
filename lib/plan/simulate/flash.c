// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/array.h"
#include "core/least.h"
#include "flash.h"
#include "flash/blocks.h"

#define NONE UINT32_MAX
#define SPARE (FLASH_FREE + 1) /* blocks, at least */

/*
 * struct run - Bytes of an owner, one after the other in a block.
 * @at: the first one in it.
 * @next: the owner's next run, in the order of writing; or the next run that is not in use.
 * @before, @after: of the same block, in the order of places.
 */
struct run {
	uint32_t owner, block, at, bytes;
	uint32_t next, before, after;
};

/* struct list - Its first run and its last run, or NONE. */
struct list {
	uint32_t first, last;
};

struct flash {
	struct flash_blocks *blocks;
	uint32_t n_blocks;
	struct list *in, *of; /* runs in each block, and of each owner */
	struct run *runs;
	uint32_t n_runs, most_runs, unused; /* the first of the runs that are not in use */
	uint64_t *copied;
};

static int move(void *ctx, uint32_t block);

static void erase(void *ctx, uint32_t block)
{
	struct flash *f = ctx;

	f->in[block] = (struct list){NONE, NONE};
}

static const struct flash_ops ops = {move, erase};

static struct list *lists(size_t n)
{
	struct list *l = malloc((n + 1) * sizeof(*l));

	for (size_t i = 0; l && i < n; i++)
		l[i] = (struct list){NONE, NONE};
	return l;
}

struct flash *flash_create(uint64_t bytes, uint64_t spare, uint32_t owners)
{
	uint64_t shown = (bytes + FLASH_BLOCK - 1) / FLASH_BLOCK;
	uint64_t more = spare / FLASH_BLOCK;
	struct flash_size size = {1, (uint32_t)(shown + (more > SPARE ? more : SPARE)), FLASH_BLOCK,
				  FLASH_PAGE};
	struct flash *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->n_blocks = size.blocks;
	f->unused = NONE;
	f->blocks = annex_flash_create(&size, &ops, f);
	f->in = lists(size.blocks);
	f->of = lists(owners);
	if (!f->blocks || !f->in || !f->of) {
		flash_destroy(f);
		return NULL;
	}
	return f;
}

void flash_destroy(struct flash *f)
{
	if (!f)
		return;
	annex_flash_destroy(f->blocks);
	free(f->in);
	free(f->of);
	free(f->runs);
	free(f);
}

/* A new run, which belongs to no block yet. NONE: out of memory. */
static uint32_t new_run(struct flash *f, uint32_t owner)
{
	uint32_t i = f->unused;

	if (i != NONE)
		f->unused = f->runs[i].next;
	else if (array_grow(f->runs, f->n_runs, f->most_runs))
		i = f->n_runs++;
	if (i != NONE)
		f->runs[i] = (struct run){.owner = owner, .next = NONE};
	return i;
}

/* A run's first bytes go to the end of a block. */
static void settle(struct flash *f, uint32_t i, const struct flash_room *room)
{
	struct run *r = &f->runs[i];
	struct list *in = &f->in[room->block];

	r->block = room->block;
	r->at = room->at;
	r->bytes = room->units;
	r->before = in->last;
	r->after = NONE;
	if (in->last == NONE)
		in->first = i;
	else
		f->runs[in->last].after = i;
	in->last = i;
	annex_flash_add(f->blocks, room->block, room->units);
	annex_flash_end(f->blocks, 0);
}

static void leave(struct flash *f, const struct run *r)
{
	struct list *in = &f->in[r->block];

	if (r->before == NONE)
		in->first = r->after;
	else
		f->runs[r->before].after = r->after;
	if (r->after == NONE)
		in->last = r->before;
	else
		f->runs[r->after].before = r->before;
}

/* The first run of a block goes to the open block, or to two of them. */
static int copy(struct flash *f, uint32_t i)
{
	struct run old = f->runs[i];
	struct flash_room room = annex_flash_take(f->blocks, 0, old.bytes);
	uint32_t rest = old.bytes - room.units, other = rest ? new_run(f, old.owner) : i;

	if (other == NONE)
		return -ENOMEM;
	leave(f, &old);
	annex_flash_drop(f->blocks, old.block, old.bytes);
	settle(f, i, &room);
	if (!rest)
		return 0;
	f->runs[other].next = old.next;
	f->runs[i].next = other;
	if (f->of[old.owner].last == i)
		f->of[old.owner].last = other;
	/* An erased block has room for the rest. */
	room = annex_flash_take(f->blocks, 0, rest);
	settle(f, other, &room);
	return 0;
}

static int move(void *ctx, uint32_t block)
{
	struct flash *f = ctx;
	int err = 0;

	while (!err && f->in[block].first != NONE) {
		*f->copied += f->runs[f->in[block].first].bytes;
		err = copy(f, f->in[block].first);
	}
	return err;
}

/* Bytes behind an owner's others. */
static int append(struct flash *f, uint32_t owner, const struct flash_room *room)
{
	struct list *of = &f->of[owner];
	struct run *last = of->last == NONE ? NULL : &f->runs[of->last];
	uint32_t i;

	if (last && last->block == room->block && last->at + last->bytes == room->at) {
		last->bytes += room->units;
		annex_flash_add(f->blocks, room->block, room->units);
		annex_flash_end(f->blocks, 0);
		return 0;
	}
	i = new_run(f, owner);
	if (i == NONE)
		return -ENOMEM;
	if (of->last == NONE)
		of->first = i;
	else
		f->runs[of->last].next = i;
	of->last = i;
	settle(f, i, room);
	return 0;
}

int flash_write(struct flash *f, uint32_t owner, uint64_t bytes, uint64_t *copied)
{
	int err = 0;

	f->copied = copied;
	while (!err && bytes) {
		struct flash_room room;

		err = annex_flash_make_room(f->blocks, 0);
		if (err)
			return err;
		room = annex_flash_take(f->blocks, 0, (uint32_t)least(bytes, FLASH_BLOCK));
		bytes -= room.units;
		err = append(f, owner, &room);
	}
	return err;
}

void flash_trim(struct flash *f, uint32_t owner, uint64_t bytes)
{
	struct list *of = &f->of[owner];

	while (bytes && of->first != NONE) {
		uint32_t i = of->first;
		struct run *r = &f->runs[i];
		uint32_t n = (uint32_t)least(bytes, r->bytes);

		annex_flash_drop(f->blocks, r->block, n);
		r->at += n;
		r->bytes -= n;
		bytes -= n;
		if (r->bytes)
			return;
		leave(f, r);
		of->first = r->next;
		if (of->first == NONE)
			of->last = NONE;
		r->next = f->unused;
		f->unused = i;
	}
}

uint64_t flash_valid(const struct flash *f)
{
	return annex_flash_valid(f->blocks);
}

uint64_t flash_total(const struct flash *f)
{
	return (uint64_t)f->n_blocks * FLASH_BLOCK;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/array.h"
#include "core/least.h"
#include "flash/blocks.h"
#include "ptes.h"

#define NONE PTE_NONE
#define SPARE (FLASH_FREE + 1) /* blocks, at least */

/* struct content - The first run and the last run in a block, or NONE. */
struct content {
	uint32_t first, last;
};

/* struct pte_flash - The flash of an SSD, which is one plane. */
struct pte_flash {
	struct ptes *ptes;
	struct flash_blocks *blocks;
	struct content *in;
	uint32_t n_blocks;
};

static int move(void *ctx, uint32_t block);

static const struct flash_ops ops = {move, NULL};

static int init_flash(struct ptes *t, struct pte_flash *f, const struct annex_system *sys)
{
	uint64_t shown = (sys->ssd_bytes + PTE_BLOCK - 1) / PTE_BLOCK;
	uint64_t more = sys->ssd_spare / PTE_BLOCK;
	struct flash_size size = {1, (uint32_t)(shown + (more > SPARE ? more : SPARE)), PTE_BLOCK,
				  PTE_PAGE};

	f->ptes = t;
	f->n_blocks = size.blocks;
	f->blocks = annex_flash_create(&size, &ops, f);
	f->in = malloc(size.blocks * sizeof(*f->in));
	if (!f->blocks || !f->in)
		return -ENOMEM;
	for (uint32_t i = 0; i < size.blocks; i++)
		f->in[i] = (struct content){NONE, NONE};
	return 0;
}

int ptes_init(struct ptes *t, uint32_t tensors, const struct annex_system *sys)
{
	uint32_t lists = ptes_lists(sys);
	int err = 0;

	*t = (struct ptes){.unused = NONE};
	t->lists = malloc(((size_t)tensors * lists + 1) * sizeof(*t->lists));
	if (!t->lists)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)tensors * lists; i++)
		t->lists[i] = (struct pte_list){.first = NONE,
						.last = NONE,
						.went = NONE,
						.tier = (uint8_t)((i % lists + 1) / 2),
						.out = i % lists && i % lists % 2 == 0};
	if (!sys->ssd_bytes)
		return 0;
	t->flash = calloc(ANNEX_MAX_SSDS, sizeof(*t->flash));
	if (!t->flash)
		return -ENOMEM;
	for (uint32_t i = 0; i < sys->ssds && !err; i++)
		err = init_flash(t, &t->flash[i], sys);
	return err;
}

void ptes_free(struct ptes *t)
{
	for (uint32_t i = 0; t->flash && i < ANNEX_MAX_SSDS; i++) {
		annex_flash_destroy(t->flash[i].blocks);
		free(t->flash[i].in);
	}
	free(t->flash);
	free(t->runs);
	free(t->lists);
}

/* The flash of a tier; NULL: it has none, or no limit. */
static struct pte_flash *flash_of(const struct ptes *t, unsigned int tier)
{
	return t->flash && tier >= ANNEX_TIER_SSD ? &t->flash[tier - ANNEX_TIER_SSD] : NULL;
}

/* A new run in no list and in no block. NONE: out of memory. */
static uint32_t new_run(struct ptes *t, uint64_t first, uint64_t bytes)
{
	uint32_t i = t->unused;

	if (i != NONE)
		t->unused = t->runs[i].next;
	else if (array_grow(t->runs, t->n_runs, t->most_runs))
		i = t->n_runs++;
	if (i != NONE)
		t->runs[i] = (struct pte_run){.first = first, .bytes = bytes, .block = NONE};
	return i;
}

static void delete_run(struct ptes *t, uint32_t i)
{
	t->runs[i].next = t->unused;
	t->unused = i;
}

/* A run goes behind another one of a list, or to its front (NONE). Sums do not change. */
static void link_run(struct ptes *t, struct pte_list *list, uint32_t i, uint32_t behind)
{
	struct pte_run *r = &t->runs[i];

	r->list = list;
	r->prev = behind;
	r->next = behind == NONE ? list->first : t->runs[behind].next;
	*(behind == NONE ? &list->first : &t->runs[behind].next) = i;
	*(r->next == NONE ? &list->last : &t->runs[r->next].prev) = i;
}

static void unlink_run(struct ptes *t, uint32_t i)
{
	struct pte_run *r = &t->runs[i];

	*(r->prev == NONE ? &r->list->first : &t->runs[r->prev].next) = r->next;
	*(r->next == NONE ? &r->list->last : &t->runs[r->next].prev) = r->prev;
	r->list = NULL;
}

/* A run goes behind another one of a block, or to its front. */
static void enter_block(struct pte_flash *f, uint32_t block, uint32_t i, uint32_t behind)
{
	struct pte_run *runs = f->ptes->runs, *r = &runs[i];
	struct content *in = &f->in[block];

	r->block = block;
	r->before = behind;
	r->after = behind == NONE ? in->first : runs[behind].after;
	*(behind == NONE ? &in->first : &runs[behind].after) = i;
	*(r->after == NONE ? &in->last : &runs[r->after].before) = i;
}

static void leave_block(struct pte_flash *f, uint32_t i)
{
	struct pte_run *runs = f->ptes->runs, *r = &runs[i];
	struct content *in = &f->in[r->block];

	*(r->before == NONE ? &in->first : &runs[r->before].after) = r->after;
	*(r->after == NONE ? &in->last : &runs[r->after].before) = r->before;
	r->block = NONE;
}

/* The first bytes of a run become one by themselves. NONE: out of memory. */
static uint32_t split(struct ptes *t, struct pte_flash *f, uint32_t i, uint64_t bytes)
{
	uint32_t front = new_run(t, t->runs[i].first, bytes);
	struct pte_run *r = &t->runs[i];

	if (front == NONE)
		return NONE;
	link_run(t, r->list, front, r->prev);
	if (r->block != NONE) {
		t->runs[front].at = r->at;
		enter_block(f, r->block, front, r->before);
	}
	r->first += bytes;
	r->bytes -= bytes;
	r->at += (uint32_t)bytes;
	return front;
}

/* Two runs of a list, one behind the other, become one if their places are consecutive, too. */
static void join(struct ptes *t, struct pte_flash *f, uint32_t a, uint32_t b)
{
	struct pte_run *x = &t->runs[a], *y = &t->runs[b];

	if (a == NONE || b == NONE || x->first + x->bytes != y->first || x->block != y->block ||
	    (x->block != NONE && x->at + x->bytes != y->at))
		return;
	x->bytes += y->bytes;
	unlink_run(t, b);
	if (y->block != NONE)
		leave_block(f, b);
	delete_run(t, b);
}

/* A run joins its neighbours. Returns the run that has its bytes then. */
static uint32_t join_both(struct ptes *t, struct pte_flash *f, uint32_t i)
{
	uint32_t prev = t->runs[i].prev;

	join(t, f, i, t->runs[i].next);
	join(t, f, prev, i);
	return t->runs[i].list ? i : prev;
}

/*
 * Bytes are often added in their order, and several SSDs take turns: the search for the place
 * begins at the run to which bytes of @from went last, or at the end.
 */
static void insert(struct ptes *t, struct pte_list *list, uint32_t i, struct pte_list *from)
{
	const uint64_t first = t->runs[i].first;
	uint32_t behind = list->last, next;

	if (from->went != NONE && t->runs[from->went].list == list)
		behind = from->went;
	while (behind != NONE && t->runs[behind].first > first)
		behind = t->runs[behind].prev;
	next = behind == NONE ? list->first : t->runs[behind].next;
	for (; next != NONE && t->runs[next].first < first; next = t->runs[next].next)
		behind = next;
	link_run(t, list, i, behind);
	list->bytes += t->runs[i].bytes;
	from->went = join_both(t, flash_of(t, list->tier), i);
}

/* A run is written to the next bytes of flash. */
static void settle(struct pte_flash *f, uint32_t i, const struct flash_room *room)
{
	f->ptes->runs[i].at = room->at;
	enter_block(f, room->block, i, f->in[room->block].last);
	annex_flash_add(f->blocks, room->block, room->units);
	annex_flash_end(f->blocks, 0);
}

static void release(struct pte_flash *f, uint32_t i)
{
	const struct pte_run *r = &f->ptes->runs[i];

	annex_flash_drop(f->blocks, r->block, (uint32_t)r->bytes);
	leave_block(f, i);
}

/* The first run of a block, or as much of it as the open block has room for, goes there. */
static int move_first(struct pte_flash *f, uint32_t block)
{
	struct ptes *t = f->ptes;
	uint32_t i = f->in[block].first;
	struct flash_room room = annex_flash_take(f->blocks, 0, (uint32_t)t->runs[i].bytes);

	if (room.units < t->runs[i].bytes)
		i = split(t, f, i, room.units);
	if (i == NONE)
		return -ENOMEM;
	release(f, i);
	settle(f, i, &room);
	t->copied += room.units;
	if (t->runs[i].list->out)
		t->updated += (room.units + PTE_PAGE - 1) / PTE_PAGE;
	join(t, f, t->runs[i].prev, i);
	return 0;
}

static int move(void *ctx, uint32_t block)
{
	struct pte_flash *f = ctx;
	int err = 0;

	while (!err && f->in[block].first != NONE)
		err = move_first(f, block);
	return err;
}

/* A run of no list, in no block, goes to a list, by way of flash if its tier has that. */
static int put(struct ptes *t, struct pte_list *to, uint32_t i, struct pte_list *from)
{
	struct pte_flash *f = flash_of(t, to->tier);
	int err = 0;

	while (f && !err) {
		uint64_t bytes = t->runs[i].bytes;
		struct flash_room room;
		uint32_t rest;

		err = annex_flash_make_room(f->blocks, 0);
		if (err)
			return err;
		room = annex_flash_take(f->blocks, 0, (uint32_t)least(bytes, PTE_BLOCK));
		rest = room.units == bytes
			       ? NONE
			       : new_run(t, t->runs[i].first + room.units, bytes - room.units);
		if (room.units != bytes && rest == NONE)
			return -ENOMEM;
		t->runs[i].bytes = room.units;
		settle(f, i, &room);
		if (rest == NONE)
			break;
		insert(t, to, i, from);
		i = rest;
	}
	insert(t, to, i, from);
	return err;
}

int ptes_add(struct ptes *t, struct pte_list *to, uint64_t bytes)
{
	uint32_t i = new_run(t, 0, bytes);

	return i == NONE ? -ENOMEM : put(t, to, i, to);
}

/* Take the first run of a list, or some of its bytes, out of the list. NONE: out of memory. */
static uint32_t take(struct ptes *t, struct pte_list *from, uint64_t bytes)
{
	uint32_t i = from->first;

	if (t->runs[i].bytes > bytes)
		i = split(t, flash_of(t, from->tier), i, bytes);
	if (i == NONE)
		return NONE;
	unlink_run(t, i);
	from->bytes -= t->runs[i].bytes;
	return i;
}

int ptes_move(struct ptes *t, struct pte_list *from, struct pte_list *to, uint64_t bytes)
{
	int err = 0;

	while (!err && bytes && from->first != NONE) {
		uint32_t i = take(t, from, bytes);

		if (i == NONE)
			return -ENOMEM;
		bytes -= t->runs[i].bytes;
		if (from->tier == to->tier) {
			insert(t, to, i, from);
			continue;
		}
		if (t->runs[i].block != NONE)
			release(flash_of(t, from->tier), i);
		err = put(t, to, i, from);
	}
	return err;
}

int ptes_drop(struct ptes *t, struct pte_list *from, uint64_t bytes)
{
	while (bytes && from->first != NONE) {
		uint32_t i = take(t, from, bytes);

		if (i == NONE)
			return -ENOMEM;
		bytes -= t->runs[i].bytes;
		if (t->runs[i].block != NONE)
			release(flash_of(t, from->tier), i);
		delete_run(t, i);
	}
	return 0;
}

uint64_t ptes_flash_bytes(const struct ptes *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; t->flash && i < ANNEX_MAX_SSDS; i++)
		sum += (uint64_t)t->flash[i].n_blocks * PTE_BLOCK;
	return sum;
}

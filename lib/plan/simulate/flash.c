// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/array.h"
#include "core/least.h"
#include "flash.h"

#define NONE UINT32_MAX
#define SPARE 3u /* blocks, at least: one open, and the free ones */

/* struct part - Bytes of an owner in a block; a list of each owner in the order of writing. */
struct part {
	uint64_t bytes;
	uint32_t block, next;
};

struct owner {
	uint32_t first, last;
};

enum { IDLE, OPEN, CLOSED };

struct flash {
	uint32_t n_blocks, n_idle, n_owners;
	uint64_t *valid; /* bytes of each block */
	uint8_t *state;
	uint32_t *idle; /* blocks that are erased, @n_idle of them */
	uint32_t open;
	uint64_t fill; /* bytes written to the open one */
	struct owner *owners;
	struct part *parts;
	uint32_t n_parts, most_parts, unused; /* the first of the parts that are not in use */
};

static void open_block(struct flash *f)
{
	f->open = f->idle[--f->n_idle];
	f->state[f->open] = OPEN;
	f->fill = 0;
}

struct flash *flash_create(uint64_t bytes, uint64_t spare, uint32_t owners)
{
	uint64_t shown = (bytes + FLASH_BLOCK - 1) / FLASH_BLOCK;
	uint64_t more = spare / FLASH_BLOCK;
	struct flash *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->n_blocks = (uint32_t)(shown + (more > SPARE ? more : SPARE));
	f->n_owners = owners;
	f->unused = NONE;
	f->valid = calloc(f->n_blocks, sizeof(*f->valid));
	f->state = calloc(f->n_blocks, sizeof(*f->state));
	f->idle = calloc(f->n_blocks, sizeof(*f->idle));
	f->owners = calloc((size_t)owners + 1, sizeof(*f->owners));
	if (!f->valid || !f->state || !f->idle || !f->owners) {
		flash_destroy(f);
		return NULL;
	}
	for (uint32_t i = 0; i < owners; i++)
		f->owners[i] = (struct owner){NONE, NONE};
	for (uint32_t i = f->n_blocks; i--;)
		f->idle[f->n_idle++] = i;
	open_block(f);
	return f;
}

void flash_destroy(struct flash *f)
{
	if (!f)
		return;
	free(f->valid);
	free(f->state);
	free(f->idle);
	free(f->owners);
	free(f->parts);
	free(f);
}

/* The one that costs the least to clear. */
static uint32_t victim(const struct flash *f)
{
	uint32_t best = NONE;

	for (uint32_t i = 0; i < f->n_blocks; i++)
		if (f->state[i] == CLOSED && (best == NONE || f->valid[i] < f->valid[best]))
			best = i;
	return best;
}

/*
 * Its valid bytes go to the open block, which is empty: closed blocks are more than the valid bytes
 * fill, so that one of them has room for less than a block.
 */
static void collect(struct flash *f, uint32_t block, uint64_t *copied)
{
	for (uint32_t o = 0; f->valid[block] && o < f->n_owners; o++) {
		for (uint32_t i = f->owners[o].first; i != NONE; i = f->parts[i].next) {
			struct part *p = &f->parts[i];

			if (p->block != block)
				continue;
			p->block = f->open;
			f->valid[block] -= p->bytes;
			f->valid[f->open] += p->bytes;
			f->fill += p->bytes;
			*copied += p->bytes;
		}
	}
	f->state[block] = IDLE;
	f->idle[f->n_idle++] = block;
}

/* The open block is full. */
static void next_block(struct flash *f, uint64_t *copied)
{
	f->state[f->open] = CLOSED;
	open_block(f);
	while (f->n_idle < FLASH_FREE)
		collect(f, victim(f), copied);
}

/* A part behind an owner's others. NULL: out of memory. */
static struct part *new_part(struct flash *f, struct owner *o)
{
	uint32_t i = f->unused;

	if (i != NONE)
		f->unused = f->parts[i].next;
	else if (array_grow(f->parts, f->n_parts, f->most_parts))
		i = f->n_parts++;
	else
		return NULL;
	f->parts[i] = (struct part){.block = f->open, .next = NONE};
	if (o->last == NONE)
		o->first = i;
	else
		f->parts[o->last].next = i;
	o->last = i;
	return &f->parts[i];
}

int flash_write(struct flash *f, uint32_t owner, uint64_t bytes, uint64_t *copied)
{
	struct owner *o = &f->owners[owner];

	while (bytes) {
		struct part *p;
		uint64_t n;

		if (f->fill == FLASH_BLOCK)
			next_block(f, copied);
		p = o->last == NONE ? NULL : &f->parts[o->last];
		if (!p || p->block != f->open)
			p = new_part(f, o);
		if (!p)
			return -ENOMEM;
		n = least(bytes, FLASH_BLOCK - f->fill);
		p->bytes += n;
		f->valid[f->open] += n;
		f->fill += n;
		bytes -= n;
	}
	return 0;
}

void flash_trim(struct flash *f, uint32_t owner, uint64_t bytes)
{
	struct owner *o = &f->owners[owner];

	while (bytes && o->first != NONE) {
		uint32_t i = o->first;
		struct part *p = &f->parts[i];
		uint64_t n = least(bytes, p->bytes);

		p->bytes -= n;
		f->valid[p->block] -= n;
		bytes -= n;
		if (p->bytes)
			return;
		o->first = p->next;
		if (o->first == NONE)
			o->last = NONE;
		p->next = f->unused;
		f->unused = i;
	}
}

uint64_t flash_valid(const struct flash *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->n_blocks; i++)
		sum += f->valid[i];
	return sum;
}

uint64_t flash_total(const struct flash *f)
{
	return f->n_blocks * FLASH_BLOCK;
}

/* SPDX-License-Identifier: MIT */
/*
 * Blocks of flash, as a translation layer accounts for them: which ones are erased, open or full,
 * how much of each is valid, where the next write goes, and which block is collected. The user
 * knows what each block contains, and maps addresses to it.
 *
 * Flash has planes of blocks of units: pages, or bytes. A write goes to the open block of a plane.
 * When a plane has few erased blocks, garbage collection takes the full block with the fewest valid
 * units (greedy), has the user move these, and erases the block. One thread at a time.
 */
#ifndef ANNEX_FLASH_BLOCKS_H
#define ANNEX_FLASH_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Erased blocks that each plane keeps: one to open while another block is collected, and a second
 * one, since a collection that was cut off by a loss of power has used the first.
 */
#define FLASH_FREE 2u
#define FLASH_NONE UINT32_MAX

struct flash_blocks;

/**
 * struct flash_ops - Operations of the user, called by annex_flash_make_room() and
 * annex_flash_settle().
 * @move: move all valid units of a full block to the open block of its plane, by
 *	annex_flash_take(), annex_flash_drop(), annex_flash_add() and annex_flash_end().
 * @erase: a block is erased; it has no valid units. May be NULL.
 */
struct flash_ops {
	int (*move)(void *ctx, uint32_t block);
	void (*erase)(void *ctx, uint32_t block);
};

/**
 * struct flash_size - Blocks are numbered plane by plane.
 * @planes: number of planes.
 * @blocks: blocks of a plane.
 * @units: units of a block.
 * @step: units by which collection tells blocks apart; a divisor of @units.
 */
struct flash_size {
	uint32_t planes, blocks, units, step;
};

/* annex_flash_create() - Erased flash. NULL: out of memory. */
struct flash_blocks *annex_flash_create(const struct flash_size *size, const struct flash_ops *ops,
					void *ctx);
void annex_flash_destroy(struct flash_blocks *f);

/**
 * struct flash_room - Units to write.
 * @block: an open block.
 * @at: the first unit in it.
 * @units: number of units.
 */
struct flash_room {
	uint32_t block, at, units;
};

/* annex_flash_take() - The next units of a plane's open block, @most of them or fewer. Opens an
 * erased block if no block is open. The units are not valid yet. */
struct flash_room annex_flash_take(struct flash_blocks *f, uint32_t plane, uint32_t most);

/* annex_flash_add() - More units of the open block are valid. annex_flash_drop() - Fewer units of a
 * block are. */
void annex_flash_add(struct flash_blocks *f, uint32_t block, uint32_t units);
void annex_flash_drop(struct flash_blocks *f, uint32_t block, uint32_t units);

/* annex_flash_end() - The taken units are written: close the open block if it is full. */
void annex_flash_end(struct flash_blocks *f, uint32_t plane);

/* annex_flash_short() - Whether the next write to a plane has to collect garbage first. */
bool annex_flash_short(const struct flash_blocks *f, uint32_t plane);

/* annex_flash_full() - Whether a plane has so many valid units that collecting gains nothing. */
bool annex_flash_full(const struct flash_blocks *f, uint32_t plane);

/* annex_flash_make_room() - Collect blocks until the next write to a plane, which is not full, has
 * room. Return: 0 or an error of @move. */
int annex_flash_make_room(struct flash_blocks *f, uint32_t plane);

/*
 * annex_flash_found() - After a start: restore the next block of fresh flash, in order. Partly
 * written blocks with valid units stay open, one in each plane.
 * annex_flash_settle() - Restore a plane's number of erased blocks, after an interrupted
 * collection. Return: 0; -ENOSPC: no block can be collected; an error of @move.
 */
void annex_flash_found(struct flash_blocks *f, uint32_t block, uint32_t written, uint32_t valid,
		       uint32_t worn);
int annex_flash_settle(struct flash_blocks *f, uint32_t plane);

/* annex_flash_worn() - Number of erases of a block. annex_flash_valid() - Valid units. */
uint32_t annex_flash_worn(const struct flash_blocks *f, uint32_t block);
uint64_t annex_flash_valid(const struct flash_blocks *f);

#endif

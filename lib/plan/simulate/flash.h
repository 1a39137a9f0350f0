/* SPDX-License-Identifier: MIT */
/*
 * The flash of an SSD as its translation layer sees it: written bytes go to one open block after
 * the other, and lie there until its block is erased (flash/blocks.h). Bytes of
 * one write are a run, so that costs depend on runs and blocks and not on pages.
 */
#ifndef ANNEX_PLAN_SIMULATE_FLASH_H
#define ANNEX_PLAN_SIMULATE_FLASH_H

#include <stdint.h>

/*
 * G10 does not state the geometry of its Z-NAND; this is the one of SkyByte, by the same authors:
 * pages of 4 KiB, 256 of them in a block, and 16 channels. A write goes to all channels, so their
 * blocks become full and are erased together.
 */
#define FLASH_PAGE 4096u
#define FLASH_BLOCK (16 * 256 * FLASH_PAGE)

struct flash;

/*
 * flash_create() - Flash that shows @bytes and has @spare more, in whole blocks and at least three,
 * for @owners writers. NULL: out of memory.
 */
struct flash *flash_create(uint64_t bytes, uint64_t spare, uint32_t owners);
void flash_destroy(struct flash *f);

/*
 * flash_write() - An owner's next bytes. Valid bytes must be no more than the flash shows.
 * @copied: grows by the bytes that garbage collection wrote again for them.
 * Return: 0 or -ENOMEM.
 */
int flash_write(struct flash *f, uint32_t owner, uint64_t bytes, uint64_t *copied);

/* flash_trim() - The first of an owner's valid bytes, as they were written, are worth nothing. */
void flash_trim(struct flash *f, uint32_t owner, uint64_t bytes);

/* flash_valid() - Bytes that are valid. flash_total() - Bytes that there are, spare ones too. */
uint64_t flash_valid(const struct flash *f);
uint64_t flash_total(const struct flash *f);

#endif

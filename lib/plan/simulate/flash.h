/* SPDX-License-Identifier: MIT */
/*
 * The flash of an SSD as its translation layer sees it: written bytes go to one open block
 * after the other, and lie there until its block is erased. When few blocks are free, garbage
 * collection takes the one with the least valid bytes, and writes those again (greedy, one open
 * block; G10, section 5, has SSD-Sim for it).
 */
#ifndef ANNEX_PLAN_SIMULATE_FLASH_H
#define ANNEX_PLAN_SIMULATE_FLASH_H

#include <stdint.h>

/* Bytes that are erased together: erase blocks of some MiB on each of some channels. */
#define FLASH_BLOCK (64ull << 20)
/* Blocks that are kept free, so that there is always one to write to while another is cleared. */
#define FLASH_FREE 2u

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

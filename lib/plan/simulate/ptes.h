/* SPDX-License-Identifier: MIT */
/*
 * The page table of unified memory (G10 4.5). An entry says where a byte of a tensor is: on the
 * GPU, on the GPU with a copy in another tier, or in another tier only. On an SSD whose flash is
 * limited it has the address in flash, and the SSD has no other map: garbage collection
 * (flash/blocks.h) updates the entries of the bytes that it moves.
 *
 * Entries of consecutive bytes in consecutive places are one run, so costs depend on runs and
 * blocks and not on pages.
 */
#ifndef ANNEX_PLAN_SIMULATE_PTES_H
#define ANNEX_PLAN_SIMULATE_PTES_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/system.h>

#define PTE_PAGE 4096u
/*
 * Bytes of flash that are erased together. G10 does not state the geometry of its Z-NAND; this is
 * the one of SkyByte, by the same authors: 256 pages in a block, and 16 channels. A write goes to
 * all channels, so their blocks become full and are erased together.
 */
#define PTE_BLOCK (16 * 256 * PTE_PAGE)
#define PTE_NONE UINT32_MAX

/**
 * struct pte_list - Runs of a tensor in one place, in the order of their bytes.
 * @bytes: their sum.
 * @went: run of another list to which bytes went last. It may have left that list since.
 * @tier: tier of the place, or of the copies; 0: on the GPU without a copy.
 * @out: the bytes are not on the GPU.
 */
struct pte_list {
	uint64_t bytes;
	uint32_t first, last, went;
	uint8_t tier;
	bool out;
};

/**
 * struct pte_run - Consecutive bytes of a tensor.
 * @first: the first one of them.
 * @block: block of flash, or PTE_NONE.
 * @list: its list, or NULL.
 * @at: first byte in that block.
 * @next, @prev: of the list. Of runs that are not in use, @next.
 * @after, @before: of the block, in the order of places.
 */
struct pte_run {
	uint64_t first, bytes;
	struct pte_list *list;
	uint32_t block, at, next, prev, after, before;
};

struct pte_flash;

/**
 * struct ptes - Entries of all tensors of all GPUs.
 * @lists: of each tensor, ptes_lists() lists: at 0 bytes on the GPU without a copy; of tier t, at
 *	2t - 1 bytes on the GPU with a copy there, at 2t bytes that are only there.
 * @flash: flash of the SSDs, from tier ANNEX_TIER_SSD on; NULL: unlimited.
 * @copied: bytes that garbage collection moved.
 * @updated: entries of pages that it updated, of bytes that are not on the GPU.
 */
struct ptes {
	struct pte_list *lists;
	struct pte_run *runs;
	uint32_t n_runs, most_runs, unused;
	struct pte_flash *flash;
	uint64_t copied, updated;
};

static inline uint32_t ptes_lists(const struct annex_system *sys)
{
	return 2 * (ANNEX_TIER_SSD + sys->ssds) - 1;
}

/* ptes_init() - A table for @tensors that are nowhere. Flash has at least three spare blocks.
 * Return: 0 or -ENOMEM. */
int ptes_init(struct ptes *t, uint32_t tensors, const struct annex_system *sys);
void ptes_free(struct ptes *t);

/*
 * ptes_add() - Put the @bytes of a tensor into @to, one of its lists. The table must not have bytes
 * of this tensor yet. Return: 0 or -ENOMEM.
 */
int ptes_add(struct ptes *t, struct pte_list *to, uint64_t bytes);

/*
 * ptes_move() - The first bytes of a place go to another one of the same tensor. Bytes that go to
 * an SSD are written, which may collect garbage; valid bytes must be no more than its size.
 * Return: 0 or -ENOMEM.
 */
int ptes_move(struct ptes *t, struct pte_list *from, struct pte_list *to, uint64_t bytes);

/*
 * ptes_drop() - Remove the first @bytes of a list from the table, and free their flash. Return: 0
 * or -ENOMEM.
 */
int ptes_drop(struct ptes *t, struct pte_list *from, uint64_t bytes);

/* ptes_flash_bytes() - Bytes of the flash of all SSDs, spare ones too; 0: unlimited. */
uint64_t ptes_flash_bytes(const struct ptes *t);

#endif

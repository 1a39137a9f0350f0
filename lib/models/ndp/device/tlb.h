/* SPDX-License-Identifier: MIT */
/*
 * The DRAM-TLB: translations of all clients in one table of the device's memory, which its units
 * share. M2NDP section III-H.
 */
#ifndef ANNEX_NDP_DEVICE_TLB_H
#define ANNEX_NDP_DEVICE_TLB_H

#include <stdbool.h>
#include <stdint.h>

#define NDP_PAGE_SHIFT 12u
#define NDP_PAGE_SIZE (1u << NDP_PAGE_SHIFT)
#define NDP_LARGE_SHIFT 21u

struct ndp_tlb;

/**
 * struct ndp_page - The translation of a page.
 * @frame: physical page number.
 * @large: 2 MiB, otherwise 4 KiB.
 */
struct ndp_page {
	uint64_t frame;
	unsigned int prot;
	bool large;
};

struct ndp_tlb *ndp_tlb_create(void);
void ndp_tlb_destroy(struct ndp_tlb *tlb);

/* @page: the virtual page number, in units of 4 KiB also for large pages. */
bool ndp_tlb_look(struct ndp_tlb *tlb, uint16_t asid, uint64_t page, struct ndp_page *out);
void ndp_tlb_fill(struct ndp_tlb *tlb, uint16_t asid, uint64_t page, const struct ndp_page *in);
void ndp_tlb_drop(struct ndp_tlb *tlb, uint16_t asid, uint64_t page);
void ndp_tlb_count(struct ndp_tlb *tlb, uint64_t *hits, uint64_t *misses);

#endif

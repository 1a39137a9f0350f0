/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The controller memory buffer (NVMe Base 2.0 sections 3.1.3.11 to 3.1.3.15, 8.5): addresses, uses
 * and free pages.
 */
#ifndef ANNEX_CMB_H
#define ANNEX_CMB_H

#include <linux/types.h>

struct annex_ctrl;

/**
 * struct annex_cmb - Controller memory.
 * @pages: number of pages of ANNEX_PAGE bytes that can be used; 0: no controller memory.
 * @flags: supported uses, ANNEX_INFO_CMB_*.
 * @bytes: bytes from @bus on that the controller decodes itself.
 * @phys: physical address for the CPU.
 * @bus: address in commands.
 * @visible: bytes from @phys on that the CPU can access.
 * @taken: bitmap of pages in use.
 * @used: an owner may have left data in it.
 */
struct annex_cmb {
	u32 pages;
	u32 flags;
	u64 bytes;
	phys_addr_t phys;
	u64 bus;
	u64 visible;
	unsigned long *taken;
	bool used;
};

/* annex_cmb_init() - Find the controller memory. 0, also if there is none, or -ENOMEM. */
int annex_cmb_init(struct annex_ctrl *ctrl);
void annex_cmb_exit(struct annex_ctrl *ctrl);
/* annex_cmb_begin() - Program the address that commands use for it into the controller. */
void annex_cmb_begin(struct annex_ctrl *ctrl);
/* annex_cmb_take() - Allocate @count contiguous pages from *@first on. 0 or -ENOSPC. */
int annex_cmb_take(struct annex_ctrl *ctrl, u32 count, u32 *first);
void annex_cmb_give(struct annex_ctrl *ctrl, u32 first, u32 count);
/* annex_cmb_clear() - Clear the data that the last owner may have left in it. 0 or -ENOMEM. */
int annex_cmb_clear(struct annex_ctrl *ctrl);
/* annex_cmb_overlaps() - Whether the controller would decode some of these addresses itself. */
bool annex_cmb_overlaps(const struct annex_ctrl *ctrl, u64 addr, u64 bytes);

#endif

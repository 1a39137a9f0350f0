/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The controller memory buffer (NVMe Base 2.0 sections 3.1.3.11 to 3.1.3.15, 8.5): where it is,
 * what it is good for, and which of its pages are taken.
 */
#ifndef ANNEX_CMB_H
#define ANNEX_CMB_H

#include <linux/types.h>

struct annex_ctrl;

/**
 * struct annex_cmb - Controller memory.
 * @pages: how many of ANNEX_PAGE are used; 0: none.
 * @bytes: how many the controller takes for its own, from @bus on.
 * @phys: where the CPU sees it. @bus: where the controller does.
 * @flags: ANNEX_INFO_CMB_*.
 * @taken: one bit a page.
 */
struct annex_cmb {
	u32 pages;
	u32 flags;
	u64 bytes;
	phys_addr_t phys;
	u64 bus;
	unsigned long *taken;
};

/* annex_cmb_init() - Find it. 0, also where there is none, or -ENOMEM. */
int annex_cmb_init(struct annex_ctrl *ctrl);
void annex_cmb_exit(struct annex_ctrl *ctrl);
/* annex_cmb_begin() - Tell the controller at which addresses commands name it. */
void annex_cmb_begin(struct annex_ctrl *ctrl);
/* annex_cmb_take() - @count pages in a row from *@first on. 0 or -ENOSPC. */
int annex_cmb_take(struct annex_ctrl *ctrl, u32 count, u32 *first);
void annex_cmb_give(struct annex_ctrl *ctrl, u32 first, u32 count);
/* annex_cmb_hits() - Whether addresses of memory would be taken for its own. */
bool annex_cmb_hits(const struct annex_ctrl *ctrl, u64 addr, u64 bytes);

#endif

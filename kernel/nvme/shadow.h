/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shadow doorbells (Doorbell Buffer Config, NVMe Base 2.0 section 5.8): two pages that the owner
 * and the controller share, if the controller supports them.
 */
#ifndef ANNEX_SHADOW_H
#define ANNEX_SHADOW_H

#include <linux/types.h>

struct annex_ctrl;
struct page;

struct annex_shadow {
	struct page *page[2]; /* doorbells, event indices; NULL if unsupported */
	dma_addr_t addr[2];
};

/* annex_shadow_init() - Allocate the pages, if @supported. 0 or -ENOMEM. */
int annex_shadow_init(struct annex_ctrl *ctrl, bool supported);
void annex_shadow_exit(struct annex_ctrl *ctrl);
/* annex_shadow_begin() - Clear the pages, and pass them to the controller. 0 or an error. */
int annex_shadow_begin(struct annex_ctrl *ctrl);

#endif

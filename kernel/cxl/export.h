/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range's memory as dma-bufs, for direct access by other devices.
 */
#ifndef ANNEX_EXPORT_H
#define ANNEX_EXPORT_H

#include <linux/types.h>

struct annex_hdm;
struct annex_ioc_hdm_dmabuf;
struct annex_range;

/* annex_export_create() - ANNEX_IOC_HDM_DMABUF. */
int annex_export_create(struct annex_range *r, struct annex_hdm *hdm,
			struct annex_ioc_hdm_dmabuf *args);
/* annex_export_end() - Tell importers to unmap. Call these three under the range's lock. */
void annex_export_end(struct annex_range *r);
/* annex_export_idle() - Whether no device has a dma-buf of the range mapped. */
bool annex_export_idle(struct annex_range *r);
unsigned int annex_export_count(struct annex_range *r);

#endif

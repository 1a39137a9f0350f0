/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range's memory as dma-bufs: for devices that fill and empty it by themselves.
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
/* annex_export_end() - Tell importers to unmap it. Under the range's lock, as below. */
void annex_export_end(struct annex_range *r);
/* annex_export_idle() - No device has any of it mapped. */
bool annex_export_idle(struct annex_range *r);
unsigned int annex_export_count(struct annex_range *r);

#endif

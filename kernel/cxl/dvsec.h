/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mem_Enable of the CXL device DVSEC: whether a device decodes its memory at host addresses.
 */
#ifndef ANNEX_DVSEC_H
#define ANNEX_DVSEC_H

struct annex_hdm;

/*
 * annex_dvsec_check() - Check that HDM decoders can map the memory. -EPERM: firmware has locked the
 * device without Mem_Enable; -EBUSY: firmware maps the memory by DVSEC ranges. Errors have a line.
 */
int annex_dvsec_check(struct annex_hdm *hdm);
/* annex_dvsec_enable() - Set Mem_Enable. */
void annex_dvsec_enable(struct annex_hdm *hdm);
/* annex_dvsec_disable() - Clear Mem_Enable, if annex_dvsec_enable() has set it. */
void annex_dvsec_disable(struct annex_hdm *hdm);

#endif

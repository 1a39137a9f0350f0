/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether a device decodes its memory at host addresses: Mem_Enable of its DVSEC.
 */
#ifndef ANNEX_DVSEC_H
#define ANNEX_DVSEC_H

struct annex_hdm;

/*
 * annex_dvsec_check() - Whether its memory is free to be decoded. -EPERM: firmware has locked it
 * without Mem_Enable; -EBUSY: firmware has given it out by DVSEC ranges. Errors have a line.
 */
int annex_dvsec_check(struct annex_hdm *hdm);
/* annex_dvsec_enable() - Set Mem_Enable. */
void annex_dvsec_enable(struct annex_hdm *hdm);
/* annex_dvsec_disable() - Clear Mem_Enable, if annex_dvsec_enable() has set it. */
void annex_dvsec_disable(struct annex_hdm *hdm);

#endif

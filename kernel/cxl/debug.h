/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ANNEX_DEBUG_H
#define ANNEX_DEBUG_H

struct annex_hdm;

void annex_debug_init(void);
void annex_debug_exit(void);
/* annex_debug_add() - Make the files of a device. */
void annex_debug_add(struct annex_hdm *hdm);
/* annex_debug_remove() - Remove the files, and wait for readers. */
void annex_debug_remove(struct annex_hdm *hdm);

#endif

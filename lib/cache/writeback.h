/* SPDX-License-Identifier: MIT */
/*
 * Write-back ahead of the clock hand, so that reads find clean victims and overlap with writes
 * (BaM section 3.4 leaves this open).
 */
#ifndef ANNEX_CACHE_WRITEBACK_H
#define ANNEX_CACHE_WRITEBACK_H

#include "cache.h"

/**
 * annex_writeback_ahead() - After slots were taken: begin to write dirty lines in the window that
 * the hand will come to next, unless they have been used since it last passed. Does not wait.
 */
void annex_writeback_ahead(struct annex_cache *c);

/**
 * annex_writeback_start() - Begin to write dirty lines wherever they are, as no slot was to be had.
 * @failed: set to how many lines were seen and let be, because a write of them has just failed.
 *
 * Return: how many lines.
 */
unsigned int annex_writeback_start(struct annex_cache *c, uint32_t *failed);

#endif

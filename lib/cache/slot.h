/* SPDX-License-Identifier: MIT */
/*
 * The clock that finds slots for lines (BaM section 3.4).
 */
#ifndef ANNEX_CACHE_SLOT_H
#define ANNEX_CACHE_SLOT_H

#include "cache.h"

/**
 * annex_slot_take() - Take a slot from the clock, evicting the clean line in it. Never waits.
 *
 * Return: the slot, ANNEX_SLOT_TAKEN, or ANNEX_SLOT_NONE when two turns of the clock, or a stretch
 * of lines that wait for their write-back, brought none.
 */
uint32_t annex_slot_take(struct annex_cache *c);

/**
 * struct annex_slot_wait - How long a thread has been waiting for a slot. All zero to begin with.
 */
struct annex_slot_wait {
	struct annex_patience patience;
	uint64_t wb_errors;
	unsigned int failures;
	unsigned int idle;
};

/**
 * annex_slot_wait() - After annex_slot_take() brought none: wait for an event that may free one.
 *
 * @patience: how often to look again when all are pinned, in case their holders are about to go.
 *
 * The caller holds no claim that it has not sent.
 *
 * Return: 0: try again; -EBUSY: every slot is pinned, or none came free within the devices'
 * timeout; the errno of write-backs that keep failing, at once where all have just failed.
 */
int annex_slot_wait(struct annex_cache *c, struct annex_slot_wait *wait, unsigned int patience);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Transitions of a line's word (annex/detail/line.h) that a transfer goes with, and waiting for
 * their end. Lines are given by their entries.
 */
#ifndef ANNEX_CACHE_LINE_H
#define ANNEX_CACHE_LINE_H

#include "entry.h"
#include "xfer.h"

/**
 * annex_fill_begin() - Claim an absent line, held, for @slot, which the caller took from the clock.
 *
 * Return: false when another thread has claimed it; the slot is still the caller's.
 */
static inline bool annex_fill_begin(struct annex_cache *c, uint64_t at, uint32_t slot)
{
	/* Visible to each thread that sees the claim, which is a release. */
	annex_atomic_store(&c->slot_xfer[slot], XFER_NONE, ANNEX_RELAXED);
	return annex_line_claim(c->dir, c->owner, at, slot);
}

/* A busy line's data did not come: it is absent again, and its slot free. */
static inline void annex_fill_undo(struct annex_cache *c, uint32_t slot)
{
	uint64_t at = annex_slot_entry(c, slot);

	annex_line_absent(c->dir, at);
	annex_slot_free(c->owner, slot);
	annex_entry_tidy(c, at);
}

/**
 * annex_write_begin() - Begin the write-back of a dirty line; arguments as annex_line_clean().
 */
static inline bool annex_write_begin(struct annex_cache *c, uint64_t at, uint64_t forbidden,
				     uint32_t *slot)
{
	if (!annex_line_clean(c->dir, at, forbidden, slot))
		return false;
	/* Until this, a waiter may join an earlier transfer of the slot: a needless wait. */
	annex_atomic_store(&c->slot_xfer[*slot], XFER_NONE, ANNEX_RELAXED);
	return true;
}

/**
 * annex_line_wait() - Wait until a line is neither busy nor in write-back, or for a while.
 *
 * Return: 0: look again; the errno of the transfer that did not bring it; -ETIMEDOUT.
 */
int annex_line_wait(struct annex_cache *c, uint64_t at);

#endif

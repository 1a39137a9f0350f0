/* SPDX-License-Identifier: MIT */
/*
 * The transitions of a line's state word, and its slot's owner. What each means is in cache.h.
 */
#ifndef ANNEX_CACHE_LINE_H
#define ANNEX_CACHE_LINE_H

#include "cache.h"
#include "xfer.h"

/**
 * annex_line_claim() - Make an absent line busy in @slot, which the caller took from the clock.
 *
 * Return: false when somebody else has claimed it; the slot is still the caller's.
 */
static inline bool annex_line_claim(struct annex_cache *c, uint64_t line, uint32_t slot)
{
	uint64_t word = annex_atomic_load(&c->dir[line], ANNEX_RELAXED), next;

	annex_atomic_store(&c->slot_xfer[slot], XFER_NONE, ANNEX_RELAXED);
	do {
		if (word & (LINE_VALID | LINE_BUSY))
			return false;
		next = ((word & (LINE_REFS | LINE_VERSION_MASK)) + LINE_VERSION_ONE) | LINE_BUSY |
		       LINE_REFERENCED | (uint64_t)slot << LINE_SLOT_SHIFT;
		/* Release: who sees the slot sees that it has no transfer yet. */
	} while (!annex_atomic_cas(&c->dir[line], &word, next, ANNEX_ACQ_REL));
	/* Relaxed: the clock checks the line's word before it believes an owner. */
	annex_atomic_store(&c->owner[slot], line, ANNEX_RELAXED);
	return true;
}

/* A busy line's data is there. */
static inline void annex_line_filled(struct annex_cache *c, uint64_t line)
{
	/* Release: the data before VALID; pairs with the acquire of every pin. */
	annex_atomic_add(&c->dir[line], LINE_VALID - LINE_BUSY, ANNEX_RELEASE);
}

/* A busy line's data did not come: it is absent again, and its slot free. */
static inline void annex_line_unclaim(struct annex_cache *c, uint64_t line, uint32_t slot)
{
	/* Release: whatever was written into the slot is over before it is used again. */
	annex_atomic_and(&c->dir[line], LINE_REFS | LINE_VERSION_MASK, ANNEX_ACQ_REL);
	annex_atomic_store(&c->owner[slot], SLOT_FREE, ANNEX_RELEASE);
}

/**
 * annex_line_clean() - Begin the write-back of a dirty line; its bytes from now on are written.
 * @forbidden: bits that must be clear (LINE_REFS, LINE_REFERENCED), besides.
 * @slot: where the line must be, SLOT_NONE for anywhere; set to where it is.
 */
static inline bool annex_line_clean(struct annex_cache *c, uint64_t line, uint64_t forbidden,
				    uint32_t *slot)
{
	uint64_t word = annex_atomic_load(&c->dir[line], ANNEX_RELAXED);

	do {
		if ((word & (LINE_VALID | LINE_DIRTY)) != (LINE_VALID | LINE_DIRTY) ||
		    word & (forbidden | LINE_WRITEBACK))
			return false;
		if (*slot != SLOT_NONE && annex_word_slot(word) != *slot)
			return false;
		/*
		 * Acquire: pairs with the unpin that made it dirty; its stores are visible to the
		 * device. Release: a store that comes after this sets DIRTY again.
		 */
	} while (!annex_atomic_cas(&c->dir[line], &word, (word & ~LINE_DIRTY) | LINE_WRITEBACK,
				   ANNEX_ACQ_REL));
	*slot = annex_word_slot(word);
	/* Until this, who waits for the line may join a transfer of the past: a needless wait. */
	annex_atomic_store(&c->slot_xfer[*slot], XFER_NONE, ANNEX_RELAXED);
	return true;
}

/* The write-back ended. A line that was not written is as dirty as before. */
static inline void annex_line_written(struct annex_cache *c, uint64_t line, bool ok)
{
	if (!ok)
		annex_atomic_or(&c->dir[line], LINE_DIRTY, ANNEX_RELAXED);
	/* Release: the device has read the slot before an eviction sees it clean. */
	annex_atomic_and(&c->dir[line], ~LINE_WRITEBACK, ANNEX_RELEASE);
}

/**
 * annex_line_wait() - Wait until a line is neither busy nor in write-back, or for a while.
 *
 * Return: 0: look again; the errno of the transfer that did not bring it; -ETIMEDOUT.
 */
int annex_line_wait(struct annex_cache *c, uint64_t line);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The state word of a cache line, and its transitions; the same on CPU and GPU.
 *
 * States of a line:
 *
 *	absent -- claim, with a slot --> busy -- read arrives --> valid -- evicted --> absent
 *	                                 busy -- read fails ---> absent
 *
 * A thread that needs a line takes a reference first, in any state of the line; transitions keep
 * the references. A valid line without references may be evicted if it is clean. A line gets a slot
 * only by a claim, and loses it only by eviction or a failed read. So a slot has exactly one owner,
 * a line or the thread that took it from the clock, or is free.
 *
 * The functions work on two arrays: @dir has the word of each line, @owner the owner of each slot.
 * Only threads of one GPU, or only threads of the host, access them.
 */
#ifndef ANNEX_LINE_H
#define ANNEX_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_PIN_WRITE (1u << 0) /* the caller will change the line; unpin marks it dirty */
#define ANNEX_PIN_NEW (1u << 1)   /* the caller overwrites all of it: a miss does not read */

#define ANNEX_LINE_REFS 0x7fffull          /* references */
#define ANNEX_LINE_CROWDED (1ull << 14)    /* limit of references; the rest is for attempts */
#define ANNEX_LINE_VALID (1ull << 15)      /* the slot holds the line */
#define ANNEX_LINE_BUSY (1ull << 16)       /* the slot is being filled */
#define ANNEX_LINE_DIRTY (1ull << 17)      /* changed since the last write-back began */
#define ANNEX_LINE_REFERENCED (1ull << 18) /* used since the clock hand last passed */
#define ANNEX_LINE_WRITEBACK (1ull << 19)  /* a write-back is in flight */
#define ANNEX_LINE_SLOT_SHIFT 20
#define ANNEX_LINE_SLOT_BITS 26
#define ANNEX_LINE_SLOT_MASK ((((uint64_t)1 << ANNEX_LINE_SLOT_BITS) - 1) << ANNEX_LINE_SLOT_SHIFT)
/* 18 bits, incremented by each claim */
#define ANNEX_LINE_VERSION_ONE ((uint64_t)1 << (ANNEX_LINE_SLOT_SHIFT + ANNEX_LINE_SLOT_BITS))
#define ANNEX_LINE_VERSION_MASK (~(ANNEX_LINE_VERSION_ONE - 1))

/* Bits that do not change while a line stays in its slot. */
#define ANNEX_LINE_RESIDENCE (ANNEX_LINE_VALID | ANNEX_LINE_SLOT_MASK | ANNEX_LINE_VERSION_MASK)

#define ANNEX_SLOT_FREE UINT64_MAX        /* owner of a free slot */
#define ANNEX_SLOT_TAKEN (UINT64_MAX - 1) /* owner of a slot between clock and claim */
#define ANNEX_SLOT_NONE UINT32_MAX

/* Slot of a valid or busy line; 0 for others. */
static inline ANNEX_HD uint32_t annex_word_slot(uint64_t word)
{
	return (uint32_t)((word & ANNEX_LINE_SLOT_MASK) >> ANNEX_LINE_SLOT_SHIFT);
}

/*
 * annex_line_claim() - Make an absent line busy in @slot, which the caller took from the clock.
 *
 * Return: false if another thread has claimed it; the caller then keeps the slot.
 */
static inline ANNEX_HD bool annex_line_claim(uint64_t *dir, uint64_t *owner, uint64_t line,
					     uint32_t slot)
{
	uint64_t word = annex_local_load(&dir[line], ANNEX_RELAXED), next;

	do {
		if (word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY))
			return false;
		next = ((word & (ANNEX_LINE_REFS | ANNEX_LINE_VERSION_MASK)) +
			ANNEX_LINE_VERSION_ONE) |
		       ANNEX_LINE_BUSY | ANNEX_LINE_REFERENCED |
		       (uint64_t)slot << ANNEX_LINE_SLOT_SHIFT;
		/* Release: a thread that sees the slot sees that its line does not move yet. */
	} while (!annex_local_cas(&dir[line], &word, next, ANNEX_ACQ_REL));
	/* Relaxed: the clock checks the line's word before it believes an owner. */
	annex_local_store(&owner[slot], line, ANNEX_RELAXED);
	return true;
}

/*
 * annex_line_filled() - A busy line's data has arrived: make it valid.
 */
static inline ANNEX_HD void annex_line_filled(uint64_t *dir, uint64_t line)
{
	/* Release: the data before VALID; pairs with the acquire of its readers. */
	annex_local_add(&dir[line], ANNEX_LINE_VALID - ANNEX_LINE_BUSY, ANNEX_RELEASE);
}

/*
 * annex_line_absent() - The read of a busy line failed: make it absent. The caller gets its slot.
 */
static inline ANNEX_HD void annex_line_absent(uint64_t *dir, uint64_t line)
{
	/* Release: writes to the slot come before its next use. */
	annex_local_and(&dir[line], ANNEX_LINE_REFS | ANNEX_LINE_VERSION_MASK, ANNEX_ACQ_REL);
}

/*
 * annex_slot_free() - Free a slot.
 */
static inline ANNEX_HD void annex_slot_free(uint64_t *owner, uint32_t slot)
{
	/* Release: its last use comes before; pairs with the acquire of the clock. */
	annex_local_store(&owner[slot], ANNEX_SLOT_FREE, ANNEX_RELEASE);
}

/*
 * annex_line_clean() - Begin the write-back of a dirty line, with its current bytes.
 * @forbidden: additional bits that must be clear (ANNEX_LINE_REFS, ANNEX_LINE_REFERENCED).
 * @slot: slot that the line must be in, or ANNEX_SLOT_NONE for any; set to its slot.
 */
static inline ANNEX_HD bool annex_line_clean(uint64_t *dir, uint64_t line, uint64_t forbidden,
					     uint32_t *slot)
{
	const uint64_t wanted = ANNEX_LINE_VALID | ANNEX_LINE_DIRTY;
	uint64_t word = annex_local_load(&dir[line], ANNEX_RELAXED);

	do {
		if ((word & wanted) != wanted || word & (forbidden | ANNEX_LINE_WRITEBACK))
			return false;
		if (*slot != ANNEX_SLOT_NONE && annex_word_slot(word) != *slot)
			return false;
		/*
		 * Acquire: pairs with the unpin that made it dirty, whose stores are then visible
		 * to the device. Release: the unpin of a later store sets DIRTY again.
		 */
	} while (!annex_local_cas(&dir[line], &word,
				  (word & ~ANNEX_LINE_DIRTY) | ANNEX_LINE_WRITEBACK,
				  ANNEX_ACQ_REL));
	*slot = annex_word_slot(word);
	return true;
}

/*
 * annex_line_written() - End a write-back. If it failed, the line is dirty again.
 */
static inline ANNEX_HD void annex_line_written(uint64_t *dir, uint64_t line, bool ok)
{
	if (!ok)
		annex_local_or(&dir[line], ANNEX_LINE_DIRTY, ANNEX_RELAXED);
	/* Release: the device has read the slot before an eviction sees it clean. */
	annex_local_and(&dir[line], ~ANNEX_LINE_WRITEBACK, ANNEX_RELEASE);
}

/* The line is valid, marked as referenced, and has room for a reference: the fast path. */
static inline ANNEX_HD bool annex_ref_usual(uint64_t word)
{
	const uint64_t usual = ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED;

	return (word & (usual | ANNEX_LINE_CROWDED)) == usual;
}

/*
 * annex_ref_get() - Take a reference on a line, in any state.
 * @state: the line's word.
 *
 * Return: the previous word, with ANNEX_LINE_VALID only if the line may be used; or
 * ANNEX_LINE_CROWDED alone, and no reference, if there are too many.
 */
static inline ANNEX_HD uint64_t annex_ref_get(uint64_t *state)
{
	/* Acquire: pairs with annex_line_filled(): the data is visible. */
	uint64_t word = annex_local_add(state, 1, ANNEX_ACQUIRE);

	if (__builtin_expect(annex_ref_usual(word), 1))
		return word;
	if (word & ANNEX_LINE_CROWDED) {
		annex_local_sub(state, 1, ANNEX_RELAXED);
		return ANNEX_LINE_CROWDED;
	}
	/* The second chance of the clock; written only if it changes. */
	if (word & ANNEX_LINE_VALID)
		annex_local_or(state, ANNEX_LINE_REFERENCED, ANNEX_RELAXED);
	return word;
}

/*
 * annex_ref_put() - Release a reference. Return: false, without effect, if there was none.
 */
static inline ANNEX_HD bool annex_ref_put(uint64_t *state)
{
	/* Release: accesses to the bytes come before; pairs with the eviction's acquire. */
	uint64_t word = annex_local_sub(state, 1, ANNEX_RELEASE);

	if (__builtin_expect((word & ANNEX_LINE_REFS) != 0, 1))
		return true;
	annex_local_add(state, 1, ANNEX_RELAXED);
	return false;
}

/*
 * annex_ref_put_dirty() - Release the reference of a thread that has changed the line: set DIRTY in
 * the same step, so that the line is not evicted in between.
 */
static inline ANNEX_HD bool annex_ref_put_dirty(uint64_t *state)
{
	uint64_t word = annex_local_load(state, ANNEX_RELAXED);

	do {
		/* Only a valid line can have been changed. */
		if (!(word & ANNEX_LINE_REFS) || !(word & ANNEX_LINE_VALID))
			return false;
		/* Release: the changed bytes; pairs with the acquire of write-backs and pins. */
	} while (!annex_local_cas(state, &word, (word | ANNEX_LINE_DIRTY) - 1, ANNEX_RELEASE));
	return true;
}

/* Result of annex_slot_look(). With FREE and VICTIM the caller owns the slot. */
enum annex_look {
	ANNEX_LOOK_PINNED,
	ANNEX_LOOK_MOVING,
	ANNEX_LOOK_DIRTY,
	ANNEX_LOOK_SPARED, /* the line used its second chance */
	ANNEX_LOOK_FREE,   /* the slot was free */
	ANNEX_LOOK_VICTIM, /* its line was evicted */
};

/*
 * annex_slot_look() - Advance the clock over a slot: evict its line, or spare it.
 * @victim: set to the evicted line.
 */
static inline ANNEX_HD enum annex_look annex_slot_look(uint64_t *dir, uint64_t *owner,
						       uint32_t slot, uint64_t *victim)
{
	/* Acquire: pairs with annex_slot_free(): a free slot's last use is over. */
	uint64_t line = annex_local_load(&owner[slot], ANNEX_ACQUIRE), word;

	if (line == ANNEX_SLOT_FREE &&
	    annex_local_cas(&owner[slot], &line, ANNEX_SLOT_TAKEN, ANNEX_ACQUIRE))
		return ANNEX_LOOK_FREE;
	if (line == ANNEX_SLOT_FREE || line == ANNEX_SLOT_TAKEN)
		return ANNEX_LOOK_MOVING;
	word = annex_local_load(&dir[line], ANNEX_RELAXED);
	if (!(word & ANNEX_LINE_VALID) || annex_word_slot(word) != slot)
		return ANNEX_LOOK_MOVING;
	if (word & ANNEX_LINE_REFS)
		return ANNEX_LOOK_PINNED;
	if (word & ANNEX_LINE_REFERENCED) {
		annex_local_and(&dir[line], ~ANNEX_LINE_REFERENCED, ANNEX_RELAXED);
		return ANNEX_LOOK_SPARED;
	}
	if (word & ANNEX_LINE_WRITEBACK)
		return ANNEX_LOOK_MOVING;
	if (word & ANNEX_LINE_DIRTY)
		return ANNEX_LOOK_DIRTY;
	/*
	 * Acquire: pairs with the release of the last unpin and of the write-back: the slot has no
	 * more readers or writers. Release: a reader without a reference that sees new data in the
	 * slot also sees that the line was evicted.
	 */
	if (!annex_local_cas(&dir[line], &word, word & ANNEX_LINE_VERSION_MASK, ANNEX_ACQ_REL))
		return ANNEX_LOOK_MOVING;
	annex_local_store(&owner[slot], ANNEX_SLOT_TAKEN, ANNEX_RELAXED);
	*victim = line;
	return ANNEX_LOOK_VICTIM;
}

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packet filter (struct annex_filter): a table that tells a device which process has which
 * uncached pages of a range. The device is not trusted: its words in the table only decide how long
 * the module waits for it.
 */
#ifndef ANNEX_FILTER_H
#define ANNEX_FILTER_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <uapi/annex_hdm.h>

struct annex_piece;

/**
 * struct annex_gate - The filter of a range.
 * @cut: no load or store reaches the memory any more. Read and written without the lock.
 * @poisoned: the table is poisoned; in the same way.
 * @lock: protects the members below; held for the clearing of a page, or a second at most.
 * @at: kernel mapping of the uncached part; NULL: no such part, or the range has ended.
 * @offset: offset in the range of its first byte.
 * @asid: address space identifier that was assigned last.
 * @asids: identifier of each entry; 0: a free entry. A copy, since the device can change the table.
 * @change: change counter in the table.
 * @timed_out: the device lives, but did not acknowledge a change in time.
 * @acknowledged: its acknowledgment then.
 * @heartbeat: its heartbeat then.
 */
struct annex_gate {
	bool cut, poisoned;
	struct mutex lock; /* protects the members below */
	void __iomem *at;
	u64 offset;
	u32 asid;
	u32 asids[ANNEX_FILTER_ENTRIES];
	u64 change;
	bool timed_out;
	u64 acknowledged, heartbeat;
};

/*
 * annex_filter_init() - Write an empty table to the first page of the uncached part: @bytes at the
 * host address @base, @offset in the range.
 */
int annex_filter_init(struct annex_gate *g, phys_addr_t base, u64 bytes, u64 offset);
/* annex_filter_exit() - End the table, whose pieces may end later. It can be repeated. */
void annex_filter_exit(struct annex_gate *g);
/*
 * annex_filter_kill() - Touch the memory no more: on hardware the kernel would not survive it.
 * annex_filter_poison() - Touch the table no more.
 */
void annex_filter_kill(struct annex_gate *g);
void annex_filter_poison(struct annex_gate *g);
/* annex_filter_add() - Clear a piece, and add its entry. -ENOSPC, -ENODEV, -EINTR (killed). */
int annex_filter_add(struct annex_gate *g, struct annex_piece *piece);
/*
 * annex_filter_remove() - Remove the entry of a piece. Returns whether its pages may be reused: a
 * device that lives, but does not acknowledge the change within a second, may still answer calls
 * there. Later calls do not wait for such a device until it acknowledges a change.
 */
bool annex_filter_remove(struct annex_gate *g, const struct annex_piece *piece);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packet filter (struct annex_filter): a table that tells a device which process has which
 * uncached pages of a range. The device is not trusted: its words only decide how long it is waited
 * for.
 */
#ifndef ANNEX_FILTER_H
#define ANNEX_FILTER_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <uapi/annex.h>

struct annex_piece;

/**
 * struct annex_gate - The filter of a range.
 * @lock: protects the members below; held for a page that is zeroed, or a second at most.
 * @at: kernel mapping of the uncached part; NULL: there is none, or the range is cut.
 * @offset: offset in the range of its first byte.
 * @asid: address space identifier that was given last.
 * @asids: identifier of each entry; 0: it is free. The device may change what is in the table.
 * @change: change counter in the table.
 * @deaf: the device lives, but did not acknowledge a change in time.
 * @heard: its acknowledgment then.
 * @beat: its heartbeat then.
 */
struct annex_gate {
	struct mutex lock; /* protects the members below */
	void __iomem *at;
	u64 offset;
	u32 asid;
	u32 asids[ANNEX_FILTER_ENTRIES];
	u64 change;
	bool deaf;
	u64 heard, beat;
};

/*
 * annex_filter_init() - Write an empty table to the first page of the uncached part: @bytes at the
 * host address @base, @offset in the range.
 */
int annex_filter_init(struct annex_gate *g, phys_addr_t base, u64 bytes, u64 offset);
void annex_filter_exit(struct annex_gate *g);
/* annex_filter_add() - Zero a piece, and add its entry. -ENOSPC, -ENODEV, -EINTR (killed). */
int annex_filter_add(struct annex_gate *g, struct annex_piece *piece);
/*
 * annex_filter_remove() - Remove the entry of a piece. Returns whether its pages may be
 * given to others: a device that lives, but does not acknowledge within a second, may still answer
 * calls there. A device that has acknowledged nothing since then is not waited for again.
 */
bool annex_filter_remove(struct annex_gate *g, const struct annex_piece *piece);

#endif

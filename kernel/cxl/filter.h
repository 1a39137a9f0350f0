/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table that tells a device which uncached pieces of a range are whose (struct annex_filter).
 * The device is not trusted: what it writes there only says how long to wait for it.
 */
#ifndef ANNEX_FILTER_H
#define ANNEX_FILTER_H

#include <linux/mutex.h>
#include <linux/types.h>

struct annex_filter;
struct annex_piece;
struct list_head;
struct annex_range;

/**
 * struct annex_gate - The uncached part of a range, as the kernel has it mapped.
 * @at: NULL: there is none, or it has been cut.
 * @asid: given last. @change: what the table says.
 * @deaf: the device did not take notice of a change in time, though it lives; @heard, @beat: what
 * it had written then.
 */
struct annex_gate {
	struct mutex lock; /* over what follows; inside of the ranges' lock */
	void __iomem *at;
	u32 asid;
	u64 change;
	bool deaf;
	u64 heard, beat;
};

/* annex_filter_init() - Write the table, without entries, to the uncached part's first page. */
int annex_filter_init(struct annex_range *r);
void annex_filter_exit(struct annex_range *r);
/* annex_filter_add() - The piece is zeroed, and has an entry. -ENOSPC, -ENODEV. */
int annex_filter_add(struct annex_range *r, struct annex_piece *piece);
/*
 * annex_filter_remove() - A file's pieces have none any more. Whether they may be others' now: a
 * device that lives, but has not taken notice within a second, may still answer calls there. The
 * second is waited once, and not again for a device that has taken notice of nothing since.
 */
bool annex_filter_remove(struct annex_range *r, const struct list_head *pieces);

#endif

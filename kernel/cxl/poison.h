/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The devices' poison as pages of a range.
 */
#ifndef ANNEX_POISON_H
#define ANNEX_POISON_H

#include <uapi/annex.h>

struct annex_hdm;
struct annex_range;

/* annex_poison_apply() - Poison the pages that are in the members' lists. */
void annex_poison_apply(struct annex_range *r);
/* annex_poison_update() - Apply the list of a device, which may have changed, to its range. */
void annex_poison_update(struct annex_hdm *hdm);
/*
 * annex_poison_list() - Copy runs of poisoned pages to @list, which has @room for them, without the
 * first @first. Returns the number of runs; @struck: the range's @struck with this list.
 */
u32 annex_poison_list(struct annex_range *r, struct annex_ioc_seg *list, u32 first, u32 room,
		      u64 *struck);
/* annex_poison_records() - The same of a device's list. */
u32 annex_poison_records(struct annex_hdm *hdm, struct annex_ioc_seg *list, u32 first, u32 room);

#endif

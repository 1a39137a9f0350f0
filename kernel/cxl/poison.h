/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The devices' poison as pages of a range.
 */
#ifndef ANNEX_POISON_H
#define ANNEX_POISON_H

#include <uapi/annex.h>

struct annex_hdm;
struct annex_range;

/* annex_poison_apply() - Pages in members' lists may not be touched. */
void annex_poison_apply(struct annex_range *r);
/* annex_poison_update() - The list of a device may have changed: apply it to its range. */
void annex_poison_update(struct annex_hdm *hdm);
/*
 * annex_poison_list() - Runs of pages that may not be touched, @room of them into @list, without
 * the first @first. How many there are; @struck: as the range has it with them.
 */
u32 annex_poison_list(struct annex_range *r, struct annex_ioc_seg *list, u32 first, u32 room,
		      u64 *struck);
/* annex_poison_records() - The same of a device's list. */
u32 annex_poison_records(struct annex_hdm *hdm, struct annex_ioc_seg *list, u32 first, u32 room);

#endif

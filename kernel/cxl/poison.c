// SPDX-License-Identifier: GPL-2.0
/*
 * The poison lists of devices, applied to the pages of their range. Owns nothing.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include "page.h"
#include "range.h"

/* Offset in the range of byte @at of the share of member @p. */
static u64 poison_offset_of(const struct annex_range *r, unsigned int p, u64 at)
{
	u32 within = at & (r->granularity - 1);

	return ((at - within) * r->n) + (u64)p * r->granularity + within;
}

/* Poison the bytes [@at, @end) of a member's share, with one walk of page tables for all. */
static void poison_apply(struct annex_range *r, unsigned int p, u64 at, u64 end)
{
	u64 first = poison_offset_of(r, p, at), last = poison_offset_of(r, p, end - 1), stop;
	bool news = false;

	down_write(&r->view);
	/* If each page has bytes of all members, all pages from first to last are affected. */
	if (r->n == 1 || (u64)r->granularity * r->n <= PAGE_SIZE) {
		news = annex_page_mark_poison(r, first, last);
		at = end;
	}
	for (; at < end; at = stop) {
		stop = min(end, round_down(at, r->granularity) + r->granularity);
		news |= annex_page_mark_poison(r, poison_offset_of(r, p, at),
					       poison_offset_of(r, p, stop - 1));
		cond_resched();
	}
	if (news)
		annex_page_unmap_poison(r, first, last);
	up_write(&r->view);
}

static void poison_apply_member(struct annex_range *r, unsigned int p)
{
	struct annex_media *media = &r->members[p]->media;
	u64 share = div_u64(r->bytes, r->n), from = r->dpa[p], at, end;

	mutex_lock(&media->lock);
	for (u32 i = 0; i < media->npoison; i++) {
		at = max(media->poison[i].addr, from);
		end = min(media->poison[i].addr + media->poison[i].bytes, from + share);
		if (at < end)
			poison_apply(r, p, at - from, end - from);
	}
	mutex_unlock(&media->lock);
}

void annex_poison_apply(struct annex_range *r)
{
	for (unsigned int p = 0; p < r->n; p++)
		poison_apply_member(r, p);
	annex_range_wake(r);
}

void annex_poison_update(struct annex_hdm *hdm)
{
	struct annex_range *r = annex_range_of(hdm);

	if (!r)
		return;
	annex_poison_apply(r);
	annex_range_put(r);
}

u32 annex_poison_list(struct annex_range *r, struct annex_ioc_seg *list, u32 first, u32 room,
		      u64 *count)
{
	unsigned long pages = r->bytes >> PAGE_SHIFT, at = 0, end;
	u32 n = 0;

	down_read(&r->view);
	*count = r->poison_count;
	while (at < pages) {
		at = find_next_bit(r->bad, pages, at);
		if (at >= pages)
			break;
		end = find_next_zero_bit(r->bad, pages, at);
		if (n >= first && n - first < room)
			list[n - first] = (struct annex_ioc_seg){(u64)at << PAGE_SHIFT,
								 (u64)(end - at) << PAGE_SHIFT};
		n++;
		at = end;
	}
	up_read(&r->view);
	return n;
}

u32 annex_poison_records(struct annex_hdm *hdm, struct annex_ioc_seg *list, u32 first, u32 room)
{
	u32 n;

	mutex_lock(&hdm->media.lock);
	n = hdm->media.npoison;
	if (first < n)
		memcpy(list, hdm->media.poison + first, min(n - first, room) * sizeof(*list));
	mutex_unlock(&hdm->media.lock);
	return n;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The poison lists of devices, applied to the pages of their range. Owns nothing.
 */
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include "cxl.h"
#include "page.h"
#include "piece.h"
#include "range.h"

#define BATCH 64 /* pages that are cleared before the devices' lists are read again */

/* Offset in the range of byte @at of the share of member @p. */
static u64 poison_offset_of(const struct annex_range *r, unsigned int p, u64 at)
{
	u32 within = at & (r->granularity - 1);

	return ((at - within) * r->n) + (u64)p * r->granularity + within;
}

/* Poison the bytes [@at, @end) of a member's share. Returns whether that is news. */
static bool poison_mark(struct annex_range *r, unsigned int p, u64 at, u64 end)
{
	bool news = false;
	u64 stop;

	down_write(&r->view);
	/* If each page has bytes of all members, all pages from first to last are affected. */
	if (r->n == 1 || (u64)r->granularity * r->n <= PAGE_SIZE) {
		news = annex_page_mark_poison(r, poison_offset_of(r, p, at),
					      poison_offset_of(r, p, end - 1));
		at = end;
	}
	for (; at < end; at = stop) {
		stop = min(end, round_down(at, r->granularity) + r->granularity);
		news |= annex_page_mark_poison(r, poison_offset_of(r, p, at),
					       poison_offset_of(r, p, stop - 1));
		cond_resched();
	}
	up_write(&r->view);
	return news;
}

/*
 * One walk of page tables for all pages of a list. They are unmapped under the list's lock, before
 * annex_poison_clear() can make one of them accessible again.
 */
static void poison_apply_member(struct annex_range *r, unsigned int p)
{
	struct annex_media *media = &r->members[p]->media;
	u64 share = div_u64(r->bytes, r->n), from = r->dpa[p], at, end, first = U64_MAX, last = 0;

	mutex_lock(&media->lock);
	for (u32 i = 0; i < media->npoison; i++) {
		at = max(media->poison[i].addr, from);
		end = min(media->poison[i].addr + media->poison[i].bytes, from + share);
		if (at >= end || !poison_mark(r, p, at - from, end - from))
			continue;
		first = min(first, poison_offset_of(r, p, at - from));
		last = max(last, poison_offset_of(r, p, end - 1 - from));
	}
	if (first <= last) {
		down_write(&r->view);
		annex_page_unmap_poison(r, first, last);
		up_write(&r->view);
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

/* The device address of byte @at of the range, in member *@p. */
static u64 poison_address_of(const struct annex_range *r, u64 at, unsigned int *p)
{
	u64 grain = at >> ilog2(r->granularity), within = at & (r->granularity - 1);

	*p = grain & (r->n - 1);
	return r->dpa[*p] + (grain >> ilog2(r->n)) * r->granularity + within;
}

/*
 * Let a device write zeroes to a line. The view keeps the range LIVE, and its device addresses with
 * it. The mailbox's lock is outside, as for events, whose poison is applied under the view.
 */
static int poison_clear_line(struct annex_range *r, u64 at)
{
	unsigned int p;
	struct cxl_clear_poison in = {.address = cpu_to_le64(poison_address_of(r, at, &p))};
	struct annex_mbox *mbox = &r->members[p]->mbox;
	int err = -ENODEV;

	mutex_lock(&mbox->lock);
	down_read(&r->view);
	if (r->state == ANNEX_RANGE_LIVE) {
		memcpy(mbox->in, &in, sizeof(in));
		err = annex_mbox_run(mbox, CXL_OP_CLEAR_POISON, sizeof(in));
	}
	up_read(&r->view);
	mutex_unlock(&mbox->lock);
	return err == -EOPNOTSUPP
		       ? annex_hdm_refuse(r->members[p], err, "clear: it cannot clear poison")
		       : min(err, 0);
}

static int poison_clear_page(struct annex_range *r, unsigned long page)
{
	u64 at = (u64)page << PAGE_SHIFT, end = at + PAGE_SIZE;
	int err = 0;

	if (r->uc && at == r->cached + r->wc)
		return annex_hdm_refuse(r->members[0], -EIO, "clear: 0x%llx is the table of pieces",
					at);
	for (; at < end && !err; at += CXL_LINE)
		err = signal_pending(current) ? -EINTR : poison_clear_line(r, at);
	return err;
}

/* The first poisoned page from @page on; @end: there is none. */
static unsigned long poison_next(struct annex_range *r, unsigned long page, unsigned long end)
{
	down_read(&r->view);
	page = find_next_bit(r->bad, end, page);
	up_read(&r->view);
	return page;
}

static int poison_scan(struct annex_range *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->n && (!err || err == -EOPNOTSUPP); i++)
		err = annex_media_scan(&r->members[i]->media);
	return err == -EOPNOTSUPP ? 0 : err; /* no list has these pages */
}

/*
 * Pages become accessible after the lists were read again: a thread that applies an old list marks
 * them before. Poison that arrived meanwhile is in the new lists, which are applied afterwards.
 */
static int poison_clear(struct annex_range *r, unsigned long page, unsigned long end)
{
	unsigned long done[BATCH];
	int err, scan_err;

	do {
		unsigned int n = 0;

		for (err = 0; n < BATCH && !err; n += !err) {
			page = poison_next(r, page, end);
			if (page >= end)
				break;
			err = poison_clear_page(r, page);
			done[n] = page++;
		}
		scan_err = n ? poison_scan(r) : 0;
		if (n && !scan_err) {
			annex_page_restore(r, done, n);
			annex_poison_apply(r);
		}
	} while (page < end && !err && !scan_err);
	return err ? err : scan_err;
}

int annex_poison_clear(struct annex_range *r, struct annex_hdm *hdm, u64 offset, u64 bytes)
{
	struct annex_piece *piece;
	int err = -EACCES;

	if (!bytes || !PAGE_ALIGNED(offset | bytes) || bytes > r->bytes ||
	    offset > r->bytes - bytes)
		return annex_hdm_refuse(hdm, -EINVAL, "clear: 0x%llx + 0x%llx of 0x%llx", offset,
					bytes, r->bytes);
	piece = annex_piece_find(r, offset, bytes);
	if (piece || capable(CAP_SYS_ADMIN))
		err = poison_clear(r, offset >> PAGE_SHIFT, (offset + bytes) >> PAGE_SHIFT);
	else
		annex_hdm_refuse(hdm, err, "clear: 0x%llx + 0x%llx in no piece of yours", offset,
				 bytes);
	if (piece)
		annex_piece_put(piece);
	return err;
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

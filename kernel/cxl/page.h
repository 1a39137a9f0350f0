/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of a range: page tables, struct pages, dma-bufs, poison.
 */
#ifndef ANNEX_PAGE_H
#define ANNEX_PAGE_H

#include <linux/types.h>
#include <uapi/annex_hdm.h>

struct annex_hdm;
struct annex_range;
struct annex_user;
struct vm_area_struct;

/*
 * annex_page_make() - Make the struct pages, bitmaps and packet filter of a range whose decoders
 * are committed. Errors except for -ENOMEM have a line, and need annex_page_unmake().
 */
int annex_page_make(struct annex_range *r);
/* annex_page_unmake() - Undo annex_page_make(), also if it failed. No page may be held. */
void annex_page_unmake(struct annex_range *r);
/* annex_page_mmap() - mmap() of a file. */
int annex_page_mmap(struct annex_user *user, struct vm_area_struct *vma);
/* annex_page_show() - Let faults in a new mapping insert pages, by their offset in the range. */
void annex_page_show(struct annex_range *r, struct vm_area_struct *vma);
/* annex_page_join() - Let a file map the range, until annex_page_leave(). 0 or -ENOMEM. */
int annex_page_join(struct annex_range *r, struct annex_user *user);
void annex_page_leave(struct annex_range *r, struct annex_user *user);
/* annex_page_end() - Make the range ENDING, and remove all pages from page tables. */
void annex_page_end(struct annex_range *r);
/*
 * annex_page_idle() - Whether no page of a range that has ended is held. The next call continues
 * at the first held page.
 */
bool annex_page_idle(struct annex_range *r);
/*
 * annex_page_clear() - Zero bytes *@at to @end of the cacheable or the write-combining part, which
 * are in no page table. On an error *@at has not been reached: -EBUSY: that page is held or
 * poisoned; -ENODEV, -EINTR (killed), -ENOMEM.
 */
int annex_page_clear(struct annex_range *r, u64 *at, u64 end);
/*
 * annex_page_mark_poison() - Mark the pages of bytes @first to @last as poisoned. Returns whether
 * one of them is new: then annex_page_unmap_poison() must unmap them. Under the view.
 */
bool annex_page_mark_poison(struct annex_range *r, u64 first, u64 last);
void annex_page_unmap_poison(struct annex_range *r, u64 first, u64 last);
/* annex_page_restore() - Zero @n pages whose poison was cleared, and make them accessible. */
void annex_page_restore(struct annex_range *r, const unsigned long *pages, unsigned int n);

/* export.c: memory of a range as a dma-buf, for direct access by other devices. */
int annex_range_export(struct annex_range *r, struct annex_hdm *hdm, struct annex_ioc_dmabuf *args);

/* poison.c: the poison lists of devices, applied to the pages of a range. */
void annex_poison_apply(struct annex_range *r);
/* annex_poison_update() - Apply the list of a device, which may have changed, to its range. */
void annex_poison_update(struct annex_hdm *hdm);
/*
 * annex_poison_list() - Copy runs of poisoned pages to @list, which has @room for them, without the
 * first @first. Returns the number of runs; @count: the range's @poison_count with this list.
 */
u32 annex_poison_list(struct annex_range *r, struct annex_ioc_seg *list, u32 first, u32 room,
		      u64 *count);
/* annex_poison_clear() - ANNEX_IOC_HDM_CLEAR. */
int annex_poison_clear(struct annex_range *r, struct annex_hdm *hdm, u64 offset, u64 bytes);
/* annex_poison_records() - The same of a device's list. */
u32 annex_poison_records(struct annex_hdm *hdm, struct annex_ioc_seg *list, u32 first, u32 room);

#endif

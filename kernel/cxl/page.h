/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of a range: page tables, struct pages, and references to them.
 */
#ifndef ANNEX_PAGE_H
#define ANNEX_PAGE_H

#include <linux/types.h>

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
/* annex_page_join() - Let a file map the range, until annex_page_leave(). */
void annex_page_join(struct annex_range *r, struct annex_user *user);
void annex_page_leave(struct annex_range *r, struct annex_user *user);
/* annex_page_end() - Make the range ENDING, and remove all pages from page tables. */
void annex_page_end(struct annex_range *r);
/*
 * annex_page_idle() - Whether no page of a range that has ended is held. The next call continues
 * at the first held page.
 */
bool annex_page_idle(struct annex_range *r);
/*
 * annex_page_strike() - Mark the pages of bytes @first to @last as poisoned. Returns whether one of
 * them is new: then annex_page_struck() must remove them from page tables. Under the view.
 */
bool annex_page_strike(struct annex_range *r, u64 first, u64 last);
void annex_page_struck(struct annex_range *r, u64 first, u64 last);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of a range: their place in page tables, and references to them.
 */
#ifndef ANNEX_PAGE_H
#define ANNEX_PAGE_H

#include <linux/types.h>

struct annex_range;
struct annex_user;
struct vm_area_struct;

/*
 * annex_page_make() - Make the pages of a range whose decoders are committed, and what goes with
 * them. Errors have a line but for -ENOMEM, and leave it to annex_page_unmake().
 */
int annex_page_make(struct annex_range *r);
/* annex_page_unmake() - Take away what there is. Nobody holds a page. */
void annex_page_unmake(struct annex_range *r);
/* annex_page_mmap() - mmap() of a file. */
int annex_page_mmap(struct annex_user *user, struct vm_area_struct *vma);
/* annex_page_show() - Have faults in a new mapping show the range, by offsets in the range. */
void annex_page_show(struct annex_range *r, struct vm_area_struct *vma);
/* annex_page_join() - Let a file map the range, until annex_page_leave(). */
void annex_page_join(struct annex_range *r, struct annex_user *user);
void annex_page_leave(struct annex_range *r, struct annex_user *user);
/* annex_page_end() - Remove all pages from page tables, and let no more in: the range is ENDING. */
void annex_page_end(struct annex_range *r);
/*
 * annex_page_idle() - Whether nobody holds a page of a range that has ended. The next call begins
 * at the page that was held.
 */
bool annex_page_idle(struct annex_range *r);
/*
 * annex_page_strike() - Mark the pages of bytes @first to @last as poisoned. Returns whether one is
 * new: then annex_page_struck() removes them from all page tables. Under the view.
 */
bool annex_page_strike(struct annex_range *r, u64 first, u64 last);
void annex_page_struck(struct annex_range *r, u64 first, u64 last);

#endif

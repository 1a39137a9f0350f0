/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range's pages: what user space has of them in its page tables, and who holds them.
 */
#ifndef ANNEX_PAGE_H
#define ANNEX_PAGE_H

#include <linux/types.h>

struct annex_range;
struct annex_user;
struct dev_pagemap;
struct vm_area_struct;

/* annex_page_mmap() - mmap() of a file. */
int annex_page_mmap(struct annex_user *user, struct vm_area_struct *vma);
/* annex_page_join() - A file's page tables may have the range from now on; annex_page_leave(). */
void annex_page_join(struct annex_range *r, struct annex_user *user);
void annex_page_leave(struct annex_range *r, struct annex_user *user);
/* annex_page_exit() - The calling process ends: what it has of a file's pieces is free. */
void annex_page_exit(struct annex_range *r, struct annex_user *user);
/* annex_page_end() - No page table has any of it, nor will. */
void annex_page_end(struct annex_range *r);
/* annex_page_idle() - Nobody holds a page of it. Only of one that has ended. */
bool annex_page_idle(struct annex_range *r);
/*
 * annex_page_strike() - Bytes from @first to @last have pages that must not be touched any more.
 * Whether that is new: then annex_page_struck() takes them out of all page tables. Under the view.
 */
bool annex_page_strike(struct annex_range *r, u64 first, u64 last);
void annex_page_struck(struct annex_range *r, u64 first, u64 last);
/* annex_page_failure() - The kernel found that memory of these pages is lost. */
int annex_page_failure(struct dev_pagemap *pgmap, unsigned long pfn, unsigned long n, int flags);
/*
 * annex_page_piece() - Uncached pages for this process by a file; @offset in the range. -ENOSPC;
 * -EMFILE: the process has its share.
 */
int annex_page_piece(struct annex_range *r, struct annex_user *user, u64 bytes, u64 *offset);

#endif

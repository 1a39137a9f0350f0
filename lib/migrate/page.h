/* SPDX-License-Identifier: MIT */
/*
 * Pages of a space: what programs see of them, and their copies below. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_PAGE_H
#define ANNEX_MIGRATE_PAGE_H

#include <sys/mman.h>
#include "space.h"

/* Of UFFDIO_CONTINUE, since Linux 6.4; not in all headers: pages are clean. */
#define CONTINUE_MODE_WP (1ull << 1)

/* Since Linux 5.14; not in all headers. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Neighbours from @first on, @n at most, that agree in @mask of their flags with the first. */
uint32_t annex_pages_alike(const struct annex_space *s, uint32_t first, uint32_t n, uint8_t mask);

/* Pages like @page in @mask around it, neighbours of each other, that one touch brings. */
uint32_t annex_pages_around(const struct annex_space *s, uint32_t page, uint8_t mask, uint32_t *n);

/* Whether a program waits for one of them. */
bool annex_pages_wanted(const struct annex_space *s, uint32_t first, uint32_t n);

/* Show pages that are in the device tier, and are not busy, to programs. */
void annex_pages_show(struct annex_space *s, uint32_t first, uint32_t n);

/* Programs do not see them any more, and wait if they want them. Return: false: they still do. */
bool annex_pages_hide(struct annex_space *s, uint32_t first, uint32_t n);

/*
 * Give their memory back, and all mappings of it: of busy pages, also without the lock; and, with
 * it, that they are not in the device tier any more.
 */
void annex_pages_release(struct annex_space *s, uint32_t first, uint32_t n);
void annex_pages_gone(struct annex_space *s, uint32_t first, uint32_t n);

/* Both. Their data must be elsewhere, or not be wanted. */
void annex_pages_drop(struct annex_space *s, uint32_t first, uint32_t n);

/* Their copies below are no longer good. */
void annex_pages_forget(struct annex_space *s, uint32_t first, uint32_t n);

/* Somebody is about to write shown ones: they are no longer clean. */
void annex_pages_dirty(struct annex_space *s, uint32_t first, uint32_t n);

/* A program that touches them has a SIGSEGV; and no more. */
void annex_pages_fence(struct annex_space *s, uint32_t first, uint32_t n);
void annex_pages_unfence(struct annex_space *s, uint32_t first, uint32_t n);

#endif

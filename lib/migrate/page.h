/* SPDX-License-Identifier: MIT */
/*
 * Pages of a space: their mappings for programs, and their copies below. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_PAGE_H
#define ANNEX_MIGRATE_PAGE_H

#include <sys/mman.h>
#include "space.h"

/* Mode of UFFDIO_CONTINUE: map pages write-protected. Since Linux 6.4; not in all headers. */
#define CONTINUE_MODE_WP (1ull << 1)

/* Since Linux 5.14; not in all headers. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Since Linux 5.18; not in all headers. */
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

/* Number of neighbours from @first on, at most @n, whose flags agree with the first in @mask. */
uint32_t annex_pages_alike(const struct annex_space *s, uint32_t first, uint32_t n, uint8_t mask);

/* Neighbours around @page that agree with it in @mask, and that one page fault brings in. */
uint32_t annex_pages_around(const struct annex_space *s, uint32_t page, uint8_t mask, uint32_t *n);

/* Whether a program waits for one of them. */
bool annex_pages_wanted(const struct annex_space *s, uint32_t first, uint32_t n);

/* Map pages that are in the device tier, and are not busy, for programs. */
void annex_pages_show(struct annex_space *s, uint32_t first, uint32_t n);

/* Unmap pages from programs, which then wait if they access them. Return: false: it failed. */
bool annex_pages_hide(struct annex_space *s, uint32_t first, uint32_t n);

/*
 * Free the memory of pages with all mappings of it, for busy pages also without the lock; and
 * record that they are no longer in the device tier, with the lock.
 */
void annex_pages_release(struct annex_space *s, uint32_t first, uint32_t n);
void annex_pages_gone(struct annex_space *s, uint32_t first, uint32_t n);

/* Both. Their data must have a copy, or not be needed. */
void annex_pages_drop(struct annex_space *s, uint32_t first, uint32_t n);

/* Invalidate and free their copies below. */
void annex_pages_forget(struct annex_space *s, uint32_t first, uint32_t n);

/* Make mapped pages writable: they are no longer clean. */
void annex_pages_dirty(struct annex_space *s, uint32_t first, uint32_t n);

/* Let accesses of programs end with a SIGSEGV; undo that. */
void annex_pages_fence(struct annex_space *s, uint32_t first, uint32_t n);
void annex_pages_unfence(struct annex_space *s, uint32_t first, uint32_t n);

#endif

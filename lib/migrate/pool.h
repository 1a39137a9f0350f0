/* SPDX-License-Identifier: MIT */
/*
 * The device tier in private memory, whose pages UFFDIO_MOVE (Linux 6.8) moves without a copy. A
 * page of the tier has its memory at @base while it is shown, and otherwise at @alias, where
 * transfers use it. When the page leaves, its memory stays there, idle, until the same page or
 * another one comes: so it is neither allocated nor cleared nor freed each time.
 *
 * Pages in use and idle ones together exceed the tier's size only for a moment.
 */
#ifndef ANNEX_MIGRATE_POOL_H
#define ANNEX_MIGRATE_POOL_H

#include "space.h"

/* Make the mappings, and watch @base. Return: 0; a negative errno: there is no pool. */
int annex_pool_start(struct annex_space *s);
void annex_pool_stop(struct annex_space *s);

/*
 * Move pages from @alias to @base, @clean ones write-protected; or back. @wake: threads that wait
 * for any of them. Return: number of pages until an error, which is in errno. The space's lock is
 * held.
 */
uint32_t annex_pool_show(struct annex_space *s, uint32_t first, uint32_t n, bool clean, bool wake);
uint32_t annex_pool_hide(struct annex_space *s, uint32_t first, uint32_t n, bool clean);

/*
 * Write-protect pages at @base, for a transfer that reads them there. Return: false: some are not
 * there.
 */
bool annex_pool_protect(struct annex_space *s, uint32_t first, uint32_t n);

/* Pages were charged, and will take memory, which is not freed until then. The space's lock is
 * held. */
void annex_pool_expect(struct annex_space *s, int64_t n);

/*
 * Get memory for expected pages, with undefined contents or zeroes; leave that of hidden pages
 * idle. The pages are busy, or the space's lock is held. Return: 0; a negative errno.
 */
int annex_pool_take(struct annex_space *s, uint32_t first, uint32_t n, bool zeroes);
void annex_pool_give(struct annex_space *s, uint32_t first, uint32_t n);

/* Number of idle pages beyond the tier's size. The space's lock is held. */
uint32_t annex_pool_excess(struct annex_space *s);

/* Free idle pages, at most @most. */
void annex_pool_trim(struct annex_space *s, uint32_t most);

#endif

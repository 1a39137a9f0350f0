/* SPDX-License-Identifier: MIT */
/*
 * A flash translation layer that maps pages: it says where each logical page lies. Pages that are
 * written go to the open block of the plane that is idle first; of those that are, one after the
 * other. When a plane has few erased blocks,
 * garbage collection takes its block with the fewest valid pages, writes those again, and erases it
 * (greedy).
 *
 * It neither moves data nor takes time: its owner hears of every program and erase, in the order
 * that they must have, and does both. One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_FTL_H
#define ANNEX_HDM_SSD_FTL_H

#include <stdbool.h>
#include <stdint.h>
#include "geometry.h"

/*
 * Erased blocks that each plane keeps: one to open while another block is cleared, and one more,
 * since a collection that a power cut ended has taken the first.
 */
#define FTL_FREE 2u
#define FTL_NONE UINT32_MAX

struct ftl;

/**
 * struct ftl_ops - The owner's part. Pages and blocks of the flash are numbered through, one
 * plane after the other.
 * @program: the page @to gets what @from holds, or, if that is FTL_NONE, what is being written, as
 *	the copy of the logical page @page. If it fails, the page that it copies stays valid.
 * @erase: a block is erased; none of its pages is valid.
 * @busy: how long a plane will be; NULL: none ever is.
 */
struct ftl_ops {
	int (*program)(void *ctx, uint32_t to, uint32_t from, uint32_t page);
	void (*erase)(void *ctx, uint32_t block);
	uint64_t (*busy)(void *ctx, uint32_t plane);
};

/**
 * struct ftl_found - Contents of flash when its power came back.
 * @holds: of each page, the logical page of which it is the newest copy; FTL_NONE.
 * @programmed: of each block, pages that cannot be programmed before it is erased.
 * @worn: of each block, its erases.
 */
struct ftl_found {
	const uint32_t *holds, *programmed, *worn;
};

/**
 * struct ftl_stats - Since the beginning. Write amplification is (@written + @copied) / @written.
 * @written: pages, by the owner. @copied: by garbage collection.
 * @erased: blocks. @least_worn, @most_worn: erases of a block.
 * @valid: logical pages that hold something now.
 */
struct ftl_stats {
	uint64_t written, copied, erased;
	uint32_t least_worn, most_worn;
	uint32_t valid;
};

/*
 * ftl_create() - Erased flash that shows @logical pages, which ssd_geometry_check() has found
 * possible. @ops and @ctx are used by ftl_write(). NULL: out of memory.
 */
struct ftl *ftl_create(const struct ssd_geometry *g, uint32_t logical, const struct ftl_ops *ops,
		       void *ctx);
void ftl_destroy(struct ftl *f);

/*
 * ftl_restore() - Go on with such flash; @f is fresh. It may collect garbage.
 * Return: 0; -EILSEQ: nobody can have left it so, since no block can be cleared; an error of
 * @program.
 */
int ftl_restore(struct ftl *f, const struct ftl_found *found);

/* ftl_find() - Where a logical page lies; FTL_NONE: it holds nothing. */
uint32_t ftl_find(const struct ftl *f, uint32_t page);

/* ftl_collects() - Whether the next ftl_write() has to collect garbage first. */
bool ftl_collects(const struct ftl *f);

/*
 * ftl_write() - A logical page gets a new place, and the old one is worth nothing: it is not erased
 * before the new one has been programmed. Return: 0, or an error of @program: it keeps the old one.
 */
int ftl_write(struct ftl *f, uint32_t page);

/* ftl_worn() - Erases of a block. */
uint32_t ftl_worn(const struct ftl *f, uint32_t block);

/* ftl_trim() - A logical page holds nothing any more. */
void ftl_trim(struct ftl *f, uint32_t page);

void ftl_get_stats(const struct ftl *f, struct ftl_stats *out);

#endif

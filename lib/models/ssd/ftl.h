/* SPDX-License-Identifier: MIT */
/*
 * A page-mapped flash translation layer. A write goes to the open block of the plane that is idle
 * first, round robin among idle planes. flash/blocks.h chooses the blocks to write and to collect.
 *
 * It neither moves data nor takes time: it calls its owner for every program and erase, in order.
 * One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_FTL_H
#define ANNEX_HDM_SSD_FTL_H

#include <stdbool.h>
#include <stdint.h>
#include "flash/blocks.h"
#include "geometry.h"

#define FTL_NONE UINT32_MAX

struct ftl;

/**
 * struct ftl_ops - Operations of the owner. Pages and blocks of the flash are numbered plane by
 * plane.
 * @program: program page @to with the contents of page @from, or with the bytes of the write if
 *	that is FTL_NONE, as the copy of the logical page @page. On an error the old copy stays
 *	valid.
 * @erase: erase a block, which has no valid pages.
 * @busy: time until a plane is idle; NULL: planes are always idle.
 */
struct ftl_ops {
	int (*program)(void *ctx, uint32_t to, uint32_t from, uint32_t page);
	void (*erase)(void *ctx, uint32_t block);
	uint64_t (*busy)(void *ctx, uint32_t plane);
};

/**
 * struct ftl_found - Contents of flash after a start.
 * @holds: for each page, the logical page whose newest copy it has, or FTL_NONE.
 * @programmed: for each block, pages that cannot be programmed before an erase.
 * @worn: for each block, its number of erases.
 */
struct ftl_found {
	const uint32_t *holds, *programmed, *worn;
};

/**
 * struct ftl_stats - Counters. Write amplification is (@written + @copied) / @written.
 * @written: pages written by the owner.
 * @copied: pages copied by garbage collection.
 * @erased: erased blocks.
 * @least_worn: fewest erases of a block.
 * @most_worn: most erases of a block.
 * @valid: logical pages that are not empty.
 */
struct ftl_stats {
	uint64_t written, copied, erased;
	uint32_t least_worn, most_worn;
	uint32_t valid;
};

/*
 * ftl_create() - Create erased flash with @logical logical pages, checked by ssd_geometry_check().
 * ftl_write() and ftl_restore() call @ops with @ctx. NULL: out of memory.
 */
struct ftl *ftl_create(const struct ssd_geometry *g, uint32_t logical, const struct ftl_ops *ops,
		       void *ctx);
void ftl_destroy(struct ftl *f);

/*
 * ftl_restore() - Restore a fresh @f to these contents. This may collect garbage.
 * Return: 0; -EILSEQ: impossible contents, since no block can be collected; an error of @program.
 */
int ftl_restore(struct ftl *f, const struct ftl_found *found);

/* ftl_find() - The place of a logical page; FTL_NONE: empty. */
uint32_t ftl_find(const struct ftl *f, uint32_t page);

/* ftl_collects() - Whether the next ftl_write() has to collect garbage first. */
bool ftl_collects(const struct ftl *f);

/*
 * ftl_write() - Move a logical page to a new place. The old place is not erased before the new one
 * has been programmed. Return: 0, or an error of @program: the page keeps its old place.
 */
int ftl_write(struct ftl *f, uint32_t page);

/* ftl_worn() - Number of erases of a block. */
uint32_t ftl_worn(const struct ftl *f, uint32_t block);

/* ftl_trim() - Empty a logical page. */
void ftl_trim(struct ftl *f, uint32_t page);

void ftl_get_stats(const struct ftl *f, struct ftl_stats *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Pages of files in host memory. Of each line a page knows whether it is here, and whether the
 * device has it. The device's DRAM does not cache what is read for them (block reads go past it).
 */
#ifndef ANNEX_FS_PAGE_H
#define ANNEX_FS_PAGE_H

#include "fs.h"

struct fs_page {
	struct fs_page *next; /* of its chain */
	struct fs_page *newer, *older;
	struct fs_page *before, *behind; /* of its file */
	struct fs_page *next_dirty;
	struct fs_node *node;
	uint32_t index;
	bool hole; /* the file has no block for it; of a page that is dirty */
	bool own;  /* a block is reserved for it; else it is written to the one that it has */
	uint64_t valid, dirty;
	uint8_t data[FS_BLOCK];
};

#define FS_DIRTY 256u /* pages of a file that are dirty at most: those of a write */

int fs_pages_init(struct fs_pages *p, uint64_t bytes);
void fs_pages_free(struct fs_pages *p);

/* fs_pages_trim() - Give back pages that are not dirty, and have not been used for long. */
void fs_pages_trim(struct fs_pages *p);

/* fs_page_get() - A page with the lines @need; those that the file does not have are zero. */
int fs_page_get(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint64_t need,
		struct fs_page **out);

/* fs_page_find() - A page that is here; NULL. */
struct fs_page *fs_page_find(struct annex_fs *fs, const struct fs_node *n, uint32_t index);

/*
 * fs_claim_page() - Add the needs of a page that gets dirty to a claim on its file. -ENOSPC: there
 * are no blocks for it. -E2BIG: the transaction that writes the file back would not fit.
 * fs_claim_take() - Pages with the claim get dirty: it is the file's now. A claim begins with the
 * @leaf of the file's.
 * fs_page_soil() - Lines of a page are dirty.
 */
int fs_claim_page(struct annex_fs *fs, struct fs_page *p, struct fs_claim *c);
void fs_claim_take(struct annex_fs *fs, struct fs_node *n, const struct fs_claim *c);
void fs_page_soil(struct annex_fs *fs, struct fs_page *p, uint64_t lines);

/* fs_pages_write() - All dirty pages of a file go with the operation. fs_pages_clean() - It has
 * been committed. */
int fs_pages_write(struct annex_fs *fs, struct fs_node *n, uint32_t alpha);
void fs_pages_clean(struct annex_fs *fs, struct fs_node *n);

/* fs_node_change() - The operation changes the inode. Earlier writes to the file go with it, so
 * that a size is never there before its bytes. */
int fs_node_change(struct annex_fs *fs, struct fs_node *n);

/* fs_pages_ahead() - Have @count pages from @index on, as far as the file has them. */
int fs_pages_ahead(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t count);

/*
 * fs_pages_through() - Read whole pages from @index on that are not here, and keep none.
 * @count: how many are wanted, and then how many were read: 0 if the first is here, or has no bytes
 * on the device.
 */
int fs_pages_through(struct annex_fs *fs, struct fs_node *n, uint32_t index, void *to,
		     uint32_t *count);

/* fs_pages_cut() - Forget pages [@from, @end). */
void fs_pages_cut(struct annex_fs *fs, struct fs_node *n, uint32_t from, uint32_t end);

#endif

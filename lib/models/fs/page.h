/* SPDX-License-Identifier: MIT */
/*
 * Pages of files in host memory, with a valid bit and a dirty bit for each line. The device's DRAM
 * does not cache them: block reads bypass it.
 */
#ifndef ANNEX_FS_PAGE_H
#define ANNEX_FS_PAGE_H

#include "fs.h"

/*
 * struct fs_page - A page.
 * @next: next page in its hash chain.
 * @newer: next page in LRU order.
 * @older: previous page in LRU order.
 * @before: previous page of its file.
 * @behind: next page of its file.
 * @next_dirty: next dirty page of its file.
 * @node: its file.
 * @index: its number in the file.
 * @hole: dirty, and the file has no block for it.
 * @own: dirty, and written to a reserved block; else written to the file's block.
 * @valid: valid lines.
 * @dirty: dirty lines.
 * @data: the contents.
 */
struct fs_page {
	struct fs_page *next;
	struct fs_page *newer, *older;
	struct fs_page *before, *behind;
	struct fs_page *next_dirty;
	struct fs_node *node;
	uint32_t index;
	bool hole;
	bool own;
	uint64_t valid, dirty;
	uint8_t data[FS_BLOCK];
};

#define FS_DIRTY 256u /* dirty pages of a file at most */

int fs_pages_init(struct fs_pages *p, uint64_t bytes);
void fs_pages_free(struct fs_pages *p);

/* fs_pages_trim() - Free least recently used clean pages. */
void fs_pages_trim(struct fs_pages *p);

/* fs_page_get() - Get a page with valid lines @need; lines beyond the file's data are zero. */
int fs_page_get(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint64_t need,
		struct fs_page **out);

/* fs_page_find() - Find a page in memory, or NULL. */
struct fs_page *fs_page_find(struct annex_fs *fs, const struct fs_node *n, uint32_t index);

/*
 * fs_claim_page() - Add the needs of a page to a claim, before the page becomes dirty. -ENOSPC: no
 * free blocks. -E2BIG: the write-back of the file would not fit in a transaction.
 * fs_claim_take() - Add a claim to its file's. A new claim starts with the @leaf of the file's.
 * fs_page_mark_dirty() - Mark lines of a page as dirty.
 */
int fs_claim_page(struct annex_fs *fs, struct fs_page *p, struct fs_claim *c);
void fs_claim_take(struct annex_fs *fs, struct fs_node *n, const struct fs_claim *c);
void fs_page_mark_dirty(struct annex_fs *fs, struct fs_page *p, uint64_t lines);

/* fs_pages_write() - Write all dirty pages of a file in the operation. fs_pages_clean() - Mark them
 * as clean after its commit. */
int fs_pages_write(struct annex_fs *fs, struct fs_node *n, uint32_t alpha);
void fs_pages_clean(struct annex_fs *fs, struct fs_node *n);

/* fs_node_change() - Note that the operation changes the inode. It writes the file's dirty pages
 * too, so a size is never durable before its bytes. */
int fs_node_change(struct annex_fs *fs, struct fs_node *n);

/* fs_pages_ahead() - Read ahead @count pages of the file from @index on. */
int fs_pages_ahead(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t count);

/*
 * fs_pages_through() - Read whole pages from @index on without caching them.
 * @count: number of pages to read, and then of pages read: 0 if the first page is in memory or has
 * no bytes on the device.
 */
int fs_pages_through(struct annex_fs *fs, struct fs_node *n, uint32_t index, void *to,
		     uint32_t *count);

/* fs_pages_cut() - Drop pages [@from, @end). */
void fs_pages_cut(struct annex_fs *fs, struct fs_node *n, uint32_t from, uint32_t end);

#endif

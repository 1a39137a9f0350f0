// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "bitmap.h"
#include "dev.h"
#include "map.h"
#include "op.h"
#include "page.h"

#define FEW 8u          /* lines that are read singly in place of a block */
#define MOST_LINES 512u /* lines that an operation stores; it writes more pages as blocks */

/*
 * The highest cost of a claim: annex_fs_rename() writes two files back in one operation, and
 * changes names.
 */
#define MOST_CLAIMED (FS_OP_LINES / 2 - MOST_LINES - 256)
#define MOST_BLOCKS (FS_OP_BLOCKS / 2 - 16)

int fs_pages_init(struct fs_pages *p, uint64_t bytes)
{
	p->limit = (uint32_t)(bytes / FS_BLOCK < UINT32_MAX / 4 ? bytes / FS_BLOCK
								: UINT32_MAX / 4);
	p->limit = p->limit > FS_DIRTY * 2 ? p->limit : FS_DIRTY * 2;
	for (p->size = 1024; p->size < p->limit; p->size *= 2)
		;
	p->chains = calloc(p->size, sizeof(struct fs_page *));
	return p->chains ? 0 : annex_fail(-ENOMEM, "file system: out of memory");
}

static struct fs_page **chain(const struct fs_pages *p, uint32_t ino, uint32_t index)
{
	return &p->chains[(ino * 0x9e3779b1u + index * 0x85ebca77u) % p->size];
}

static void unlist(struct fs_pages *p, struct fs_page *page)
{
	*(page->older ? &page->older->newer : &p->oldest) = page->newer;
	*(page->newer ? &page->newer->older : &p->newest) = page->older;
}

static void list(struct fs_pages *p, struct fs_page *page)
{
	page->newer = NULL;
	page->older = p->newest;
	*(p->newest ? &p->newest->newer : &p->oldest) = page;
	p->newest = page;
}

static void give(struct fs_pages *p, struct fs_page *page)
{
	struct fs_page **at = chain(p, page->node->ino, page->index);

	while (*at != page)
		at = &(*at)->next;
	*at = page->next;
	unlist(p, page);
	*(page->before ? &page->before->behind : &page->node->pages) = page->behind;
	if (page->behind)
		page->behind->before = page->before;
	p->n--;
	free(page);
}

void fs_pages_free(struct fs_pages *p)
{
	while (p->oldest)
		give(p, p->oldest);
	free(p->chains);
}

void fs_pages_trim(struct fs_pages *p)
{
	struct fs_page *page = p->oldest, *newer;

	for (; page && p->n > p->limit; page = newer) {
		newer = page->newer;
		if (!page->dirty)
			give(p, page);
	}
}

struct fs_page *fs_page_find(struct annex_fs *fs, const struct fs_node *n, uint32_t index)
{
	struct fs_page *page = *chain(&fs->pages, n->ino, index);

	while (page && (page->node != n || page->index != index))
		page = page->next;
	if (page) {
		unlist(&fs->pages, page);
		list(&fs->pages, page);
	}
	return page;
}

static struct fs_page *add(struct annex_fs *fs, struct fs_node *n, uint32_t index)
{
	struct fs_pages *p = &fs->pages;
	struct fs_page *page = malloc(sizeof(*page));

	if (!page) {
		annex_fail(-ENOMEM, "file system: out of memory");
		return NULL;
	}
	memset(page, 0, offsetof(struct fs_page, data));
	page->node = n;
	page->index = index;
	page->next = *chain(p, n->ino, index);
	*chain(p, n->ino, index) = page;
	list(p, page);
	page->behind = n->pages;
	if (n->pages)
		n->pages->before = page;
	n->pages = page;
	p->n++;
	return page;
}

/* Find the next run of set bits of @mask from *@first on. *@end: its end. */
static bool run(uint64_t mask, uint32_t *first, uint32_t *end)
{
	if (*end >= FS_LINES || !(mask >> *end))
		return false;
	*first = *end + (uint32_t)__builtin_ctzll(mask >> *end);
	for (*end = *first; *end < FS_LINES && mask >> *end & 1; ++*end)
		;
	return true;
}

static void zero(struct fs_page *page)
{
	uint32_t first, end = 0;

	while (run(~page->valid, &first, &end))
		memset(page->data + first * FS_LINE, 0, (size_t)(end - first) * FS_LINE);
	page->valid = FS_ALL;
}

/* Read consecutive blocks of a file. */
static int read_blocks(struct annex_fs *fs, uint32_t block, void *buf, uint32_t n)
{
	return fs->twice ? fs_dev_read(&fs->dev, ANNEX_FS_DATA, (uint64_t)block * FS_BLOCK, buf,
				       (size_t)n * FS_BLOCK)
			 : fs_dev_read_blocks(&fs->dev, ANNEX_FS_DATA, block, buf, n);
}

/* Read a block to fill all invalid lines. */
static int fill_block(struct annex_fs *fs, struct fs_page *page, uint32_t block)
{
	uint8_t whole[FS_BLOCK], *to = page->valid ? whole : page->data;
	uint32_t first, end = 0;
	int err = read_blocks(fs, block, to, 1);

	if (err)
		return err;
	while (to == whole && run(~page->valid, &first, &end))
		memcpy(page->data + first * FS_LINE, whole + first * FS_LINE,
		       (size_t)(end - first) * FS_LINE);
	page->valid = FS_ALL;
	return 0;
}

static int fill_lines(struct annex_fs *fs, struct fs_page *page, uint32_t block, uint64_t lacks)
{
	uint32_t first, end = 0;
	int err = 0;

	while (!err && run(lacks, &first, &end))
		err = fs_dev_read(&fs->dev, ANNEX_FS_DATA,
				  (uint64_t)block * FS_BLOCK + first * FS_LINE,
				  page->data + first * FS_LINE, (size_t)(end - first) * FS_LINE);
	if (!err)
		page->valid |= lacks;
	return err;
}

static bool is_written(uint32_t pointer)
{
	return pointer && !(pointer & FS_UNWRITTEN);
}

/* Read the lines @need of a page. */
static int fill(struct annex_fs *fs, struct fs_page *page, uint64_t need)
{
	const uint64_t lacks = need & ~page->valid;
	uint32_t pointer;
	int err;

	if (!lacks)
		return 0;
	err = fs_map_get(fs, page->node, page->index, &pointer);
	if (err)
		return err;
	if (!is_written(pointer)) {
		zero(page);
		return 0;
	}
	return fs->twice || fs->super.n_journal || __builtin_popcountll(lacks) > (int)FEW
		       ? fill_block(fs, page, pointer)
		       : fill_lines(fs, page, pointer, lacks);
}

int fs_page_get(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint64_t need,
		struct fs_page **out)
{
	*out = fs_page_find(fs, n, index);
	if (!*out)
		*out = add(fs, n, index);
	return *out ? fill(fs, *out, need) : -ENOMEM;
}

/*
 * Blocks of metadata that a page changes: one of the bitmap. The first page of a leaf adds the
 * leaf, and three blocks for each new node: the node, which the journal counts twice, and its
 * bitmap.
 */
static uint32_t cost_blocks(const struct fs_page *p, uint32_t pointer, uint32_t nodes, bool leaf)
{
	return is_written(pointer) ? 0 : p->own + (leaf ? 1 + 3 * nodes : 0);
}

/*
 * Lines that a page changes: its pointer, the bits of its old and new block, and a pointer and a
 * bit for each new node. Without a new block, all lines of the page.
 */
static uint32_t cost_lines(const struct fs_page *p, uint32_t pointer, uint32_t nodes)
{
	return is_written(pointer) && !p->own ? FS_LINES : 3 + 2 * nodes;
}

/* The map does not change while pages are dirty, since an operation that changes it writes them. So
 * missing nodes are counted once for the pages of a leaf. */
int fs_claim_page(struct annex_fs *fs, struct fs_page *p, struct fs_claim *c)
{
	const uint32_t leaf = 1 + p->index / FS_FAN;
	const struct fs_node *n = p->node;
	uint32_t pointer, nodes, cost;
	int err = p->dirty ? 0 : fs_map_find(fs, n, p->index, &pointer, &nodes);

	if (err || p->dirty)
		return err;
	nodes = leaf == c->leaf ? 0 : nodes;
	/* Replace a written block, if another one is free. */
	p->hole = !pointer;
	p->own = p->hole || (is_written(pointer) && !fs->super.n_journal);
	if (fs->blocks.free < fs->reserved + c->blocks + p->own + nodes) {
		if (p->hole)
			return -ENOSPC;
		p->own = false;
	}
	cost = fs->super.n_journal ? cost_blocks(p, pointer, nodes, leaf != c->leaf)
				   : cost_lines(p, pointer, nodes);
	if (n->claim.cost + c->cost + cost > (fs->super.n_journal ? MOST_BLOCKS : MOST_CLAIMED))
		return -E2BIG;
	c->blocks += p->own + nodes;
	c->cost += cost;
	if (!is_written(pointer) && (nodes || n->i.height))
		c->leaf = leaf;
	return 0;
}

void fs_claim_take(struct annex_fs *fs, struct fs_node *n, const struct fs_claim *c)
{
	n->claim.blocks += c->blocks;
	n->claim.cost += c->cost;
	n->claim.leaf = c->leaf;
	fs->reserved += c->blocks;
}

void fs_page_mark_dirty(struct annex_fs *fs, struct fs_page *p, uint64_t lines)
{
	struct fs_node *n = p->node;

	if (!p->dirty) {
		p->next_dirty = n->dirty;
		n->dirty = p;
		n->n_dirty++;
		n->n_holes += p->hole;
		fs->pages.n_dirty++;
	}
	p->dirty |= lines;
	p->valid |= lines;
}

/* Store the dirty lines of a page in the transaction. */
static int store_lines(struct annex_fs *fs, const struct fs_page *p, uint32_t block)
{
	uint32_t first, end = 0;
	int err = 0;

	while (!err && run(p->dirty, &first, &end))
		err = fs_op_store(fs, (uint64_t)block * FS_BLOCK + first * FS_LINE,
				  p->data + first * FS_LINE, (end - first) * FS_LINE);
	return err;
}

static int write_block(struct annex_fs *fs, const struct fs_page *p, uint32_t block)
{
	return fs_dev_write_blocks(&fs->dev, ANNEX_FS_DATA, block, p->data, 1);
}

/*
 * Write a page that has a block: by lines into the block, or as a whole to another one, so that a
 * crash before the commit keeps the old one. ANNEX_FS_EXT4_LIKE overwrites it.
 */
static int write_page(struct annex_fs *fs, struct fs_page *p, bool by_lines)
{
	struct fs_node *n = p->node;
	uint32_t pointer, block;
	bool hole;
	int err = fs_map_get(fs, n, p->index, &pointer);

	if (err)
		return err;
	hole = !is_written(pointer);
	if (!hole && fs->super.n_journal) {
		err = fill(fs, p, FS_ALL);
		return err ? err : write_block(fs, p, pointer);
	}
	if (!hole && (by_lines || !p->own))
		return store_lines(fs, p, pointer);
	if (!by_lines || hole)
		err = fill(fs, p, FS_ALL);
	if (!err && pointer & FS_UNWRITTEN)
		block = pointer & ~FS_UNWRITTEN;
	else if (!err)
		err = fs_block_take(fs, n->goal, &block);
	if (err)
		return err;
	n->goal = block + 1;
	n->i.blocks += !pointer;
	if (!hole)
		err = fs_block_give(fs, pointer);
	if (!err)
		err = fs_map_set(fs, n, p->index, block);
	if (err)
		return err;
	if (!by_lines)
		return write_block(fs, p, block);
	err = fs_op_fresh(fs, block);
	return err ? err : store_lines(fs, p, block);
}

static int by_index(const void *a, const void *b)
{
	const struct fs_page *x = *(struct fs_page *const *)a, *y = *(struct fs_page *const *)b;

	return x->index < y->index ? -1 : x->index > y->index;
}

int fs_pages_write(struct annex_fs *fs, struct fs_node *n, uint32_t alpha)
{
	struct fs_page **pages;
	uint32_t i = 0, lines = 0;
	int err;

	if (!n->n_dirty || n->writing)
		return 0;
	pages = malloc(n->n_dirty * sizeof(struct fs_page *));
	if (!pages)
		return annex_fail(-ENOMEM, "file system: out of memory");
	err = fs_op_node(fs, n);
	if (!err)
		err = fs_op_pages(fs, n);
	if (!err) {
		n->writing = true;
		fs->reserved -= n->claim.blocks;
	}
	for (struct fs_page *p = n->dirty; p; p = p->next_dirty)
		pages[i++] = p;
	qsort(pages, i, sizeof(struct fs_page *), by_index);
	for (uint32_t k = 0; !err && k < i; k++) {
		const uint32_t dirty = (uint32_t)__builtin_popcountll(pages[k]->dirty);
		const bool few = !fs->twice && !fs->super.n_journal &&
				 dirty * 100 <= alpha * FS_LINES;

		lines += few ? dirty : 0;
		err = write_page(fs, pages[k], few && lines <= MOST_LINES);
	}
	free(pages);
	return err;
}

int fs_node_change(struct annex_fs *fs, struct fs_node *n)
{
	int err = n->n_dirty ? fs_pages_write(fs, n, fs->alpha) : 0;

	return err ? err : fs_op_node(fs, n);
}

void fs_pages_clean(struct annex_fs *fs, struct fs_node *n)
{
	for (; n->dirty; n->dirty = n->dirty->next_dirty)
		n->dirty->dirty = 0;
	fs->pages.n_dirty -= n->n_dirty;
	n->n_dirty = n->n_holes = 0;
	n->claim = (struct fs_claim){0};
	n->writing = false;
}

/* Mark a page as clean without a write. Keep the nodes in its claim, which other pages may need. */
static void drop_dirty(struct annex_fs *fs, struct fs_page *p)
{
	struct fs_node *n = p->node;
	struct fs_page **at = &n->dirty;

	while (*at != p)
		at = &(*at)->next_dirty;
	*at = p->next_dirty;
	n->n_dirty--;
	n->n_holes -= p->hole;
	fs->pages.n_dirty--;
	fs->reserved -= n->n_dirty ? p->own : n->claim.blocks;
	n->claim.blocks -= p->own;
	if (!n->n_dirty)
		n->claim = (struct fs_claim){0};
	p->dirty = 0;
}

void fs_pages_cut(struct annex_fs *fs, struct fs_node *n, uint32_t from, uint32_t end)
{
	for (struct fs_page *page = n->pages, *behind; page; page = behind) {
		behind = page->behind;
		if (page->index < from || page->index >= end)
			continue;
		if (page->dirty)
			drop_dirty(fs, page);
		give(&fs->pages, page);
	}
}

/* Read a run of pages with consecutive blocks. */
static int fetch(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t count,
		 uint32_t first, uint8_t *buf)
{
	int err = read_blocks(fs, first, buf, count);

	for (uint32_t i = 0; !err && i < count; i++) {
		struct fs_page *page = add(fs, n, index + i);

		if (!page)
			return -ENOMEM;
		memcpy(page->data, buf + (size_t)i * FS_BLOCK, FS_BLOCK);
		page->valid = FS_ALL;
	}
	return err;
}

/*
 * Find a run of up to @most pages from @index on that are not in memory and have consecutive
 * blocks. *@count is 0 if the first page is in memory or has no bytes on the device.
 */
static int find_run(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t most,
		    uint32_t *first, uint32_t *count)
{
	uint32_t pointer;
	int err = fs_map_get(fs, n, index, first);

	*count = 0;
	pointer = *first;
	while (!err && *count < most && pointer && !(pointer & FS_UNWRITTEN) &&
	       pointer == *first + *count && !fs_page_find(fs, n, index + *count)) {
		++*count;
		err = fs_map_get(fs, n, index + *count, &pointer);
	}
	return err;
}

/* Ignore errors of read-ahead: a later access reads the page, or fails. */
int fs_pages_ahead(struct annex_fs *fs, struct fs_node *n, uint32_t index, uint32_t count)
{
	uint8_t *buf = malloc((size_t)count * FS_BLOCK);
	int err = 0;

	while (buf && !err && count) {
		uint32_t first, some;

		err = find_run(fs, n, index, count, &first, &some);
		if (!err && some)
			err = fetch(fs, n, index, some, first, buf);
		some = some ? some : 1;
		index += some;
		count -= some;
	}
	free(buf);
	return err;
}

int fs_pages_through(struct annex_fs *fs, struct fs_node *n, uint32_t index, void *to,
		     uint32_t *count)
{
	uint32_t first;
	int err = find_run(fs, n, index, *count, &first, count);

	return err || !*count ? err : read_blocks(fs, first, to, *count);
}

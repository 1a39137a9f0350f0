// SPDX-License-Identifier: MIT
/*
 * Begin and end of public calls, and contents of files.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "bitmap.h"
#include "dev.h"
#include "file.h"
#include "journal.h"
#include "map.h"
#include "node.h"
#include "op.h"
#include "orphan.h"
#include "page.h"

#define AHEAD 32u        /* pages of a read-ahead */
#define OVER (64u << 10) /* bytes whose lines all fit in the log: fs_claim_page() */

int fs_enter(struct annex_fs *fs, bool changes)
{
	pthread_mutex_lock(&fs->lock);
	if (!changes)
		return 0;
	if (fs->read_only)
		return -EROFS;
	fs_dead_room(fs);
	return fs_commit_room(fs);
}

int fs_leave(struct annex_fs *fs, int err)
{
	err = fs_op_end(fs, err);
	fs_pages_trim(&fs->pages);
	fs_nodes_trim(fs);
	pthread_mutex_unlock(&fs->lock);
	return err;
}

/* Lines of a page that bytes [@from, @end) overlap. */
static uint64_t lines(uint32_t from, uint32_t end)
{
	const uint32_t first = from / FS_LINE, last = (end - 1) / FS_LINE;

	return UINT64_MAX >> (FS_LINES - 1 - last + first) << first;
}

/* Lines that the bytes overlap only in part. */
static uint64_t edges(uint32_t from, uint32_t end)
{
	return (from % FS_LINE ? 1ull << from / FS_LINE : 0) |
	       (end % FS_LINE ? 1ull << end / FS_LINE : 0);
}

/* Clear bytes of one page. A clean page without a block is zero already. */
static int clear(struct annex_fs *fs, struct fs_node *n, uint64_t at, uint32_t bytes)
{
	const uint32_t index = (uint32_t)(at / FS_BLOCK), from = at % FS_BLOCK;
	struct fs_page *p = fs_page_find(fs, n, index);
	struct fs_claim c = {0};
	uint32_t pointer;
	int err = fs_map_get(fs, n, index, &pointer);

	if (err || !bytes || ((!p || !p->dirty) && (!pointer || pointer & FS_UNWRITTEN)))
		return err;
	err = fs_page_get(fs, n, index, lines(from, from + bytes), &p);
	if (!err)
		err = fs_claim_page(fs, p, &c);
	if (err == -E2BIG) {
		c = (struct fs_claim){0};
		err = fs_file_sync(fs, n);
		if (!err)
			err = fs_claim_page(fs, p, &c);
	}
	if (err)
		return err;
	fs_claim_take(fs, n, &c);
	memset(p->data + from, 0, bytes);
	fs_page_mark_dirty(fs, p, lines(from, from + bytes));
	n->i.mtime = n->i.ctime = fs_now();
	n->late = true;
	return 0;
}

int fs_file_resize(struct annex_fs *fs, struct fs_node *n, uint64_t size)
{
	const uint32_t end = (uint32_t)((size + FS_BLOCK - 1) / FS_BLOCK);
	bool more = false;
	int err = 0;

	if (size > FS_SIZE_MAX)
		return -EFBIG;
	if (size < n->i.size) {
		fs_pages_cut(fs, n, end, UINT32_MAX);
		err = clear(fs, n, size, (uint32_t)(end * (uint64_t)FS_BLOCK - size));
	}
	if (!err)
		err = fs_node_change(fs, n);
	if (!err) {
		n->i.mtime = n->i.ctime = fs_now();
		if (size < n->i.size)
			err = fs_map_cut(fs, n, end, UINT32_MAX, &more);
		n->i.size = size;
	}
	if (!err && more)
		err = fs_orphan_add(fs, n);
	err = fs_op_end(fs, err);
	if (err || !more)
		return err;
	err = fs_file_cut(fs, n, end);
	return fs_op_end(fs, err ? err : fs_orphan_remove(fs, n));
}

static int regular(struct annex_fs *fs, uint32_t ino, struct fs_node **n)
{
	int err = fs_node_get(fs, ino, n);

	if (err)
		return err;
	if (S_ISDIR((*n)->i.mode))
		return -EISDIR;
	return S_ISREG((*n)->i.mode) ? 0 : -EINVAL;
}

/* Update the access time as relatime does. */
static void read_now(struct annex_fs *fs, struct fs_node *n)
{
	const int64_t now = fs_now(), day = 86400ll * 1000000000;

	if (fs->read_only ||
	    (n->i.atime > n->i.mtime && n->i.atime > n->i.ctime && n->i.atime > now - day))
		return;
	n->i.atime = now;
	n->late = true;
}

static ssize_t read_pages(struct annex_fs *fs, struct fs_node *n, uint64_t at, char *to,
			  size_t bytes)
{
	const uint32_t first = (uint32_t)(at / FS_BLOCK);
	const uint32_t last = (uint32_t)((at + bytes - 1) / FS_BLOCK);
	const uint32_t ahead = first == n->next_read ? AHEAD : 0;
	size_t done = 0;
	int err = 0;

	if (!fs->through && (last > first || (ahead && !fs_page_find(fs, n, first))))
		err = fs_pages_ahead(fs, n, first, last - first + 1 + ahead);
	while (!err && done < bytes) {
		const uint32_t from = (at + done) % FS_BLOCK;
		const uint32_t most = FS_BLOCK - from;
		const uint32_t m = (uint32_t)(bytes - done < most ? bytes - done : most);
		const uint32_t index = (uint32_t)((at + done) / FS_BLOCK);
		uint32_t whole = fs->through && !from ? (uint32_t)((bytes - done) / FS_BLOCK) : 0;
		struct fs_page *p;

		if (whole)
			err = fs_pages_through(fs, n, index, to + done, &whole);
		done += err ? 0 : (size_t)whole * FS_BLOCK;
		if (err || whole)
			continue;
		err = fs_page_get(fs, n, index, FS_ALL, &p);
		if (err)
			break;
		memcpy(to + done, p->data + from, m);
		done += m;
	}
	n->next_read = last + ((at + bytes) % FS_BLOCK == 0);
	return done ? (ssize_t)done : err;
}

ssize_t annex_fs_read(struct annex_fs *fs, uint32_t ino, uint64_t at, void *buf, size_t bytes)
{
	struct fs_node *n;
	ssize_t done = 0;
	int err = fs_enter(fs, false);

	if (!err)
		err = regular(fs, ino, &n);
	if (!err && at < n->i.size) {
		bytes = bytes < n->i.size - at ? bytes : n->i.size - at;
		if (bytes)
			done = read_pages(fs, n, at, buf, bytes);
		if (done > 0)
			read_now(fs, n);
	}
	err = fs_leave(fs, err);
	return err ? err : done;
}

/*
 * Make room for dirty pages, in this file and in all. Another file that cannot be written back
 * keeps its dirty pages, at most FS_DIRTY.
 */
static int make_room(struct annex_fs *fs, struct fs_node *n, uint32_t pages)
{
	int err = n->n_dirty + pages > FS_DIRTY ? fs_file_sync(fs, n) : 0;
	struct fs_page *p = fs->pages.oldest;
	const struct fs_node *tried = NULL;

	for (; !err && p && fs->pages.n_dirty + pages > fs->pages.limit / 2; p = p->newer) {
		if (!p->dirty || p->node == tried)
			continue;
		tried = p->node;
		err = fs_file_sync(fs, p->node);
		err = tried == n ? err : 0;
	}
	return err;
}

/* Get pages for all bytes, and claim their needs, so that nothing can fail afterwards. */
static int prepare(struct annex_fs *fs, struct fs_node *n, uint64_t at, uint32_t bytes)
{
	struct fs_claim c = {.leaf = n->claim.leaf};
	int err = 0;

	for (uint64_t from = at; !err && from < at + bytes;
	     from = (from / FS_BLOCK + 1) * FS_BLOCK) {
		const uint64_t left = at + bytes - from, most = FS_BLOCK - from % FS_BLOCK;
		const uint32_t end = (uint32_t)(from % FS_BLOCK + (left < most ? left : most));
		struct fs_page *p;

		err = fs_page_get(fs, n, (uint32_t)(from / FS_BLOCK), edges(from % FS_BLOCK, end),
				  &p);
		if (!err)
			err = fs_claim_page(fs, p, &c);
	}
	if (!err)
		fs_claim_take(fs, n, &c);
	return err;
}

static void fill(struct annex_fs *fs, struct fs_node *n, uint64_t at, const char *from,
		 uint32_t bytes)
{
	while (bytes) {
		const uint32_t to = at % FS_BLOCK, most = FS_BLOCK - to;
		const uint32_t m = bytes < most ? bytes : most;
		struct fs_page *p = fs_page_find(fs, n, (uint32_t)(at / FS_BLOCK));

		memcpy(p->data + to, from, m);
		fs_page_mark_dirty(fs, p, lines(to, to + m));
		at += m;
		from += m;
		bytes -= m;
	}
	n->i.size = at > n->i.size ? at : n->i.size;
	n->i.mtime = n->i.ctime = fs_now();
	n->late = true;
}

/* One atomic write: after a crash it is done or not done. */
static int write_one(struct annex_fs *fs, struct fs_node *n, uint64_t at, const char *from,
		     uint32_t bytes)
{
	const uint32_t pages = (uint32_t)((at % FS_BLOCK + bytes + FS_BLOCK - 1) / FS_BLOCK);
	int err = make_room(fs, n, pages);

	if (!err)
		err = prepare(fs, n, at, bytes);
	if (err == -E2BIG) {
		err = fs_file_sync(fs, n);
		if (!err)
			err = prepare(fs, n, at, bytes);
	}
	if (err == -ENOSPC || err == -E2BIG) {
		err = fs_blocks_free(fs);
		if (!err)
			err = prepare(fs, n, at, bytes);
	}
	if (!err)
		fill(fs, n, at, from, bytes);
	return err;
}

ssize_t annex_fs_write(struct annex_fs *fs, uint32_t ino, uint64_t at, const void *buf,
		       size_t bytes)
{
	uint32_t piece = ANNEX_FS_WRITE;
	struct fs_node *n;
	size_t done = 0;
	int err = fs_enter(fs, true);

	if (!err)
		err = regular(fs, ino, &n);
	if (!err && (at > FS_SIZE_MAX || bytes > FS_SIZE_MAX - at))
		err = -EFBIG;
	while (!err && done < bytes) {
		const size_t left = bytes - done, most = piece - (at + done) % FS_BLOCK;
		const uint32_t m = (uint32_t)(left < most ? left : most);

		err = write_one(fs, n, at + done, (const char *)buf + done, m);
		done += err ? 0 : m;
		/* Without free blocks, overwrite the old ones. */
		if (err == -E2BIG && piece > OVER) {
			piece = OVER;
			err = 0;
		}
	}
	err = fs_leave(fs, err);
	return done ? (ssize_t)done : err;
}

static int last(struct annex_fs *fs, const struct fs_node *n)
{
	return fs->super.n_journal ? fs_journal_sync(fs, n) : fs_commit(fs);
}

/* Make everything durable that can be written back, even if some file cannot. */
static int sync_all(struct annex_fs *fs)
{
	const int files = fs_files_sync(fs), dead = fs_dead_end(fs), err = last(fs, NULL);

	return files ? files : dead ? dead : err;
}

static int sync_one(struct annex_fs *fs, uint32_t ino)
{
	struct fs_node *n;
	int err = fs_node_get(fs, ino, &n);

	if (!err)
		err = fs_file_sync(fs, n);
	return err ? err : last(fs, n);
}

int annex_fs_fsync(struct annex_fs *fs, uint32_t ino)
{
	int err = fs_enter(fs, false);

	if (!err && !fs->read_only)
		err = ino ? sync_one(fs, ino) : sync_all(fs);
	return fs_leave(fs, err);
}

/* Free the blocks of whole pages; clear partial pages at the ends. */
static int punch(struct annex_fs *fs, struct fs_node *n, uint64_t at, uint64_t end)
{
	const uint64_t first = (at + FS_BLOCK - 1) / FS_BLOCK, last = end / FS_BLOCK;
	bool more = true;
	int err;

	if (first > last)
		return clear(fs, n, at, (uint32_t)(end - at));
	err = clear(fs, n, at, (uint32_t)(first * FS_BLOCK - at));
	if (!err)
		err = clear(fs, n, last * FS_BLOCK, (uint32_t)(end - last * FS_BLOCK));
	if (first == last)
		return err;
	if (!err)
		fs_pages_cut(fs, n, (uint32_t)first, (uint32_t)last);
	while (!err && more) {
		err = fs_node_change(fs, n);
		if (!err)
			err = fs_map_cut(fs, n, (uint32_t)first, (uint32_t)last, &more);
		n->i.mtime = n->i.ctime = fs_now();
		err = fs_op_end(fs, err);
	}
	return err;
}

/* Allocate unwritten blocks in holes from *@i on, in one operation. */
static int allocate_some(struct annex_fs *fs, struct fs_node *n, uint32_t *i, uint32_t end)
{
	const uint32_t from = *i, most = fs_map_most(fs);
	int err = fs_node_change(fs, n);

	for (uint32_t k = 0; !err && k < most && *i < end; k++, ++*i) {
		uint32_t pointer, block;

		err = fs_map_get(fs, n, *i, &pointer);
		if (err || pointer)
			continue;
		err = fs_block_take(fs, n->goal, &block);
		if (err)
			break;
		n->goal = block + 1;
		n->i.blocks++;
		err = fs_map_set(fs, n, *i, block | FS_UNWRITTEN);
	}
	if (!err)
		n->i.ctime = fs_now();
	err = fs_op_end(fs, err);
	*i = err ? from : *i;
	return err;
}

static int allocate(struct annex_fs *fs, struct fs_node *n, uint64_t at, uint64_t end)
{
	const uint32_t behind = (uint32_t)((end + FS_BLOCK - 1) / FS_BLOCK);
	uint32_t i = (uint32_t)(at / FS_BLOCK);
	int err = 0;

	while (!err && i < behind) {
		err = allocate_some(fs, n, &i, behind);
		if (err == -ENOSPC) {
			err = fs_blocks_free(fs);
			if (!err)
				err = allocate_some(fs, n, &i, behind);
		}
		if (!err)
			err = fs_commit_room(fs);
	}
	return err;
}

int annex_fs_fallocate(struct annex_fs *fs, uint32_t ino, uint64_t at, uint64_t bytes,
		       unsigned int mode)
{
	const bool hole = mode == (ANNEX_FS_PUNCH_HOLE | ANNEX_FS_KEEP_SIZE);
	const unsigned int kind = mode & ~ANNEX_FS_KEEP_SIZE;
	struct fs_node *n;
	uint64_t end = at + bytes;
	int err = fs_enter(fs, true);

	if (!err && !hole && kind && kind != ANNEX_FS_ZERO_RANGE)
		err = -EOPNOTSUPP;
	if (!err)
		err = regular(fs, ino, &n);
	if (!err && !bytes)
		err = -EINVAL;
	if (!err && (end < at || end > FS_SIZE_MAX))
		err = -EFBIG;
	if (!err && kind && at < n->i.size)
		err = punch(fs, n, at, end < n->i.size ? end : n->i.size);
	if (!err && !hole)
		err = allocate(fs, n, at, end);
	if (!err && !hole && !(mode & ANNEX_FS_KEEP_SIZE) && end > n->i.size)
		err = fs_file_resize(fs, n, end);
	return fs_leave(fs, err);
}

/* Whether a page has data, after a sync of the file. */
static int has_data(struct annex_fs *fs, const struct fs_node *n, uint32_t index, bool *data)
{
	uint32_t pointer;
	int err = fs_map_get(fs, n, index, &pointer);

	*data = pointer && !(pointer & FS_UNWRITTEN);
	return err;
}

int annex_fs_seek(struct annex_fs *fs, uint32_t ino, uint64_t *at, bool hole)
{
	struct fs_node *n;
	uint32_t i, end, pointer;
	bool data = false;
	int err = fs_enter(fs, false);

	if (!err)
		err = regular(fs, ino, &n);
	if (!err && *at >= n->i.size)
		err = -ENXIO;
	if (!err && !fs->read_only)
		err = fs_file_sync(fs, n);
	if (err)
		return fs_leave(fs, err);
	i = (uint32_t)(*at / FS_BLOCK);
	end = (uint32_t)((n->i.size + FS_BLOCK - 1) / FS_BLOCK);
	for (; !err && i < end; i++) {
		if (!hole)
			err = fs_map_next(fs, n, &i, end, &pointer);
		if (!err && i < end)
			err = has_data(fs, n, i, &data);
		if (data != hole)
			break;
	}
	if (!err && !hole && i >= end)
		err = -ENXIO;
	if (!err && i > *at / FS_BLOCK)
		*at = i < end ? (uint64_t)i * FS_BLOCK : n->i.size;
	return fs_leave(fs, err);
}

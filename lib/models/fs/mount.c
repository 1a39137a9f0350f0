// SPDX-License-Identifier: MIT
/*
 * Make, mount and unmount a file system.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/log.h"
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "file.h"
#include "journal.h"
#include "node.h"
#include "op.h"
#include "orphan.h"
#include "page.h"
#include "super.h"

#define CACHE (64ull << 20)
#define ALPHA 50u

static int check_writable(const struct annex_cxlssd *s)
{
	return annex_cxlssd_readonly(s)
		       ? annex_fail(-EROFS, "file system: the device was opened for reading only")
		       : 0;
}

/* Check that the device can take an operation in one transaction. */
static int check_device(struct annex_cxlssd *s)
{
	static const char lines[FS_OP_LINES * FS_LINE];
	struct annex_cxlssd_tx *tx;
	int err;

	if (annex_cxlssd_page(s) != FS_BLOCK)
		return annex_fail(-EINVAL, "file system: the device's pages have %u bytes, not %u",
				  annex_cxlssd_page(s), FS_BLOCK);
	if (annex_cxlssd_begin(s, &tx))
		return annex_fail(-EINVAL, "file system: the device needs log=bytefs");
	err = annex_cxlssd_tx_write(tx, 0, lines,
				    annex_cxlssd_bytes(s) < sizeof(lines) ? annex_cxlssd_bytes(s)
									  : sizeof(lines));
	annex_cxlssd_abort(tx);
	return err ? annex_fail(-EINVAL,
				"file system: the device's log is too small: log_size=512K at "
				"least, and dram=1M")
		   : 0;
}

static void give_back(struct annex_fs *fs)
{
	fs_nodes_free(fs);
	fs_pages_free(&fs->pages);
	fs_bufs_free(&fs->bufs);
	fs_bitmap_free(&fs->inodes);
	fs_bitmap_free(&fs->blocks);
	fs_op_free(&fs->op);
	free(fs->held.blocks);
	free(fs->journal.revoked);
	pthread_mutex_destroy(&fs->lock);
	free(fs);
}

static int make(struct annex_cxlssd *s, const struct annex_fs_opts *o, struct annex_fs **out)
{
	const uint64_t cache = o && o->cache ? o->cache : CACHE;
	struct annex_fs *fs = calloc(1, sizeof(*fs));
	int err;

	if (!fs)
		return annex_fail(-ENOMEM, "file system: out of memory");
	pthread_mutex_init(&fs->lock, NULL);
	fs->dev.s = s;
	if (o) {
		fs->dev.clock = o->clock;
		fs->dev.link = o->link;
		fs->twice = o->twice;
		fs->through = o->through;
		fs->read_only = o->read_only;
	}
	fs->alpha = o && o->alpha ? o->alpha : ALPHA;
	fs->generation = (uint32_t)(fs_now() >> 20);
	err = fs_bufs_init(&fs->bufs);
	if (!err)
		err = fs_nodes_init(&fs->nodes);
	if (!err)
		err = fs_pages_init(&fs->pages, cache);
	if (err)
		give_back(fs);
	*out = fs;
	return err;
}

static uint64_t blocks_of(struct annex_cxlssd *s)
{
	return annex_cxlssd_bytes(s) / FS_BLOCK;
}

static int copy(void *ctx, uint32_t block, enum annex_fs_class class, const struct fs_line *lines)
{
	return fs_buf_log(ctx, block, class, lines);
}

/* Load blocks that a crash left in the journal, and write them to their places if permitted. */
static int replay(struct annex_fs *fs)
{
	struct fs_journal *j = &fs->journal;
	int err;

	if (!fs->super.n_journal)
		return 0;
	err = fs_journal_replay(&fs->dev, &fs->super, copy, fs, &j->sequence, &j->head);
	return err || fs->read_only ? err : fs_journal_close(fs);
}

static int load(struct annex_fs *fs)
{
	const struct fs_super *s = &fs->super;
	int err = fs_super_load(&fs->dev, 0, blocks_of(fs->dev.s), &fs->super);

	if (!err)
		err = replay(fs);
	if (!err)
		err = fs_bitmap_load(fs, &fs->inodes, s->ibitmap, s->inodes);
	if (!err)
		err = fs_bitmap_load(fs, &fs->blocks, s->bbitmap, s->blocks - 1 - s->data);
	return err;
}

int annex_fs_mount(struct annex_cxlssd *s, const struct annex_fs_opts *opts, struct annex_fs **out)
{
	struct annex_fs *fs;
	struct fs_node *root;
	int err = check_device(s);

	if (!err && !(opts && opts->read_only))
		err = check_writable(s);
	if (!err && opts && opts->alpha > 100)
		err = annex_fail(-EINVAL, "file system: alpha %u, 1 to 100", opts->alpha);
	if (!err)
		err = make(s, opts, &fs);
	if (err)
		return err;
	err = load(fs);
	if (!err && !fs->read_only)
		err = fs_orphans_end(fs);
	if (!err)
		err = fs_node_get(fs, ANNEX_FS_ROOT, &root);
	if (!err && !S_ISDIR(root->i.mode))
		err = annex_fail(-EIO, "file system: the root is no directory; run fsck");
	if (err) {
		give_back(fs);
		return err == -ESTALE ? -EIO : err;
	}
	fs_node_hold(fs, root);
	*out = fs;
	return 0;
}

/* Delete files without a name that were still in use; log files that could not be written back. */
static int end_files(struct annex_fs *fs)
{
	uint32_t lost = 0, one = 0;
	int first = 0;

	for (uint32_t i = 0; i < FS_NODE_CHAINS; i++) {
		for (struct fs_node *n = fs->nodes.chains[i]; n; n = n->next) {
			int err = n->i.mode && !n->i.nlink ? fs_node_end(fs, n) : 0;

			first = first ? first : err;
			if (!n->late && !n->n_dirty)
				continue;
			one = lost++ ? one : n->ino;
		}
	}
	return lost ? annex_fail(-EIO,
				 "file system: %u files cannot be written back, inode %u is one",
				 lost, one)
		    : first;
}

static int write_back(struct annex_fs *fs)
{
	const int dead = fs_dead_end(fs), files = fs_files_sync(fs), ends = end_files(fs);
	const int err = fs->super.n_journal ? fs_journal_close(fs) : fs_commit(fs);

	return files ? files : dead ? dead : ends ? ends : err;
}

int annex_fs_unmount(struct annex_fs *fs)
{
	int err;

	if (!fs)
		return 0;
	err = fs->read_only ? 0 : write_back(fs);
	give_back(fs);
	return err;
}

/* Write a superblock: one line with its checksum. */
static int write_super(struct fs_dev *d, struct annex_cxlssd_tx *tx, const struct fs_super *s,
		       uint32_t block)
{
	struct fs_line l;

	fs_super_line(s, block, &l);
	return fs_dev_store(d, tx, ANNEX_FS_INODE, (uint64_t)block * FS_BLOCK, &l, sizeof(l));
}

/* Write both superblocks; everything else is zero. */
static int write_supers(struct annex_fs *fs)
{
	struct annex_cxlssd_tx *tx;
	int err = annex_cxlssd_trim(fs->dev.s, 0, (uint64_t)fs->super.blocks * FS_BLOCK, NULL);

	if (!err)
		err = fs_dev_begin(&fs->dev, &tx);
	if (err)
		return err;
	err = write_super(&fs->dev, tx, &fs->super, 0);
	if (!err)
		err = write_super(&fs->dev, tx, &fs->super, fs->super.blocks - 1);
	if (err)
		annex_cxlssd_abort(tx);
	else
		err = fs_dev_commit(&fs->dev, tx, true);
	return err || !fs->super.n_journal ? err : fs_journal_reset(&fs->dev, &fs->super, 1);
}

/* Make the root, and mark metadata and inode 0 as used. */
static int make_root(struct annex_fs *fs)
{
	const struct annex_fs_new what = {S_IFDIR | 0755, 0, 0, 0};
	struct fs_node *root;
	uint32_t none;
	int err = fs_inode_take(fs, &none);

	if (!err)
		err = fs_node_new(fs, &what, &root);
	if (!err)
		root->i.rdev = ANNEX_FS_ROOT;
	err = fs_op_end(fs, err);
	if (!err)
		err = fs->super.n_journal ? fs_journal_close(fs) : fs_commit(fs);
	return err;
}

int annex_fs_mkfs(struct annex_cxlssd *s, const struct annex_fs_mkfs_opts *opts)
{
	const enum annex_fs_design design = opts ? opts->design : ANNEX_FS_BYTEFS;
	struct fs_super super;
	struct annex_fs *fs;
	int err = check_device(s);

	if (!err)
		err = check_writable(s);
	if (!err && design >= ANNEX_FS_DESIGNS)
		err = annex_fail(-EINVAL, "file system: there is no design %d", design);
	if (!err)
		err = fs_super_plan(&super, blocks_of(s), opts ? opts->inodes : 0, design);
	if (!err)
		err = make(s, NULL, &fs);
	if (err)
		return err;
	fs->super = super;
	err = write_supers(fs);
	if (!err)
		err = load(fs);
	if (!err)
		err = make_root(fs);
	give_back(fs);
	return err;
}

void annex_fs_get_stats(struct annex_fs *fs, struct annex_fs_stats *out)
{
	fs_enter(fs, false);
	*out = (struct annex_fs_stats){
		.design = fs->super.design,
		.blocks = fs->blocks.n,
		.free_blocks = fs->blocks.free > fs->reserved ? fs->blocks.free - fs->reserved : 0,
		.inodes = fs->inodes.n - 1,
		.free_inodes = fs->inodes.free,
		.commits = fs->dev.commits,
		.cached = (uint64_t)fs->pages.n * FS_BLOCK,
	};
	out->free_blocks += fs->held.n;
	out->free_inodes += fs->nodes.n_dead;
	for (const struct fs_node *n = fs->nodes.dead; n; n = n->next_dead)
		out->free_blocks += n->i.blocks;
	memcpy(out->read, fs->dev.read, sizeof(out->read));
	memcpy(out->written, fs->dev.written, sizeof(out->written));
	fs_leave(fs, 0);
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "buf.h"
#include "dev.h"
#include "journal.h"
#include "super.h"

#define LEAST 16u /* blocks for files, at least */

static uint64_t up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* A 64th of the blocks, within the limits of a journal. */
static uint32_t plan_journal(enum annex_fs_design design, uint64_t blocks)
{
	const uint64_t n = blocks / 64;

	if (design == ANNEX_FS_BYTEFS)
		return 0;
	return n < FS_JOURNAL_LEAST ? FS_JOURNAL_LEAST
				    : (uint32_t)(n < FS_JOURNAL_MOST ? n : FS_JOURNAL_MOST);
}

int fs_super_plan(struct fs_super *s, uint64_t blocks, uint64_t inodes, enum annex_fs_design design)
{
	const uint32_t n_journal = plan_journal(design, blocks);
	uint64_t bits, itable, journal, least;

	if (blocks > FS_BLOCKS_MAX)
		return annex_fail(-EFBIG, "file system: %llu blocks, %u at most", (ull)blocks,
				  FS_BLOCKS_MAX);
	if (!inodes)
		inodes = blocks / 4 > 1024 ? blocks / 4 : 1024;
	if (inodes > UINT32_MAX - FS_INODES)
		return annex_fail(-EINVAL, "file system: %llu inodes, %u at most", (ull)inodes,
				  UINT32_MAX - FS_INODES);
	/* Number 0 is not used. */
	inodes = up(inodes + 1, FS_INODES) * FS_INODES;
	itable = 1 + up(inodes, FS_BLOCK_BITS);
	/* For simplicity a bit for each block, metadata too. */
	bits = up(blocks, FS_BLOCK_BITS);
	journal = itable + bits + inodes / FS_INODES;
	least = journal + n_journal + LEAST + 1;
	if (least > blocks)
		return annex_fail(-ENOSPC,
				  "file system: %llu blocks of %u bytes are too few for %llu "
				  "inodes: %llu at least",
				  (ull)blocks, FS_BLOCK, (ull)inodes, (ull)least);
	*s = (struct fs_super){
		.design = design,
		.blocks = (uint32_t)blocks,
		.inodes = (uint32_t)inodes,
		.ibitmap = 1,
		.bbitmap = (uint32_t)itable,
		.itable = (uint32_t)(itable + bits),
		.journal = (uint32_t)journal,
		.n_journal = n_journal,
		.data = (uint32_t)journal + n_journal,
	};
	return 0;
}

static void put32(uint8_t *p, uint32_t v)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

void fs_super_line(const struct fs_super *s, uint32_t block, struct fs_line *out)
{
	fs_super_pack(s, out->payload);
	out->crc = fs_line_sum(out, block, 0);
}

void fs_super_pack(const struct fs_super *s, uint8_t *payload)
{
	memset(payload, 0, FS_PAYLOAD);
	memcpy(payload, FS_MAGIC, sizeof(FS_MAGIC));
	put32(payload + 8, FS_VERSION);
	put32(payload + 12, s->blocks);
	put32(payload + 16, s->inodes);
	put32(payload + 20, s->ibitmap);
	put32(payload + 24, s->bbitmap);
	put32(payload + 28, s->itable);
	put32(payload + 32, s->data);
	put32(payload + 36, s->design);
}

int fs_super_load(struct fs_dev *d, uint32_t block, uint64_t blocks, struct fs_super *out)
{
	struct fs_super want;
	struct fs_line l;
	int err = fs_dev_read(d, ANNEX_FS_INODE, (uint64_t)block * FS_BLOCK, &l, sizeof(l));

	if (err)
		return err;
	if (!l.crc || !fs_line_good(&l, block, 0) ||
	    memcmp(l.payload, FS_MAGIC, sizeof(FS_MAGIC)) != 0)
		return annex_fail(-EILSEQ,
				  "file system: there is none, or its superblock in block "
				  "%u is damaged",
				  block);
	if (get32(l.payload + 8) != FS_VERSION)
		return annex_fail(-EPROTONOSUPPORT,
				  "file system: version %u, this program knows %u",
				  get32(l.payload + 8), FS_VERSION);
	if (get32(l.payload + 36) >= ANNEX_FS_DESIGNS)
		return annex_fail(-EPROTONOSUPPORT, "file system: of a design that this program "
						    "does not know");
	/* The layout follows from these three. */
	if (get32(l.payload + 12) != blocks || get32(l.payload + 16) < FS_INODES ||
	    fs_super_plan(&want, blocks, get32(l.payload + 16) - 1,
			  (enum annex_fs_design)get32(l.payload + 36)))
		return annex_fail(-EILSEQ,
				  "file system: made for a device of %u blocks, this has %llu",
				  get32(l.payload + 12), (ull)blocks);
	*out = want;
	return 0;
}

int fs_super_orphan(struct annex_fs *fs, uint32_t *ino)
{
	const uint8_t *payload;
	struct fs_buf *b;
	int err = fs_buf_get(fs, 0, ANNEX_FS_INODE, &b);

	if (!err)
		err = fs_line(b, 1, &payload);
	if (!err)
		*ino = get32(payload);
	return err;
}

int fs_super_set_orphan(struct annex_fs *fs, uint32_t ino)
{
	uint8_t *payload;
	struct fs_buf *b;
	int err = fs_buf_get(fs, 0, ANNEX_FS_INODE, &b);

	if (!err)
		err = fs_line_change(fs, b, 1, &payload);
	if (!err)
		put32(payload, ino);
	return err;
}

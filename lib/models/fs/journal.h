/* SPDX-License-Identifier: MIT */
/*
 * The journal of ANNEX_FS_EXT4_LIKE. Blocks of metadata that operations have changed are written to
 * it together: a transaction, which lasts when its last block does. Blocks go to their own places
 * when the journal has no room for another transaction.
 *
 * On the device. The first block's line 0 is a header: magic, and the number (8 bytes) of the
 * transaction that begins in the second block, if it is there. A transaction is groups and an end.
 * A group is a block of tags, and blocks as they are to be at their places. Line 0 of the tags has
 * magic, the transaction's number, and how many tags there are; further lines have 12 of 5 bytes
 * each: the block, and its class, or FS_TAG_REVOKED: earlier transactions have blocks for this
 * place that count no more, and no block follows. Line 0 of the end has magic, the number, and a
 * checksum of all blocks before.
 */
#ifndef ANNEX_FS_JOURNAL_H
#define ANNEX_FS_JOURNAL_H

#include "fs.h"

#define FS_JOURNAL_LEAST 1024u
#define FS_JOURNAL_MOST 32768u
#define FS_TAGS_LINE (FS_PAYLOAD / FS_TAG_BYTES)
#define FS_TAGS ((FS_LINES - 1) * FS_TAGS_LINE) /* of a block */
#define FS_TAG_BYTES 5u
#define FS_TAG_REVOKED 0xffu
#define FS_JOURNAL_MAGIC "annexjn"
#define FS_TAGS_MAGIC "annextg"
#define FS_END_MAGIC "annexed"

/* struct fs_mark - The payload of a line 0. @n: of tags; of an end, the checksum. */
struct fs_mark {
	char magic[8];
	uint64_t sequence;
	uint32_t n;
};

/* fs_mark_get() - Read the mark of a block that lies at @block; false: the line is damaged.
 * fs_mark_put() - Write one. */
bool fs_mark_get(const struct fs_line *lines, uint32_t block, struct fs_mark *out);
void fs_mark_put(struct fs_line *lines, uint32_t block, const struct fs_mark *m);

/* fs_journal_sum() - A checksum of @n blocks, of each with the checksum of those before. */
uint32_t fs_journal_sum(const struct fs_line *lines, uint32_t n, uint32_t before);

/* fs_journal_reset() - There is nothing in it; @sequence is the number of the next transaction. */
int fs_journal_reset(struct fs_dev *d, const struct fs_super *s, uint64_t sequence);

/* fs_journal_join() - Changes of an operation go to the transaction that is running. -E2BIG,
 * -ENOMEM: nothing has been done. */
int fs_journal_join(struct annex_fs *fs);

/* fs_journal_commit() - The transaction that is running lasts. In virtual time it begins to, and
 * @busy of the journal is when it does. */
int fs_journal_commit(struct annex_fs *fs);

/* fs_journal_close() - All blocks are at their places, and the journal has none. */
int fs_journal_close(struct annex_fs *fs);

/* fs_journal_sync() - All that has been done to a file lasts, or, NULL, to all files. -EAGAIN: as
 * annex_fs_fsync(). */
int fs_journal_sync(struct annex_fs *fs, const struct fs_node *n);

#endif

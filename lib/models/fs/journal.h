/* SPDX-License-Identifier: MIT */
/*
 * The journal of ANNEX_FS_EXT4_LIKE. A transaction writes changed blocks of metadata to the
 * journal. It is durable when its last block is. When the journal has no room for another
 * transaction, blocks are written to their places (checkpoint).
 *
 * Layout. Line 0 of the first block is a header: magic, and the number (8 bytes) of the transaction
 * that begins in the second block, if any. A transaction has groups and an end. A group is a block
 * of tags and the new contents of the tagged blocks. Line 0 of the tags has magic, the
 * transaction's number, and the number of tags. The other lines have 12 tags of 5 bytes each: the
 * block, and its class or FS_TAG_REVOKED. A revoked block has no contents here, and its contents in
 * earlier transactions are void. Line 0 of the end has magic, the number, and a checksum of all
 * previous blocks.
 */
#ifndef ANNEX_FS_JOURNAL_H
#define ANNEX_FS_JOURNAL_H

#include "fs.h"

#define FS_JOURNAL_LEAST 1024u
#define FS_JOURNAL_MOST 32768u
#define FS_TAGS_LINE (FS_PAYLOAD / FS_TAG_BYTES)
#define FS_TAGS ((FS_LINES - 1) * FS_TAGS_LINE) /* tags of a block */
#define FS_TAG_BYTES 5u
#define FS_TAG_REVOKED 0xffu
#define FS_JOURNAL_MAGIC "annexjn"
#define FS_TAGS_MAGIC "annextg"
#define FS_END_MAGIC "annexed"

/*
 * struct fs_mark - The payload of a line 0.
 * @magic: kind of the block.
 * @sequence: number of the transaction.
 * @n: number of tags, or the checksum in an end.
 */
struct fs_mark {
	char magic[8];
	uint64_t sequence;
	uint32_t n;
};

/* fs_mark_get() - Read the mark of the block at @block. Return: false: the line is damaged.
 * fs_mark_put() - Write a mark. */
bool fs_mark_get(const struct fs_line *lines, uint32_t block, struct fs_mark *out);
void fs_mark_put(struct fs_line *lines, uint32_t block, const struct fs_mark *m);

/* fs_journal_sum() - Extend the checksum @before by @n blocks. */
uint32_t fs_journal_sum(const struct fs_line *lines, uint32_t n, uint32_t before);

/* fs_journal_reset() - Empty the journal; @sequence is the number of the next transaction. */
int fs_journal_reset(struct fs_dev *d, const struct fs_super *s, uint64_t sequence);

/*
 * fs_journal_replay() - Call @copy once for each block of metadata in the journal, in order.
 * *@sequence: number of the next transaction. *@head: its place in the journal.
 *
 * Return: 0; -EIO (damaged header, or an unreadable block); an error of @copy.
 */
int fs_journal_replay(struct fs_dev *d, const struct fs_super *s,
		      int (*copy)(void *ctx, uint32_t block, enum annex_fs_class class,
				  const struct fs_line *lines),
		      void *ctx, uint64_t *sequence, uint32_t *head);

/* fs_journal_join() - Add changes of an operation to the running transaction. -E2BIG, -ENOMEM:
 * nothing has changed. */
int fs_journal_join(struct annex_fs *fs);

/*
 * fs_journal_commit() - Commit the running transaction. In virtual time this only starts the
 * commit, which is durable at the journal's @busy.
 */
int fs_journal_commit(struct annex_fs *fs);

/* fs_journal_close() - Commit, and write all blocks to their places. */
int fs_journal_close(struct annex_fs *fs);

/* fs_journal_sync() - Make all changes of a file durable; NULL: of all files. -EAGAIN: as in
 * annex_fs_fsync(). */
int fs_journal_sync(struct annex_fs *fs, const struct fs_node *n);

#endif

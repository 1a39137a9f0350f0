/* SPDX-License-Identifier: MIT */
/*
 * The parts of annex_fs_check(), which trusts nothing that it reads. Bad parts of inodes and maps
 * are dropped from blocks in memory, so that each problem is found once.
 */
#ifndef ANNEX_FS_CHECK_H
#define ANNEX_FS_CHECK_H

#include "fs.h"

/*
 * struct check_block - A block of metadata. @lost: lines that the device cannot read. @kept: it
 * differs from the device's.
 */
struct check_block {
	struct check_block *next;
	uint32_t block;
	uint64_t lost;
	bool kept;
	struct fs_line lines[FS_LINES];
};

#define CHECK_CHAINS 1024u
#define CHECK_RECENT 64u

/*
 * struct check_inode - An inode, as far as it is known. @type: S_IFMT bits >> 12; 0: it is free.
 * @parent: of a directory. @links: names of a file, directories in a directory. @next: in the queue
 * of directories.
 */
struct check_inode {
	uint32_t parent, links, next;
	uint8_t type, flags;
};

#define CHECK_ORPHAN 1u /* it is in the list of orphans, says the inode */
#define CHECK_ENDS 2u   /* and it has no links: unless a name is found, it is to be freed */
#define CHECK_SEEN 4u   /* a directory that has a name */
#define CHECK_TOLD 8u   /* nothing more is said about it */

/*
 * struct fs_check - @taken, @free: blocks of the data area, by who has them in fact. @orphans:
 * inodes with CHECK_ORPHAN. @listed: the list has these and no others: a mount ends them.
 */
struct fs_check {
	struct fs_dev dev;
	struct fs_super super;
	void (*tell)(void *ctx, const char *what);
	void *ctx;
	struct annex_fs_report *out;
	struct check_block *chains[CHECK_CHAINS];
	struct check_block *recent[CHECK_RECENT]; /* those that are not kept, and NULL */
	uint32_t cursor;
	struct check_inode *inodes;
	uint64_t *taken;
	uint32_t free, orphans;
	bool listed;
	uint32_t first, last; /* the queue */
};

/* fs_check_tell() - A problem. */
void fs_check_tell(struct fs_check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* fs_check_escape() - Bytes of a name; quotes, backslashes and what is not printable ASCII
 * as \xNN. */
#define CHECK_TEXT (4 * ANNEX_FS_NAME + 1)
void fs_check_escape(char *to, const uint8_t *text, uint32_t length);

/* fs_check_get() - A block; good until the next one is asked for. fs_check_put() - It holds these
 * lines, in memory. fs_check_set() - One line of it does. */
int fs_check_get(struct fs_check *c, uint32_t block, struct check_block **out);
int fs_check_put(struct fs_check *c, uint32_t block, const struct fs_line *lines);
bool fs_check_good(const struct check_block *b, uint32_t line);
void fs_check_set(struct check_block *b, uint32_t line, const uint8_t *payload);

/* fs_check_replay() - Blocks that the journal has go to memory. */
int fs_check_replay(struct fs_check *c);

/* fs_check_free() - Forget all blocks. */
void fs_check_free(struct fs_check *c);

/* fs_check_read() - An inode. @bad: bits of its lines that are damaged, and count as zeroes.
 * fs_check_write() - It changes, in memory. */
int fs_check_read(struct fs_check *c, uint32_t ino, struct fs_inode *i, unsigned int *bad);
int fs_check_write(struct fs_check *c, uint32_t ino, const struct fs_inode *i);

/*
 * struct check_walk - The map of a file. @keep: called for each pointer, to nodes (of @height, at
 * @index the first block below them) before what they point to; when it returns false, the pointer
 * is removed. The rest is for @keep.
 */
struct check_walk {
	struct fs_check *c;
	bool (*keep)(struct check_walk *w, uint64_t index, uint32_t pointer, unsigned int height);
	uint32_t ino;
	bool directory;
	uint64_t last; /* behind the last block */
	uint32_t blocks;
	void *ctx;
	int err;
};

/* fs_check_walk() - *@changed: the inode has. */
int fs_check_walk(struct check_walk *w, struct fs_inode *i, bool *changed);

/* fs_check_has() - Whether files can have a block. fs_check_claim() - One has it; false: another
 * had it already. */
bool fs_check_has(const struct fs_check *c, uint32_t block);
bool fs_check_claim(struct fs_check *c, uint32_t block);

/* fs_check_inodes() - Each inode by itself. fs_check_claims() - The blocks that it has. */
int fs_check_inodes(struct fs_check *c);
int fs_check_claims(struct fs_check *c);

/* struct check_name - @at: its line, in the directory's blocks. @text: from @texts on. */
struct check_name {
	uint32_t at, ino, text;
	uint8_t type, length;
};

/*
 * struct check_dir - A directory. @leaves: its blocks. @names: without order, then by their texts.
 */
struct check_dir {
	uint32_t ino;
	uint32_t *leaves;
	struct check_name *names;
	uint8_t *texts;
	uint32_t n_leaves, room_leaves, n_names, room_names, n_texts, room_texts;
};

/* check_dir_load() - Its names, each once. check_dir_free() - Forget them, in any case. */
int check_dir_load(struct fs_check *c, uint32_t ino, struct check_dir *d);
void check_dir_free(struct check_dir *d);

#endif

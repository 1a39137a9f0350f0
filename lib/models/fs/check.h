/* SPDX-License-Identifier: MIT */
/*
 * Parts of annex_fs_check(), which trusts nothing that it reads. Bad parts of inodes and maps are
 * dropped from blocks in memory, so that each problem is found once.
 */
#ifndef ANNEX_FS_CHECK_H
#define ANNEX_FS_CHECK_H

#include "fs.h"

/*
 * struct check_block - A block of metadata.
 * @next: next block in its hash chain.
 * @block: its number.
 * @lost: lines that the device cannot read.
 * @kept: it differs from the device's, so it must stay in memory.
 * @lines: the contents.
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
 * struct check_inode - Known facts about an inode.
 * @parent: parent of a directory.
 * @links: names of a file, or directories in a directory.
 * @next: next directory in the queue.
 * @type: S_IFMT bits >> 12; 0: free.
 * @flags: CHECK_* below.
 */
struct check_inode {
	uint32_t parent, links, next;
	uint8_t type, flags;
};

#define CHECK_ORPHAN 1u /* the inode is marked as an orphan */
#define CHECK_ENDS 2u   /* and has no links: without a name it is to be freed */
#define CHECK_SEEN 4u   /* a directory with a name */
#define CHECK_TOLD 8u   /* a problem was reported: report no more */

/*
 * struct fs_check - A check.
 * @dev: the endpoint.
 * @super: the superblock.
 * @tell: report a problem.
 * @ctx: argument of @tell.
 * @out: the report.
 * @chains: hash table of blocks.
 * @recent: blocks that are not kept, and NULL.
 * @cursor: next index in @recent.
 * @inodes: facts about all inodes.
 * @taken: blocks that inodes have claimed.
 * @free: number of blocks that no inode has claimed.
 * @orphans: number of inodes with CHECK_ORPHAN.
 * @listed: the list has exactly these inodes, so a mount processes them.
 * @first: first directory in the queue.
 * @last: last directory in the queue.
 */
struct fs_check {
	struct fs_dev dev;
	struct fs_super super;
	void (*tell)(void *ctx, const char *problem);
	void *ctx;
	struct annex_fs_report *out;
	struct check_block *chains[CHECK_CHAINS];
	struct check_block *recent[CHECK_RECENT];
	uint32_t cursor;
	struct check_inode *inodes;
	uint64_t *taken;
	uint32_t free, orphans;
	bool listed;
	uint32_t first, last;
};

/* fs_check_tell() - Report a problem. */
void fs_check_tell(struct fs_check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* fs_check_escape() - Print bytes of a name; quotes, backslashes and non-printable bytes become
 * \xNN. */
#define CHECK_TEXT (4 * ANNEX_FS_NAME + 1)
void fs_check_escape(char *to, const uint8_t *text, uint32_t length);

/*
 * fs_check_get() - Get a block, which is valid until the next call.
 * fs_check_put() - Replace the contents of a block in memory.
 * fs_check_good() - Whether a line of a block is valid.
 * fs_check_set() - Replace a line of a block in memory.
 */
int fs_check_get(struct fs_check *c, uint32_t block, struct check_block **out);
int fs_check_put(struct fs_check *c, uint32_t block, const struct fs_line *lines);
bool fs_check_good(const struct check_block *b, uint32_t line);
void fs_check_set(struct check_block *b, uint32_t line, const uint8_t *payload);

/* fs_check_replay() - Load blocks from the journal. */
int fs_check_replay(struct fs_check *c);

/* fs_check_free() - Free all blocks. */
void fs_check_free(struct fs_check *c);

/* fs_check_read() - Read an inode. *@bad: its damaged lines, a bit each, which read as zeroes.
 * fs_check_write() - Change an inode in memory. */
int fs_check_read(struct fs_check *c, uint32_t ino, struct fs_inode *i, unsigned int *bad);
int fs_check_write(struct fs_check *c, uint32_t ino, const struct fs_inode *i);

/*
 * struct check_walk - A walk of a file's map. Members after @ino are for @keep.
 * @c: the check.
 * @keep: called for each pointer, top down. @height: of the node that it points to; 0: a block.
 *	@index: the block, or the first block below the node. Return: false: remove the pointer.
 * @ino: the inode.
 * @directory: it is a directory.
 * @last: end of the last block.
 * @blocks: number of blocks.
 * @ctx: for @keep.
 * @err: first error.
 */
struct check_walk {
	struct fs_check *c;
	bool (*keep)(struct check_walk *w, uint64_t index, uint32_t pointer, unsigned int height);
	uint32_t ino;
	bool directory;
	uint64_t last;
	uint32_t blocks;
	void *ctx;
	int err;
};

/* fs_check_walk() - Walk the map. *@changed: the inode has changed. */
int fs_check_walk(struct check_walk *w, struct fs_inode *i, bool *changed);

/*
 * fs_check_has() - Whether a block is in the area for files. fs_check_claim() - Claim a block for
 * an inode; false: another one has it.
 */
bool fs_check_has(const struct fs_check *c, uint32_t block);
bool fs_check_claim(struct fs_check *c, uint32_t block);

/* fs_check_inodes() - Check each inode by itself. fs_check_claims() - Claim the blocks of all. */
int fs_check_inodes(struct fs_check *c);
int fs_check_claims(struct fs_check *c);

/*
 * struct check_name - A name.
 * @at: its line in the directory's blocks.
 * @ino: inode number.
 * @text: offset of the name in @texts.
 * @type: S_IFMT bits >> 12.
 * @length: bytes of the name.
 */
struct check_name {
	uint32_t at, ino, text;
	uint8_t type, length;
};

/*
 * struct check_dir - A directory.
 * @ino: inode number.
 * @leaves: its blocks.
 * @names: its names, sorted by text after loading.
 * @texts: texts of the names.
 * @n_leaves: number of blocks; @room_leaves: blocks that @leaves has memory for. Likewise for names
 *	and texts.
 */
struct check_dir {
	uint32_t ino;
	uint32_t *leaves;
	struct check_name *names;
	uint8_t *texts;
	uint32_t n_leaves, room_leaves, n_names, room_names, n_texts, room_texts;
};

/*
 * check_dir_load() - Load the names, each once. check_dir_free() - Free them, even after an error.
 */
int check_dir_load(struct fs_check *c, uint32_t ino, struct check_dir *d);
void check_dir_free(struct check_dir *d);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The parts of annex_fs_check(), which trusts nothing that it reads. Changes go to blocks in memory
 * first. To mend, they are committed some blocks at a time, in the order in which they were made;
 * else they stay there, so that each problem is found once.
 */
#ifndef ANNEX_FS_CHECK_H
#define ANNEX_FS_CHECK_H

#include "fs.h"

/*
 * struct check_block - A block of metadata. @changed: lines that differ from the device's. @lost:
 * lines that the device cannot read. @whole: all of it is to be stored.
 */
struct check_block {
	struct check_block *next;
	uint32_t block;
	uint64_t changed, lost;
	bool whole;
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
#define CHECK_ENDS 2u   /* and it had no name: unless one is found, it is to be freed */
#define CHECK_SEEN 4u   /* a directory that has a name */
#define CHECK_LEFT 8u   /* it has no name, and could not be given one */

/*
 * struct fs_check - @taken, @free: blocks of the data area, by who has them in fact. @orphans:
 * inodes with CHECK_ORPHAN. @listed: the list has these and no others, and is left as it is: a
 * mount ends them.
 */
struct fs_check {
	struct fs_dev dev;
	struct fs_super super;
	bool mend;
	void (*tell)(void *ctx, const struct annex_fs_problem *p);
	void *ctx;
	struct annex_fs_report *out;
	struct check_block *chains[CHECK_CHAINS];
	struct check_block *recent[CHECK_RECENT]; /* those that have not changed, and NULL */
	uint32_t cursor, n_changed;
	struct check_inode *inodes;
	uint64_t *taken;
	uint32_t free, next_free, orphans;
	bool listed;
	uint32_t first, last; /* the queue */
};

/* fs_check_tell() - A problem; @can: it is mended, when problems are. */
void fs_check_tell(struct fs_check *c, bool can, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* fs_check_escape() - Bytes of a name; quotes, backslashes and what is not printable ASCII
 * as \xNN. */
#define CHECK_TEXT (4 * FS_BLOCK + 1) /* room for a name, or the target of a link */
void fs_check_escape(char *to, const uint8_t *text, uint32_t length);

/* fs_check_get() - A block; good until the next one is asked for. fs_check_new() - One that holds
 * zeroes. */
int fs_check_get(struct fs_check *c, uint32_t block, struct check_block **out);
int fs_check_new(struct fs_check *c, uint32_t block, struct check_block **out);
bool fs_check_good(const struct check_block *b, uint32_t line);
void fs_check_set(struct fs_check *c, struct check_block *b, uint32_t line, const uint8_t *payload);

/* fs_check_replay() - Blocks that the journal has go to memory. */
int fs_check_replay(struct fs_check *c);

/* fs_check_flush() - Commit what has changed. fs_check_free() - Forget all blocks. */
int fs_check_flush(struct fs_check *c);
void fs_check_free(struct fs_check *c);

/* fs_check_read() - An inode. @bad: bits of its lines that are damaged, and count as zeroes.
 * fs_check_write() - It changes. */
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
	uint64_t end;  /* blocks from here on are to go */
	uint64_t last; /* behind the last block */
	uint32_t blocks;
	void *ctx;
	int err;
};

/* fs_check_walk() - *@changed: the inode has. */
int fs_check_walk(struct check_walk *w, struct fs_inode *i, bool *changed);

/* fs_check_has() - Whether files can have a block. fs_check_claim() - One has it. *_drop() - It has
 * it no more. fs_check_take() - A free one; there is one. */
bool fs_check_has(const struct fs_check *c, uint32_t block);
bool fs_check_claim(struct fs_check *c, uint32_t block);
void fs_check_drop(struct fs_check *c, uint32_t block);
uint32_t fs_check_take(struct fs_check *c);

/* fs_check_inodes() - Each inode by itself. fs_check_claims() - The blocks that it has. */
int fs_check_inodes(struct fs_check *c);
int fs_check_claims(struct fs_check *c);

/* fs_check_end() - An inode is freed, and all that it has. */
int fs_check_end(struct fs_check *c, uint32_t ino);

/* struct check_name - @at: its line, in the directory's blocks. @text: from @texts on. */
struct check_name {
	uint32_t at, ino, text;
	uint8_t type, length;
};

/*
 * struct check_dir - A directory. @leaves: its blocks. @names: without order, then by their texts.
 * @tail: the first line that was never used.
 */
struct check_dir {
	uint32_t ino;
	uint32_t *leaves;
	struct check_name *names;
	uint8_t *texts;
	uint32_t n_leaves, room_leaves, n_names, room_names, n_texts, room_texts;
	uint32_t tail;
};

/* check_dir_load() - Its names, each once. check_dir_free() - Forget them, in any case. */
int check_dir_load(struct fs_check *c, uint32_t ino, struct check_dir *d);
void check_dir_free(struct check_dir *d);

/* check_dir_find() - NULL: there is none, or it was added. check_dir_set() - A name is of a file of
 * another type; 0: it goes. check_dir_add() - -ENOSPC: there is no block for it. */
const struct check_name *check_dir_find(const struct check_dir *d, const char *text);
int check_dir_set(struct fs_check *c, const struct check_dir *d, const struct check_name *name,
		  uint8_t type);
int check_dir_add(struct fs_check *c, struct check_dir *d, const char *text, uint32_t ino,
		  uint8_t type);

/* fs_check_dir_of_root() - An empty directory whose parent is the root. */
struct fs_inode fs_check_dir_of_root(uint32_t permissions);

#endif

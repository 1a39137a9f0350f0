/* SPDX-License-Identifier: MIT */
/*
 * Things that the parts of the file system share.
 *
 * On the device. Block 0 has the superblock, the last block a copy of it. Between them lie the
 * bitmap of inodes, the bitmap of blocks, the table of inodes, the journal (ANNEX_FS_EXT4_LIKE),
 * and the blocks for files and directories. Metadata are lines of 64 bytes: 60 of payload and a
 * checksum of them and of where they lie; a line of zeroes is good, and all zero. So the smallest
 * thing that is stored is also the smallest that is checked.
 *
 * Lock: one for the file system, taken by the public functions. Below it an operation (struct
 * fs_op) collects what changes, and commits it in one transaction of the device, or undoes it; or,
 * ANNEX_FS_EXT4_LIKE, adds it to the transaction of the journal.
 */
#ifndef ANNEX_FS_FS_H
#define ANNEX_FS_FS_H

#include <pthread.h>
#include <annex/models/fs.h>

#define FS_BLOCK ANNEX_FS_BLOCK
#define FS_LINE 64u
#define FS_PAYLOAD 60u
#define FS_LINES (FS_BLOCK / FS_LINE)
#define FS_ALL UINT64_MAX /* lines of a block */

#define FS_DIRECT 12u                      /* blocks that an inode names itself */
#define FS_INLINE (FS_DIRECT * 4)          /* bytes of a link's target that fit there */
#define FS_POINTERS 15u                    /* of a line of a node of a map */
#define FS_FAN (FS_LINES * FS_POINTERS)    /* of a node */
#define FS_UNWRITTEN (1u << 31)            /* flag of a pointer: the block counts as zeroes */
#define FS_BLOCKS_MAX (FS_UNWRITTEN - 1)   /* of a device, and of a file */
#define FS_INODES 32u                      /* of a block */
#define FS_BITS (FS_PAYLOAD * 8u)          /* of a line of a bitmap */
#define FS_BLOCK_BITS (FS_LINES * FS_BITS) /* of a block */

struct fs_line {
	uint8_t payload[FS_PAYLOAD];
	uint32_t crc;
};

/*
 * struct fs_super - Where everything is: blocks. @inodes: how many, number 0 is none.
 * @ibitmap, @bbitmap, @itable, @journal, @data: first blocks; the last block is the copy.
 * @n_journal: 0 for ANNEX_FS_BYTEFS.
 */
struct fs_super {
	enum annex_fs_design design;
	uint32_t blocks;
	uint32_t inodes;
	uint32_t ibitmap, bbitmap, itable, journal, n_journal, data;
};

/* struct fs_dev - The endpoint. @clock: virtual time, or NULL. @due: of blocks that are under way.
 * @stores: of the transaction. */
struct fs_dev {
	struct annex_cxlssd *s;
	uint64_t *clock;
	struct annex_fs_link link;
	uint64_t due;
	uint64_t stores;
	uint64_t read[ANNEX_FS_CLASSES][2], written[ANNEX_FS_CLASSES][2];
	uint64_t commits;
};

/*
 * struct fs_buf - A block of metadata in host memory. @good: lines whose checksum has been looked
 * at. @dirty: lines that the operation has changed. @joined: the transaction that is running has
 * it. @logged: the journal has it, and it is not at its place.
 */
struct fs_buf {
	struct fs_buf *next; /* of its chain */
	struct fs_buf *newer, *older;
	uint32_t block;
	enum annex_fs_class class;
	bool joined, logged;
	uint64_t good, dirty;
	struct fs_line lines[FS_LINES];
};

/* struct fs_bufs - All of them. @pinned: those that are joined, behind those that only are logged;
 * @idle: others, by when they were used. */
struct fs_bufs {
	struct fs_buf **chains;
	struct fs_buf_list {
		struct fs_buf *oldest, *newest;
	} idle, pinned;
	uint32_t n_idle, n_pinned, n_joined;
};

/*
 * struct fs_bitmap - Inodes, or blocks for files. @bits: those that are taken; a block that is
 * given back is so until that lasts. @next: where to look first.
 */
struct fs_bitmap {
	uint32_t start;
	uint32_t n;
	uint32_t free;
	uint32_t next;
	uint64_t *bits;
};

/*
 * struct fs_inode - As the table has it. @height: of the tree of its map; 0: @map names blocks.
 * @atime, @mtime, @ctime: nanoseconds since 1970. The table has them in two's complement; it had
 * unsigned numbers once, so times from 2262 to 2554 that were set then are read as before 1970.
 * @rdev: of a device; of a directory its parent. @orphan: the next file without a name, or whose
 * blocks behind its size have not been given back.
 */
struct fs_inode {
	uint16_t mode;
	uint8_t flags, height;
	uint32_t nlink;
	uint32_t uid, gid;
	uint64_t size;
	int64_t atime, mtime, ctime;
	uint32_t blocks;
	uint32_t generation;
	uint32_t xattr;
	uint32_t rdev;
	uint32_t orphan;
	uint32_t map[FS_DIRECT];
};

#define FS_ORPHAN 1u /* flag of an inode: it is in the list of orphans */

/* struct fs_held - Blocks that operations gave back which need not last yet. */
struct fs_held {
	uint32_t *blocks;
	uint32_t n;
};

struct fs_dir;
struct fs_page;

/*
 * struct fs_claim - An upper bound of what dirty pages of a file need when they are written back.
 * @blocks: free ones. @cost: lines of a transaction of the device, or blocks of the journal's.
 * @leaf: 1 + the number of the node of the map for which the last page counted missing nodes.
 */
struct fs_claim {
	uint32_t blocks, cost, leaf;
};

/*
 * struct fs_node - A file that is in use. @refs: references that the caller has. @late: the inode
 * differs from the table's, as a read or a write has changed it. @pages: of it, in no order;
 * @dirty: the dirty ones, @n_holes of them in holes; @claim: blocks and lines that they need;
 * @writing: they go with the operation. @sequence: the transaction that had it last.
 */
struct fs_node {
	struct fs_node *next;
	struct fs_node *newer, *older; /* of those without a reference */
	uint32_t ino;
	uint64_t refs;
	bool late;
	bool idle;  /* in the list of those */
	bool noted; /* by the operation */
	bool writing;
	bool dead; /* in the list of those that are to end */
	struct fs_node *next_dead;
	uint32_t n_dirty, n_holes;
	struct fs_claim claim;
	uint32_t next_read; /* the page behind those that were read last */
	uint32_t goal;      /* the block behind the one that it got last */
	uint64_t sequence;
	struct fs_page *pages, *dirty;
	struct fs_dir *dir;
	struct fs_inode i;
};

/* struct fs_nodes - @dead: files that have neither a name nor a reference, of which blocks and
 * inodes are given back together. */
struct fs_nodes {
	struct fs_node **chains;
	uint32_t n, n_idle;
	struct fs_node *oldest, *newest;
	struct fs_node *dead;
	uint32_t n_dead;
};

/* struct fs_pages - Pages of files in host memory. @limit: how many. */
struct fs_pages {
	struct fs_page **chains;
	uint32_t n, size, limit;
	uint32_t n_dirty;
	struct fs_page *oldest, *newest;
};

/* struct fs_undo - Something that an operation changed. */
struct fs_undo {
	enum { FS_UNDO_LINE, FS_UNDO_NODE, FS_UNDO_PAGES, FS_UNDO_BIT } kind;
	union {
		struct {
			struct fs_buf *buf;
			uint32_t line;
			struct fs_line was;
		};
		struct {
			struct fs_node *node;
			bool late;
			struct fs_inode inode;
		};
		struct {
			struct fs_bitmap *map;
			uint32_t bit;
			bool taken;
		};
	};
};

/* struct fs_store - Bytes of a file that a transaction stores. */
struct fs_store {
	uint64_t at;
	const uint8_t *from;
	uint32_t bytes;
};

/*
 * struct fs_op - Changes that last together. @freed: blocks that may be taken again afterwards.
 * @fresh: blocks whose old contents are to be forgotten before. @n_lines: of all stores.
 */
struct fs_op {
	struct fs_undo *undo;
	struct fs_store *stores;
	uint32_t *freed, *fresh;
	uint32_t n_undo, n_stores, n_lines, n_freed, n_fresh;
	uint32_t room_undo, room_stores, room_freed, room_fresh;
};

/*
 * struct fs_journal - @sequence: of the transaction that is running; @head: where it goes in the
 * journal. @revoked: blocks that it gave back and that the journal has. @busy: virtual time at
 * which all that has been committed lasts.
 */
struct fs_journal {
	uint64_t sequence;
	uint32_t head;
	uint32_t *revoked, n_revoked;
	uint64_t busy;
};

struct annex_fs {
	pthread_mutex_t lock;
	struct fs_dev dev;
	struct fs_super super;
	struct fs_bufs bufs;
	struct fs_bitmap inodes, blocks;
	struct fs_held held;
	struct fs_nodes nodes;
	struct fs_pages pages;
	struct fs_op op;
	struct fs_journal journal;
	uint32_t alpha;
	uint32_t reserved; /* blocks, of the claims of all files */
	uint32_t generation;
	bool read_only;
	bool twice;   /* pages are cached by the device as well */
	bool through; /* pages that are read are not kept */
};

#endif

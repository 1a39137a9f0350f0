/* SPDX-License-Identifier: MIT */
/*
 * Structures of the file system.
 *
 * Layout on the device: the superblock in block 0, the bitmap of inodes, the bitmap of blocks, the
 * table of inodes, the journal (ANNEX_FS_EXT4_LIKE), blocks for files and directories, and a copy
 * of the superblock in the last block. Metadata are lines of 64 bytes: 60 bytes of payload and a
 * checksum of payload and place. A line of zeroes is valid. So the unit of stores is also the unit
 * of checks.
 *
 * Locking: public functions take the one lock of the file system. Under it an operation (struct
 * fs_op) collects changes, and commits them in one transaction of the device or undoes them; with
 * ANNEX_FS_EXT4_LIKE it adds them to the transaction of the journal.
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

#define FS_DIRECT 12u                      /* pointers to blocks in an inode */
#define FS_INLINE (FS_DIRECT * 4)          /* bytes of a link's target in their place */
#define FS_POINTERS 15u                    /* of a line of a node of a map */
#define FS_FAN (FS_LINES * FS_POINTERS)    /* of a node */
#define FS_UNWRITTEN (1u << 31)            /* flag of a pointer: the block reads as zeroes */
#define FS_BLOCKS_MAX (FS_UNWRITTEN - 1)   /* of a device, and of a file */
#define FS_INODES 32u                      /* of a block */
#define FS_BITS (FS_PAYLOAD * 8u)          /* of a line of a bitmap */
#define FS_BLOCK_BITS (FS_LINES * FS_BITS) /* of a block */

struct fs_line {
	uint8_t payload[FS_PAYLOAD];
	uint32_t crc;
};

/*
 * struct fs_super - Layout of the device, in blocks.
 * @design: the design.
 * @blocks: number of blocks; the last one has the copy of the superblock.
 * @inodes: number of inodes; number 0 is not used.
 * @ibitmap: first block of the bitmap of inodes.
 * @bbitmap: first block of the bitmap of blocks.
 * @itable: first block of the table of inodes.
 * @journal: first block of the journal.
 * @n_journal: number of blocks of the journal; 0 for ANNEX_FS_BYTEFS.
 * @data: first block for files.
 */
struct fs_super {
	enum annex_fs_design design;
	uint32_t blocks;
	uint32_t inodes;
	uint32_t ibitmap, bbitmap, itable, journal, n_journal, data;
};

/*
 * struct fs_dev - The endpoint.
 * @s: the CXL-SSD.
 * @clock: virtual time, or NULL.
 * @link: the link to it, in virtual time.
 * @due: virtual time at which blocks in flight are complete.
 * @stores: virtual time at which stores of the transaction are complete.
 * @read: bytes and blocks read, by class.
 * @written: bytes and blocks written, by class.
 * @commits: number of commits.
 */
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
 * struct fs_buf - A block of metadata in host memory.
 * @next: next buffer in its hash chain.
 * @newer: next buffer in its list.
 * @older: previous buffer in its list.
 * @block: number of the block.
 * @class: class of its traffic.
 * @joined: part of the running transaction.
 * @logged: the journal has a newer copy than the block's place.
 * @good: lines with verified checksums.
 * @dirty: lines that the operation has changed.
 * @lines: the contents.
 */
struct fs_buf {
	struct fs_buf *next;
	struct fs_buf *newer, *older;
	uint32_t block;
	enum annex_fs_class class;
	bool joined, logged;
	uint64_t good, dirty;
	struct fs_line lines[FS_LINES];
};

/*
 * struct fs_bufs - All buffers.
 * @chains: hash table.
 * @idle: buffers that can be dropped, in LRU order.
 * @pinned: logged buffers, then joined buffers.
 * @n_idle: number of idle buffers.
 * @n_pinned: number of pinned buffers.
 * @n_joined: number of joined buffers.
 */
struct fs_bufs {
	struct fs_buf **chains;
	struct fs_buf_list {
		struct fs_buf *oldest, *newest;
	} idle, pinned;
	uint32_t n_idle, n_pinned, n_joined;
};

/*
 * struct fs_bitmap - A bitmap of inodes or blocks.
 * @start: its first block.
 * @n: number of bits.
 * @free: number of clear bits.
 * @next: where a search starts.
 * @bits: used inodes or blocks; a freed block stays set until its release is durable.
 */
struct fs_bitmap {
	uint32_t start;
	uint32_t n;
	uint32_t free;
	uint32_t next;
	uint64_t *bits;
};

/*
 * struct fs_inode - An inode of the table. Times are nanoseconds since 1970, in two's complement in
 * the table. Older versions stored unsigned numbers: their times from 2262 to 2554 read as times
 * before 1970.
 * @mode: type and permissions.
 * @flags: FS_ORPHAN.
 * @height: height of the block map; 0: @map has the pointers to blocks.
 * @nlink: number of links.
 * @uid: owner.
 * @gid: group.
 * @size: bytes.
 * @atime: time of the last access.
 * @mtime: time of the last change of contents.
 * @ctime: time of the last change.
 * @blocks: number of blocks.
 * @generation: generation of the inode number.
 * @xattr: block of extended attributes, or 0.
 * @rdev: number of a device, or a directory's parent.
 * @orphan: next inode in the list of orphans: files without a name, or with blocks beyond their
 *	size that are still to be freed.
 * @map: pointers to blocks, or the root of the map.
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

#define FS_ORPHAN 1u /* flag of an inode: in the list of orphans */

/* struct fs_held - Blocks that were freed by operations that may not be durable yet. */
struct fs_held {
	uint32_t *blocks;
	uint32_t n;
};

struct fs_dir;
struct fs_page;

/*
 * struct fs_claim - Upper bounds of the resources that a write-back of a file's dirty pages needs.
 * @blocks: free blocks.
 * @cost: lines of a transaction of the device, or blocks of the journal's.
 * @leaf: 1 + number of the map's leaf whose missing nodes the last page counted.
 */
struct fs_claim {
	uint32_t blocks, cost, leaf;
};

/*
 * struct fs_node - A file in use.
 * @next: next node in its hash chain.
 * @newer: next node in the list of idle nodes.
 * @older: previous node in that list.
 * @ino: inode number.
 * @refs: references of callers.
 * @late: the inode is newer than the table's, after a read or a write.
 * @idle: in the list of nodes without references.
 * @noted: the operation has saved the inode for undo.
 * @writing: dirty pages are part of the operation.
 * @dead: in the list of files to delete.
 * @next_dead: next node in that list.
 * @n_dirty: number of dirty pages.
 * @n_holes: number of dirty pages in holes.
 * @claim: resources that the dirty pages need.
 * @next_read: page after the last read.
 * @goal: block after the last allocation.
 * @sequence: last transaction of the file.
 * @pages: pages, in no order.
 * @dirty: dirty pages.
 * @dir: table of a directory, or NULL.
 * @i: the inode.
 */
struct fs_node {
	struct fs_node *next;
	struct fs_node *newer, *older;
	uint32_t ino;
	uint64_t refs;
	bool late;
	bool idle;
	bool noted;
	bool writing;
	bool dead;
	struct fs_node *next_dead;
	uint32_t n_dirty, n_holes;
	struct fs_claim claim;
	uint32_t next_read;
	uint32_t goal;
	uint64_t sequence;
	struct fs_page *pages, *dirty;
	struct fs_dir *dir;
	struct fs_inode i;
};

/*
 * struct fs_nodes - All files in use.
 * @chains: hash table.
 * @n: number of files.
 * @n_idle: number of files without references.
 * @oldest: least recently used idle file.
 * @newest: most recently used idle file.
 * @dead: files without names and references, which are deleted in batches.
 * @n_dead: number of these.
 */
struct fs_nodes {
	struct fs_node **chains;
	uint32_t n, n_idle;
	struct fs_node *oldest, *newest;
	struct fs_node *dead;
	uint32_t n_dead;
};

/*
 * struct fs_pages - Pages of files in host memory.
 * @chains: hash table.
 * @n: number of pages.
 * @size: number of chains.
 * @limit: pages to keep at most.
 * @n_dirty: number of dirty pages.
 * @oldest: least recently used page.
 * @newest: most recently used page.
 */
struct fs_pages {
	struct fs_page **chains;
	uint32_t n, size, limit;
	uint32_t n_dirty;
	struct fs_page *oldest, *newest;
};

/* struct fs_undo - A change of an operation, for undo. */
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
 * struct fs_op - An atomic operation.
 * @undo: changes in memory.
 * @stores: bytes of files to store.
 * @freed: blocks to free after the commit.
 * @fresh: blocks to trim before the commit.
 * @n_undo: number of changes.
 * @n_stores: number of stores.
 * @n_lines: lines of all stores.
 * @n_freed: number of freed blocks.
 * @n_fresh: number of fresh blocks.
 * @room_undo: changes that @undo has memory for; likewise @room_stores, @room_freed, @room_fresh.
 */
struct fs_op {
	struct fs_undo *undo;
	struct fs_store *stores;
	uint32_t *freed, *fresh;
	uint32_t n_undo, n_stores, n_lines, n_freed, n_fresh;
	uint32_t room_undo, room_stores, room_freed, room_fresh;
};

/*
 * struct fs_journal - The journal.
 * @sequence: number of the running transaction.
 * @head: its place in the journal.
 * @revoked: blocks of the journal that it has freed.
 * @n_revoked: number of these blocks.
 * @busy: virtual time at which all commits are durable.
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
	uint32_t reserved; /* blocks in the claims of all files */
	uint32_t generation;
	bool read_only;
	bool twice;   /* the device caches pages too */
	bool through; /* do not cache pages of reads */
};

#endif

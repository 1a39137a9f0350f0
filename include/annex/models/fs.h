/* SPDX-License-Identifier: MIT */
/*
 * A file system on a CXL-SSD (ByteFS, arXiv:2501.04993): each update
 * goes by the interface that costs least. Inodes, bitmaps, directories and small writes are stored
 * byte by byte into the device's log, whole pages are written as blocks, and a transaction of the
 * device makes all that an operation changes last together. The endpoint (annex/models/cxlssd.h)
 * has log=bytefs and pages of 4096 bytes.
 *
 * Files are named by the numbers of their inodes, as by FUSE: annex_fs_lookup() and the calls that
 * make a file take a reference, which annex_fs_forget() gives back. A file without a name lives
 * until its last reference is given back. Permissions are the caller's part; ownership and modes
 * are only kept.
 *
 * Ordering and durability. All that has returned lasts with the next annex_fs_fsync() of its file,
 * and a call that changes names or attributes with that of any file. Before that, a loss of power
 * leaves such a call done or not done, and not without those before it. With ANNEX_FS_BYTEFS, the
 * death of the process undoes no such call, and each write of up to ANNEX_FS_WRITE bytes is old or
 * new, never mixed, and of two writes to a file not the later one only. Without free blocks, a
 * write to bytes that the file has already is done in pieces of 64 KiB, each of which is old or
 * new. With ANNEX_FS_EXT4_LIKE both are as a loss of power, and each block of a write is old or
 * new.
 *
 * Room. annex_fs_write() takes no bytes that cannot be written back for want of blocks, and bytes
 * for which annex_fs_fallocate() has taken blocks never lack any.
 *
 * A file system may be used by any number of threads.
 */
#ifndef ANNEX_FS_H
#define ANNEX_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <annex/models/cxlssd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_fs;

#define ANNEX_FS_ROOT 1u
#define ANNEX_FS_BLOCK 4096u
#define ANNEX_FS_NAME 255u      /* bytes of a name */
#define ANNEX_FS_WRITE 1048576u /* bytes that are written as one */
#define ANNEX_FS_XATTRS 3840u   /* bytes of a file's extended attributes, 3 more for each */

/**
 * enum annex_fs_design - By which interface of the endpoint a file system is kept.
 * @ANNEX_FS_BYTEFS: as above.
 * @ANNEX_FS_EXT4_LIKE: by blocks, to compare with: metadata go to a journal of blocks, and from
 *	there to their places; data go to their places before (ordered).
 * @ANNEX_FS_DESIGNS: how many there are.
 */
enum annex_fs_design {
	ANNEX_FS_BYTEFS,
	ANNEX_FS_EXT4_LIKE,
	ANNEX_FS_DESIGNS,
};

/**
 * struct annex_fs_mkfs_opts - Sizes and kind of a new file system. Zero means the default.
 * @inodes: files that it can have (one for each 16 KiB, at least 1024).
 * @design: how it is kept.
 */
struct annex_fs_mkfs_opts {
	uint64_t inodes;
	enum annex_fs_design design;
};

/**
 * annex_fs_mkfs() - Make an empty file system. All that the endpoint had is gone.
 * @s: the endpoint.
 * @opts: NULL: the defaults.
 *
 * Return: 0; -EINVAL (pages of another size, a log without transactions, more inodes than 2^32);
 * -ENOSPC (too small); -EFBIG (more than 2^31 blocks); -EROFS (opened by readonly=1); errors of
 * the endpoint.
 */
int annex_fs_mkfs(struct annex_cxlssd *s, const struct annex_fs_mkfs_opts *opts);

/**
 * struct annex_fs_link - Virtual nanoseconds that accesses take beyond those of the endpoint.
 * @load: loads of bytes that lie together, there and back.
 * @store: stores of bytes that lie together.
 * @read: a command that reads blocks.
 * @write: a command that writes blocks.
 */
struct annex_fs_link {
	uint64_t load, store;
	uint64_t read, write;
};

/**
 * struct annex_fs_opts - How a file system is used. Zero means the default.
 * @cache: bytes of host memory for pages of files (64 MiB).
 * @alpha: percent of a page's lines; when more of them are dirty, the page is written as a block,
 *	else line by line (50). 1: always as a block; 100: always by lines.
 * @twice: pages are read through the device's DRAM, which caches them as well, and each that is
 *	dirty is written as a block: what a host cache does that knows of neither.
 * @through: whole pages are read from the device, and not kept: the caller keeps them.
 * @read_only: nothing is changed; needed on an endpoint that was opened by readonly=1.
 * @clock: a clock of virtual nanoseconds: each access to the endpoint begins at it, and moves it on
 *	to when it is done. NULL: real time. The file system is used by one thread then, which may
 *	stand for several, each with a time that it sets before a call.
 * @link: with @clock: how far away the endpoint is.
 */
struct annex_fs_opts {
	uint64_t cache;
	uint32_t alpha;
	bool twice, through;
	bool read_only;
	uint64_t *clock;
	struct annex_fs_link link;
};

/**
 * annex_fs_mount() - Use a file system, and finish what a crash left half done.
 * @s: the endpoint, which outlives it, and which nobody else writes to.
 * @opts: NULL: the defaults.
 * @out: the file system, to be given back with annex_fs_unmount().
 *
 * Return: 0; -EILSEQ (none there, or its superblock is damaged);
 * -EPROTONOSUPPORT (of another version); -EROFS (opened by readonly=1, and not @read_only);
 * -EINVAL; -ENOMEM; -EIO; errors of the endpoint.
 */
int annex_fs_mount(struct annex_cxlssd *s, const struct annex_fs_opts *opts, struct annex_fs **out);

/**
 * annex_fs_unmount() - Write back and give back. No other thread may be using it.
 * @fs: the file system; may be NULL.
 *
 * Return: 0, or the first error of annex_fs_fsync(); annex_last_error() says how many files could
 * not be written back. It is gone in any case.
 */
int annex_fs_unmount(struct annex_fs *fs);

/**
 * struct annex_fs_attr - A file's attributes. Times are nanoseconds since 1970.
 * @ino: number of its inode.
 * @generation: of this use of the inode.
 * @mode: type and permissions, as stat() has them.
 * @nlink: names, or of a directory 2 and its subdirectories.
 * @uid: owner.
 * @gid: group.
 * @rdev: of a device.
 * @size: bytes.
 * @blocks: of ANNEX_FS_BLOCK bytes that it takes.
 * @atime: of the last read, as mounts with relatime keep it. Nanoseconds since 1970, or negative.
 * @mtime: of the last change of its bytes.
 * @ctime: of the last change of anything.
 */
struct annex_fs_attr {
	uint32_t ino;
	uint32_t generation;
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid, gid;
	uint32_t rdev;
	uint64_t size;
	uint64_t blocks;
	int64_t atime, mtime, ctime;
};

/**
 * struct annex_fs_new - A file to be made.
 * @mode: with its type.
 * @uid: owner.
 * @gid: group.
 * @rdev: of a device.
 */
struct annex_fs_new {
	uint32_t mode;
	uint32_t uid, gid;
	uint32_t rdev;
};

/**
 * annex_fs_lookup() - Find a name, and take a reference.
 * @fs: the file system.
 * @parent: a directory; "." and ".." are names in it. "." is a name of other files too.
 * @name: of 1 to ANNEX_FS_NAME bytes without a slash.
 * @out: what is known of the file.
 *
 * Return: 0; -ENOENT; -ENOTDIR; -ENAMETOOLONG; -ESTALE (no such inode); -EIO (a checksum is wrong).
 */
int annex_fs_lookup(struct annex_fs *fs, uint32_t parent, const char *name,
		    struct annex_fs_attr *out);

/**
 * annex_fs_forget() - Give references back.
 * @fs: the file system.
 * @ino: the file.
 * @n: how many.
 */
void annex_fs_forget(struct annex_fs *fs, uint32_t ino, uint64_t n);

/**
 * annex_fs_getattr() - Tell what is known of a file.
 * @fs: the file system.
 * @ino: the file.
 * @out: gets it.
 *
 * Return: as annex_fs_lookup().
 */
int annex_fs_getattr(struct annex_fs *fs, uint32_t ino, struct annex_fs_attr *out);

/* Attributes that annex_fs_setattr() sets. */
#define ANNEX_FS_SET_MODE (1u << 0)
#define ANNEX_FS_SET_UID (1u << 1)
#define ANNEX_FS_SET_GID (1u << 2)
#define ANNEX_FS_SET_SIZE (1u << 3)
#define ANNEX_FS_SET_ATIME (1u << 4)
#define ANNEX_FS_SET_MTIME (1u << 5)
#define ANNEX_FS_SET_CTIME (1u << 6)

/**
 * annex_fs_setattr() - Change attributes; a size cuts the file, or makes a hole behind it.
 * @fs: the file system.
 * @ino: the file.
 * @attr: the values, and afterwards all that is known of the file.
 * @set: which of them, ANNEX_FS_SET_.... The type of a file stays.
 *
 * Return: as annex_fs_lookup(); -EISDIR, -EINVAL (a size of what is no regular file); -EFBIG;
 * -EROFS.
 */
int annex_fs_setattr(struct annex_fs *fs, uint32_t ino, struct annex_fs_attr *attr,
		     unsigned int set);

/**
 * annex_fs_make() - Make a file, a directory or another node, and take a reference.
 * @fs: the file system.
 * @parent: the directory; 0: the file has no name (O_TMPFILE), until annex_fs_link().
 * @name: its name.
 * @what: what it is to be.
 * @out: what is known of it.
 *
 * Return: as annex_fs_lookup(); -EEXIST; -ENOSPC (blocks, or inodes); -EROFS.
 */
int annex_fs_make(struct annex_fs *fs, uint32_t parent, const char *name,
		  const struct annex_fs_new *what, struct annex_fs_attr *out);

/**
 * annex_fs_symlink() - Make a symbolic link, and take a reference.
 * @fs: the file system.
 * @parent: the directory.
 * @name: its name.
 * @target: of 1 to 4095 bytes.
 * @what: owner; the mode is that of a link.
 * @out: what is known of it.
 *
 * Return: as annex_fs_make().
 */
int annex_fs_symlink(struct annex_fs *fs, uint32_t parent, const char *name, const char *target,
		     const struct annex_fs_new *what, struct annex_fs_attr *out);

/**
 * annex_fs_readlink() - Read a symbolic link.
 * @fs: the file system.
 * @ino: the link.
 * @buf: gets the target, with a zero behind it.
 * @bytes: room; 4096 is always enough.
 *
 * Return: 0; as annex_fs_lookup(); -EINVAL (no link); -ERANGE (no room).
 */
int annex_fs_readlink(struct annex_fs *fs, uint32_t ino, char *buf, size_t bytes);

/**
 * annex_fs_link() - Give a file another name, and take a reference.
 * @fs: the file system.
 * @ino: the file, no directory.
 * @parent: the directory.
 * @name: the name.
 * @out: what is known of it.
 *
 * Return: as annex_fs_make(); -EPERM (a directory); -EMLINK.
 */
int annex_fs_link(struct annex_fs *fs, uint32_t ino, uint32_t parent, const char *name,
		  struct annex_fs_attr *out);

/**
 * annex_fs_unlink() - Remove a name.
 * @fs: the file system.
 * @parent: the directory.
 * @name: the name.
 *
 * Return: as annex_fs_lookup(); -EISDIR; -EROFS.
 */
int annex_fs_unlink(struct annex_fs *fs, uint32_t parent, const char *name);

/**
 * annex_fs_rmdir() - Remove an empty directory.
 * @fs: the file system.
 * @parent: its parent.
 * @name: its name.
 *
 * Return: as annex_fs_lookup(); -ENOTDIR; -ENOTEMPTY; -EINVAL ("."); -EROFS.
 */
int annex_fs_rmdir(struct annex_fs *fs, uint32_t parent, const char *name);

/* As renameat2() has them. */
#define ANNEX_FS_NOREPLACE (1u << 0)
#define ANNEX_FS_EXCHANGE (1u << 1)
#define ANNEX_FS_WHITEOUT (1u << 2)

/**
 * annex_fs_rename() - Move a file to another name, and replace what is there.
 * @fs: the file system.
 * @from: the directory.
 * @name: the name in it.
 * @to: the other directory.
 * @other: the other name.
 * @flags: ANNEX_FS_NOREPLACE, ..._EXCHANGE, ..._WHITEOUT.
 *
 * Return: as annex_fs_make(); -EINVAL (a directory into itself; flags that exclude each other);
 * -EISDIR, -ENOTDIR, -ENOTEMPTY (what is there cannot be replaced).
 */
int annex_fs_rename(struct annex_fs *fs, uint32_t from, const char *name, uint32_t to,
		    const char *other, unsigned int flags);

/**
 * struct annex_fs_entry - A name in a directory.
 * @next: where the names behind it begin.
 * @ino: its file.
 * @type: S_IFMT bits of the file's mode.
 * @name: with a zero behind it.
 */
struct annex_fs_entry {
	uint64_t next;
	uint32_t ino;
	uint32_t type;
	char name[ANNEX_FS_NAME + 1];
};

/**
 * annex_fs_readdir() - Read one name of a directory.
 * @fs: the file system.
 * @ino: the directory.
 * @at: 0, or @next of the entry before. "." and ".." come first. A name that is neither made nor
 *	removed meanwhile comes once.
 * @out: the name.
 *
 * Return: 1; 0: there are no more; as annex_fs_lookup().
 */
int annex_fs_readdir(struct annex_fs *fs, uint32_t ino, uint64_t at, struct annex_fs_entry *out);

/**
 * annex_fs_read() - Read from a file.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset of the first byte.
 * @buf: where they go.
 * @bytes: how many.
 *
 * Return: bytes read, fewer at the end of the file; as annex_fs_lookup(); -EISDIR, -EINVAL (no
 * regular file).
 */
ssize_t annex_fs_read(struct annex_fs *fs, uint32_t ino, uint64_t at, void *buf, size_t bytes);

/**
 * annex_fs_write() - Write to a file.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset of the first byte.
 * @buf: the bytes.
 * @bytes: how many.
 *
 * Return: @bytes; fewer, when the rest does not fit; -ENOSPC; -EFBIG; as annex_fs_read(); -EROFS.
 */
ssize_t annex_fs_write(struct annex_fs *fs, uint32_t ino, uint64_t at, const void *buf,
		       size_t bytes);

/* As fallocate() has them. */
#define ANNEX_FS_KEEP_SIZE (1u << 0)
#define ANNEX_FS_PUNCH_HOLE (1u << 1)
#define ANNEX_FS_ZERO_RANGE (1u << 4)

/**
 * annex_fs_fallocate() - Take blocks for a range of a file, or give them back.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset of the range.
 * @bytes: of it.
 * @mode: 0, or ANNEX_FS_KEEP_SIZE, ..._PUNCH_HOLE with it, ..._ZERO_RANGE.
 *
 * Return: 0; -EOPNOTSUPP (another mode); as annex_fs_write().
 */
int annex_fs_fallocate(struct annex_fs *fs, uint32_t ino, uint64_t at, uint64_t bytes,
		       unsigned int mode);

/**
 * annex_fs_seek() - Find data or a hole.
 * @fs: the file system.
 * @ino: the file.
 * @at: from where on; moves to there.
 * @hole: a hole, which the end of the file is too.
 *
 * Return: 0; -ENXIO (@at is at the end, or no data follow); as annex_fs_read().
 */
int annex_fs_seek(struct annex_fs *fs, uint32_t ino, uint64_t *at, bool hole);

/**
 * annex_fs_fsync() - Have all writes to a file last that have returned, and all names.
 * @fs: the file system.
 * @ino: the file; 0: all files. All others last then, though one has an error.
 *
 * ANNEX_FS_EXT4_LIKE with a clock: while an earlier commit is under way, which others may join
 * with what they do meanwhile, it moves the clock to the end of that, and is to be called again.
 *
 * Return: 0; as annex_fs_write(); -EAGAIN (then).
 */
int annex_fs_fsync(struct annex_fs *fs, uint32_t ino);

/* As setxattr() has them. */
#define ANNEX_FS_XATTR_CREATE (1u << 0)
#define ANNEX_FS_XATTR_REPLACE (1u << 1)

/**
 * annex_fs_setxattr() - Set an extended attribute, or remove it.
 * @fs: the file system.
 * @ino: the file.
 * @name: of 1 to ANNEX_FS_NAME bytes.
 * @value: its value; NULL: it is removed.
 * @bytes: of @value.
 * @flags: ANNEX_FS_XATTR_CREATE, ..._REPLACE.
 *
 * Return: 0; as annex_fs_make(); -EEXIST, -ENODATA (by @flags, or none to remove); -ENOSPC (no room
 * for it with the others); -ERANGE (the name).
 */
int annex_fs_setxattr(struct annex_fs *fs, uint32_t ino, const char *name, const void *value,
		      size_t bytes, unsigned int flags);

/**
 * annex_fs_getxattr() - Read an extended attribute.
 * @fs: the file system.
 * @ino: the file.
 * @name: its name.
 * @buf: gets the value.
 * @bytes: room; 0: only its size is asked.
 *
 * Return: size of the value; -ENODATA; -ERANGE (no room); as annex_fs_lookup().
 */
ssize_t annex_fs_getxattr(struct annex_fs *fs, uint32_t ino, const char *name, void *buf,
			  size_t bytes);

/**
 * annex_fs_listxattr() - List the names of extended attributes.
 * @fs: the file system.
 * @ino: the file.
 * @buf: gets them, with a zero behind each.
 * @bytes: room; 0: only the size is asked.
 *
 * Return: bytes of the list; -ERANGE (no room); as annex_fs_lookup().
 */
ssize_t annex_fs_listxattr(struct annex_fs *fs, uint32_t ino, char *buf, size_t bytes);

/* Kinds of bytes that go to the endpoint. */
enum annex_fs_class {
	ANNEX_FS_INODE, /* inodes, the superblock, extended attributes */
	ANNEX_FS_MAP,   /* which blocks a file has */
	ANNEX_FS_BITMAP,
	ANNEX_FS_DIRECTORY,
	ANNEX_FS_JOURNAL, /* of ANNEX_FS_EXT4_LIKE */
	ANNEX_FS_DATA,
	ANNEX_FS_CLASSES,
};

/**
 * struct annex_fs_stats - Of a file system.
 * @design: how it is kept.
 * @blocks: for data and directories.
 * @free_blocks: of these.
 * @inodes: files that it can have.
 * @free_inodes: of these.
 * @read: bytes since it was mounted, by class; of each, by bytes and by blocks.
 * @written: likewise.
 * @commits: transactions.
 * @cached: bytes of pages in host memory.
 */
struct annex_fs_stats {
	enum annex_fs_design design;
	uint64_t blocks, free_blocks;
	uint64_t inodes, free_inodes;
	uint64_t read[ANNEX_FS_CLASSES][2], written[ANNEX_FS_CLASSES][2];
	uint64_t commits;
	uint64_t cached;
};

/**
 * annex_fs_get_stats() - Read the counters.
 * @fs: the file system.
 * @out: gets them.
 */
void annex_fs_get_stats(struct annex_fs *fs, struct annex_fs_stats *out);

/**
 * struct annex_fs_report - Counts of annex_fs_check().
 * @files: inodes in use.
 * @directories: of these.
 * @blocks: in use.
 * @unfinished: files that a crash left to be freed or to be cut, which is no problem: the next
 *	mount does it.
 * @problems: found.
 */
struct annex_fs_report {
	uint64_t files, directories, blocks;
	uint64_t unfinished;
	uint64_t problems;
};

/**
 * annex_fs_check() - Look for errors in a file system that is not mounted. The call writes
 * nothing.
 * @s: the endpoint.
 * @tell: called for each problem with @ctx and a line without its end; may be NULL.
 * @ctx: for @tell.
 * @out: counts.
 *
 * Return: 0, whether there are problems or not; -EILSEQ (no file system: neither superblock can be
 * read); -EPROTONOSUPPORT (of another version); -ENOMEM; errors of the endpoint.
 */
int annex_fs_check(struct annex_cxlssd *s, void (*tell)(void *ctx, const char *what), void *ctx,
		   struct annex_fs_report *out);

#ifdef __cplusplus
}
#endif
#endif

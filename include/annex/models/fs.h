/* SPDX-License-Identifier: MIT */
/*
 * A file system on a CXL-SSD (ByteFS, arXiv:2501.04993). Each update uses the cheaper interface of
 * the device: inodes, bitmaps, directories and small writes are stored by bytes into the device's
 * log, and whole pages are written as blocks. A transaction of the device makes the changes of an
 * operation durable together. The endpoint (annex/models/cxlssd.h) needs log=bytefs and pages of
 * 4096 bytes.
 *
 * Files are identified by inode numbers, as in FUSE. annex_fs_lookup() and calls that create a file
 * take a reference, which annex_fs_forget() releases. A file without a name exists until its last
 * reference is released. The caller checks permissions; this library only stores ownership and
 * modes.
 *
 * Ordering and durability. Completed writes to a file become durable with the next annex_fs_fsync()
 * of that file, completed changes of names and attributes with the next annex_fs_fsync() of any
 * file. Before that, a power loss leaves each such change done or undone, and none done without the
 * earlier ones. With ANNEX_FS_BYTEFS, the death of the process undoes no completed change of names
 * or attributes; each write of up to ANNEX_FS_WRITE bytes is atomic, and of two writes to a file
 * never only the later one remains. If there are no free blocks, overwrites are atomic in pieces of
 * 64 KiB. With ANNEX_FS_EXT4_LIKE the death of the process is as a power loss, and writes are
 * atomic per block.
 *
 * Space. annex_fs_write() accepts only bytes for which there are blocks, and writes to a range of
 * annex_fs_fallocate() never fail for lack of blocks.
 *
 * Any number of threads may use a file system.
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
#define ANNEX_FS_NAME 255u      /* most bytes of a name */
#define ANNEX_FS_WRITE 1048576u /* most bytes of an atomic write */
#define ANNEX_FS_XATTRS 3840u   /* most bytes of a file's xattrs: names, values, 3 for each */

/**
 * enum annex_fs_design - Design of a file system.
 * @ANNEX_FS_BYTEFS: as above.
 * @ANNEX_FS_EXT4_LIKE: by blocks, for comparison: metadata is written to a journal of blocks, and
 *	from there to its final place, after the data (ordered mode).
 * @ANNEX_FS_DESIGNS: number of designs.
 */
enum annex_fs_design {
	ANNEX_FS_BYTEFS,
	ANNEX_FS_EXT4_LIKE,
	ANNEX_FS_DESIGNS,
};

/**
 * struct annex_fs_mkfs_opts - Options of annex_fs_mkfs(). Zero means the default.
 * @inodes: number of inodes (default: one for each 16 KiB, at least 1024).
 * @design: the design.
 */
struct annex_fs_mkfs_opts {
	uint64_t inodes;
	enum annex_fs_design design;
};

/**
 * annex_fs_mkfs() - Make an empty file system, and discard the contents of the endpoint.
 * @s: the endpoint.
 * @opts: the options; NULL means the defaults.
 *
 * Return: 0; -EINVAL (wrong page size, a log without transactions, more inodes than 2^32);
 * -ENOSPC (too small); -EFBIG (more than 2^31 blocks); -EROFS (opened by readonly=1); errors of
 * the endpoint.
 */
int annex_fs_mkfs(struct annex_cxlssd *s, const struct annex_fs_mkfs_opts *opts);

/**
 * struct annex_fs_link - Latencies of the link, in virtual nanoseconds, in addition to the
 * endpoint's.
 * @load: round trip of loads of contiguous bytes.
 * @store: stores of contiguous bytes.
 * @read: a command that reads blocks.
 * @write: a command that writes blocks.
 */
struct annex_fs_link {
	uint64_t load, store;
	uint64_t read, write;
};

/**
 * struct annex_fs_opts - Options of annex_fs_mount(). Zero means the default.
 * @cache: host memory for pages of files, in bytes (default 64 MiB).
 * @alpha: write a dirty page as a block if more than this percentage of its lines is dirty,
 *	otherwise line by line (default 50). 1: always as a block; 100: always by lines.
 * @twice: read pages through the device's DRAM, which then caches them as well, and write every
 *	dirty page as a block: the behaviour of an unmodified page cache.
 * @through: read whole pages from the device without caching them: the caller caches them.
 * @read_only: change nothing; required if the endpoint was opened with readonly=1.
 * @clock: a clock of virtual nanoseconds. Each access to the endpoint begins at its time and
 *	advances it to the end of the access. Then only one thread may use the file system; it may
 *	simulate several threads by setting the clock before each call. NULL: real time.
 * @link: with @clock: latencies of the link to the endpoint.
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
 * annex_fs_mount() - Mount a file system, and complete operations that a crash interrupted.
 * @s: the endpoint. It must outlive the file system, which must be its only writer.
 * @opts: the options; NULL means the defaults.
 * @out: the file system; release it with annex_fs_unmount().
 *
 * Return: 0; -EILSEQ (no file system, or its superblock is damaged); -EPROTONOSUPPORT (another
 * version); -EROFS (the endpoint was opened with readonly=1, but the options lack read_only);
 * -EINVAL; -ENOMEM; -EIO; errors of the endpoint.
 */
int annex_fs_mount(struct annex_cxlssd *s, const struct annex_fs_opts *opts, struct annex_fs **out);

/**
 * annex_fs_unmount() - Write all files back, and unmount. No other thread may use the file system.
 * @fs: the file system; may be NULL.
 *
 * Return: 0, or the first error of annex_fs_fsync(); annex_last_error() has the number of files
 * that could not be written back. The file system is unmounted in any case.
 */
int annex_fs_unmount(struct annex_fs *fs);

/**
 * struct annex_fs_attr - A file's attributes. Times are nanoseconds since 1970.
 * @ino: number of its inode.
 * @generation: distinguishes successive files with the same inode number.
 * @mode: type and permissions, as in struct stat.
 * @nlink: number of names; of a directory 2 plus the number of its subdirectories.
 * @uid: owner.
 * @gid: group.
 * @rdev: number of a device node.
 * @size: size in bytes.
 * @blocks: number of allocated blocks of ANNEX_FS_BLOCK bytes.
 * @atime: time of the last read, updated as with relatime. May be negative.
 * @mtime: time of the last change of the contents.
 * @ctime: time of the last change of contents or attributes.
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
 * struct annex_fs_new - Attributes of a new file.
 * @mode: type and permissions.
 * @uid: owner.
 * @gid: group.
 * @rdev: number of a device node.
 */
struct annex_fs_new {
	uint32_t mode;
	uint32_t uid, gid;
	uint32_t rdev;
};

/**
 * annex_fs_lookup() - Look up a name, and take a reference on the file.
 * @fs: the file system.
 * @parent: the directory. "." and ".." are valid names; "." is valid for other files too.
 * @name: name of 1 to ANNEX_FS_NAME bytes without a slash.
 * @out: set to the file's attributes.
 *
 * Return: 0; -ENOENT; -ENOTDIR; -ENAMETOOLONG; -ESTALE (no such inode); -EIO (wrong checksum).
 */
int annex_fs_lookup(struct annex_fs *fs, uint32_t parent, const char *name,
		    struct annex_fs_attr *out);

/**
 * annex_fs_forget() - Release references.
 * @fs: the file system.
 * @ino: the file.
 * @n: number of references.
 */
void annex_fs_forget(struct annex_fs *fs, uint32_t ino, uint64_t n);

/**
 * annex_fs_getattr() - Read a file's attributes.
 * @fs: the file system.
 * @ino: the file.
 * @out: set to the attributes.
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
 * annex_fs_setattr() - Change attributes. A new size truncates the file, or extends it by a hole.
 * @fs: the file system.
 * @ino: the file.
 * @attr: the new values; set to all attributes of the file.
 * @set: the members to change, ANNEX_FS_SET_.... The type of a file cannot be changed.
 *
 * Return: as annex_fs_lookup(); -EISDIR, -EINVAL (size of a file that is not regular); -EFBIG;
 * -EROFS.
 */
int annex_fs_setattr(struct annex_fs *fs, uint32_t ino, struct annex_fs_attr *attr,
		     unsigned int set);

/**
 * annex_fs_make() - Create a file, a directory or another node, and take a reference.
 * @fs: the file system.
 * @parent: the directory; 0: the file has no name (O_TMPFILE) until annex_fs_link().
 * @name: its name.
 * @what: its attributes.
 * @out: set to its attributes.
 *
 * Return: as annex_fs_lookup(); -EEXIST; -ENOSPC (blocks, or inodes); -EROFS.
 */
int annex_fs_make(struct annex_fs *fs, uint32_t parent, const char *name,
		  const struct annex_fs_new *what, struct annex_fs_attr *out);

/**
 * annex_fs_symlink() - Create a symbolic link, and take a reference.
 * @fs: the file system.
 * @parent: the directory.
 * @name: its name.
 * @target: its target, of 1 to 4095 bytes.
 * @what: its owner and group; other members are ignored.
 * @out: set to its attributes.
 *
 * Return: as annex_fs_make().
 */
int annex_fs_symlink(struct annex_fs *fs, uint32_t parent, const char *name, const char *target,
		     const struct annex_fs_new *what, struct annex_fs_attr *out);

/**
 * annex_fs_readlink() - Read a symbolic link.
 * @fs: the file system.
 * @ino: the link.
 * @buf: receives the target, terminated by a NUL.
 * @bytes: size of @buf; 4096 always suffices.
 *
 * Return: 0; as annex_fs_lookup(); -EINVAL (not a link); -ERANGE (@buf is too small).
 */
int annex_fs_readlink(struct annex_fs *fs, uint32_t ino, char *buf, size_t bytes);

/**
 * annex_fs_link() - Add a name for a file, and take a reference.
 * @fs: the file system.
 * @ino: the file, which must not be a directory.
 * @parent: the directory of the new name.
 * @name: the new name.
 * @out: set to the file's attributes.
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

/* As for renameat2(). */
#define ANNEX_FS_NOREPLACE (1u << 0)
#define ANNEX_FS_EXCHANGE (1u << 1)
#define ANNEX_FS_WHITEOUT (1u << 2)

/**
 * annex_fs_rename() - Rename a file, and replace a file of the new name.
 * @fs: the file system.
 * @from: the old directory.
 * @name: the old name.
 * @to: the new directory.
 * @other: the new name.
 * @flags: ANNEX_FS_NOREPLACE, ..._EXCHANGE, ..._WHITEOUT.
 *
 * Return: as annex_fs_make(); -EINVAL (a directory into itself; incompatible flags); -EISDIR,
 * -ENOTDIR, -ENOTEMPTY (the file of the new name cannot be replaced).
 */
int annex_fs_rename(struct annex_fs *fs, uint32_t from, const char *name, uint32_t to,
		    const char *other, unsigned int flags);

/**
 * struct annex_fs_entry - A directory entry.
 * @next: position of the next entry.
 * @ino: its file.
 * @type: S_IFMT bits of the file's mode.
 * @name: its name, terminated by a NUL.
 */
struct annex_fs_entry {
	uint64_t next;
	uint32_t ino;
	uint32_t type;
	char name[ANNEX_FS_NAME + 1];
};

/**
 * annex_fs_readdir() - Read one entry of a directory.
 * @fs: the file system.
 * @ino: the directory.
 * @at: 0, or next of the previous entry. "." and ".." are first. A name that is neither created nor
 *	removed meanwhile is returned once.
 * @out: the entry.
 *
 * Return: 1; 0: no more entries; as annex_fs_lookup().
 */
int annex_fs_readdir(struct annex_fs *fs, uint32_t ino, uint64_t at, struct annex_fs_entry *out);

/**
 * annex_fs_read() - Read from a file.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset of the first byte.
 * @buf: receives the bytes.
 * @bytes: number of bytes.
 *
 * Return: number of bytes read, fewer at the end of the file; as annex_fs_lookup(); -EISDIR,
 * -EINVAL (not a regular file).
 */
ssize_t annex_fs_read(struct annex_fs *fs, uint32_t ino, uint64_t at, void *buf, size_t bytes);

/**
 * annex_fs_write() - Write to a file.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset of the first byte.
 * @buf: the bytes.
 * @bytes: number of bytes.
 *
 * Return: @bytes, or fewer if the rest does not fit; -ENOSPC; -EFBIG; as annex_fs_read(); -EROFS.
 */
ssize_t annex_fs_write(struct annex_fs *fs, uint32_t ino, uint64_t at, const void *buf,
		       size_t bytes);

/* As for fallocate(). */
#define ANNEX_FS_KEEP_SIZE (1u << 0)
#define ANNEX_FS_PUNCH_HOLE (1u << 1)
#define ANNEX_FS_ZERO_RANGE (1u << 4)

/**
 * annex_fs_fallocate() - Allocate blocks for a range of a file, or free them.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset of the range.
 * @bytes: bytes of the range.
 * @mode: 0, or ANNEX_FS_KEEP_SIZE, ..._PUNCH_HOLE with it, ..._ZERO_RANGE.
 *
 * Return: 0; -EOPNOTSUPP (another mode); as annex_fs_write().
 */
int annex_fs_fallocate(struct annex_fs *fs, uint32_t ino, uint64_t at, uint64_t bytes,
		       unsigned int mode);

/**
 * annex_fs_seek() - Find the next data or hole.
 * @fs: the file system.
 * @ino: the file.
 * @at: offset to begin at; set to the offset found.
 * @hole: find a hole, as which the end of the file counts; otherwise find data.
 *
 * Return: 0; -ENXIO (@at is at the end, or no data follows); as annex_fs_read().
 */
int annex_fs_seek(struct annex_fs *fs, uint32_t ino, uint64_t *at, bool hole);

/**
 * annex_fs_fsync() - Make completed writes to a file durable, and completed changes of all names.
 * @fs: the file system.
 * @ino: the file; 0: all files, where an error of one file does not affect the others.
 *
 * With ANNEX_FS_EXT4_LIKE and a clock, the call may find an earlier commit in progress, which
 * further operations may still join. It then advances the clock to the end of that commit and
 * returns -EAGAIN: call it again.
 *
 * Return: 0; as annex_fs_write(); -EAGAIN.
 */
int annex_fs_fsync(struct annex_fs *fs, uint32_t ino);

/* As for setxattr(). */
#define ANNEX_FS_XATTR_CREATE (1u << 0)
#define ANNEX_FS_XATTR_REPLACE (1u << 1)

/**
 * annex_fs_setxattr() - Set an extended attribute, or remove it.
 * @fs: the file system.
 * @ino: the file.
 * @name: name of 1 to ANNEX_FS_NAME bytes.
 * @value: its value; NULL: remove the attribute.
 * @bytes: bytes of @value.
 * @flags: ANNEX_FS_XATTR_CREATE, ..._REPLACE.
 *
 * Return: 0; as annex_fs_make(); -EEXIST, -ENODATA (by @flags, or no attribute to remove); -ENOSPC
 * (all attributes of the file exceed ANNEX_FS_XATTRS); -ERANGE (the name).
 */
int annex_fs_setxattr(struct annex_fs *fs, uint32_t ino, const char *name, const void *value,
		      size_t bytes, unsigned int flags);

/**
 * annex_fs_getxattr() - Read an extended attribute.
 * @fs: the file system.
 * @ino: the file.
 * @name: its name.
 * @buf: receives the value.
 * @bytes: size of @buf; 0: return the size of the value only.
 *
 * Return: size of the value; -ENODATA; -ERANGE (@buf is too small); as annex_fs_lookup().
 */
ssize_t annex_fs_getxattr(struct annex_fs *fs, uint32_t ino, const char *name, void *buf,
			  size_t bytes);

/**
 * annex_fs_listxattr() - List the names of extended attributes.
 * @fs: the file system.
 * @ino: the file.
 * @buf: receives the names, each terminated by a NUL.
 * @bytes: size of @buf; 0: return the size of the list only.
 *
 * Return: bytes of the list; -ERANGE (@buf is too small); as annex_fs_lookup().
 */
ssize_t annex_fs_listxattr(struct annex_fs *fs, uint32_t ino, char *buf, size_t bytes);

/* Classes of bytes on the endpoint. */
enum annex_fs_class {
	ANNEX_FS_INODE, /* inodes, the superblock, extended attributes */
	ANNEX_FS_MAP,   /* block maps of files */
	ANNEX_FS_BITMAP,
	ANNEX_FS_DIRECTORY,
	ANNEX_FS_JOURNAL, /* of ANNEX_FS_EXT4_LIKE */
	ANNEX_FS_DATA,
	ANNEX_FS_CLASSES,
};

/**
 * struct annex_fs_stats - Sizes and counters of a file system.
 * @design: the design.
 * @blocks: number of blocks for data and directories.
 * @free_blocks: number of free blocks.
 * @inodes: number of inodes.
 * @free_inodes: number of free inodes.
 * @read: bytes read since the mount, by class and by interface: bytes, blocks.
 * @written: bytes written, likewise.
 * @commits: number of transactions.
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
 * @out: the counters.
 */
void annex_fs_get_stats(struct annex_fs *fs, struct annex_fs_stats *out);

/**
 * struct annex_fs_report - Counts of annex_fs_check().
 * @files: number of inodes in use.
 * @directories: of these, directories.
 * @blocks: number of blocks in use.
 * @unfinished: number of files whose removal or truncation a crash interrupted. The next mount
 *	completes it, so this is no problem.
 * @problems: number of problems.
 */
struct annex_fs_report {
	uint64_t files, directories, blocks;
	uint64_t unfinished;
	uint64_t problems;
};

/**
 * annex_fs_check() - Check a file system that is not mounted, without writing to it.
 * @s: the endpoint.
 * @tell: called for each problem with @ctx and a line without a newline; may be NULL.
 * @ctx: passed to @tell.
 * @out: the counts.
 *
 * Return: 0, also if there are problems; -EILSEQ (no file system: neither superblock can be read);
 * -EPROTONOSUPPORT (another version); -ENOMEM; errors of the endpoint.
 */
int annex_fs_check(struct annex_cxlssd *s, void (*tell)(void *ctx, const char *what), void *ctx,
		   struct annex_fs_report *out);

#ifdef __cplusplus
}
#endif
#endif

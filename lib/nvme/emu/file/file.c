// SPDX-License-Identifier: MIT
/*
 * The files and block devices behind file: namespaces: opening, growing, choosing how.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file.h"
#include "nvme/emu/ring/disk.h"

struct wish {
	uint64_t size;  /* 0: as it is */
	uint64_t block; /* 0: any */
	bool direct;
	bool insists; /* on direct */
	bool readonly;
	bool force; /* write to devices that the kernel uses */
};

static int fail_errno(const char *path, const char *what)
{
	int err = -errno;

	return annex_fail(err, "file: cannot %s %s: %s", what, path, strerror(-err));
}

static int set_flags(int fd, int set, int clear)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, (flags | set) & ~clear);
}

/*
 * Use direct I/O if the URI permits it and it fits the blocks, and choose the block size if the URI
 * has none. Without direct= the file may also be buffered; with direct=1 that is an error.
 */
static int choose_direct(struct emu_ns *ns, const char *path, const struct wish *wish,
			 uint64_t size, uint32_t *block)
{
	const uint32_t asked = (uint32_t)wish->block;
	struct emu_align align = {0, 0};
	char why[EMU_DIRECT_WHY];
	int err = 0;

	*block = asked ? asked : 512;
	if (!wish->direct)
		return 0;
	if (!set_flags(ns->fd, O_DIRECT, 0))
		err = annex_emu_direct_find(ns->fd, &align);
	else if (errno != EINVAL)
		return fail_errno(path, "set flags of");
	if (err)
		return annex_fail(err,
				  "file: %s: direct I/O was tried, and its first block cannot be "
				  "read: %s; use direct=0 to go without",
				  path, strerror(-err));
	err = annex_emu_direct_fit(align, size, ns->readonly, asked, block, why);
	if (!err) {
		ns->align = align.mem;
		return 0;
	}
	if (wish->insists)
		return annex_fail(err, "file: %s: no direct I/O here: %s", path, why);
	if (set_flags(ns->fd, 0, O_DIRECT))
		return fail_errno(path, "set flags of");
	annex_log(ANNEX_LOG_INFO, "file: %s: buffered, no direct I/O: %s", path, why);
	return 0;
}

/* Find the size, of a file or block device only. */
static int find_size(int fd, const char *path, uint64_t *size, bool *is_device)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_errno(path, "examine");
	*is_device = S_ISBLK(st.st_mode);
	*size = (uint64_t)st.st_size;
	if (S_ISDIR(st.st_mode))
		return annex_fail(-EISDIR, "file: %s is a directory", path);
	if (!S_ISREG(st.st_mode) && !*is_device)
		return annex_fail(-EINVAL, "file: %s is neither a file nor a block device", path);
	if (*is_device && ioctl(fd, BLKGETSIZE64, size))
		return fail_errno(path, "find the size of");
	return 0;
}

static int grow(struct emu_file *f, int fd, const char *path, const struct wish *wish,
		bool is_device, uint64_t *size)
{
	if (*size >= wish->size)
		return 0;
	if (is_device)
		return annex_fail(-EINVAL,
				  "file: %s is a device of %llu bytes, less than size=", path,
				  (ull)*size);
	if (wish->readonly)
		return annex_fail(-EROFS,
				  "file: %s has %llu bytes, less than size=, and is "
				  "readonly",
				  path, (ull)*size);
	if (ftruncate(fd, (off_t)wish->size))
		return fail_errno(path, "grow");
	f->grown = true;
	f->grown_from = *size;
	*size = wish->size;
	return 0;
}

/* Say so if the file could be read: it has another owner, or its file system is read-only. */
static int fail_open(const char *path, bool readonly)
{
	const int err = -errno;
	int fd = -1;

	if (!readonly && err != -EISDIR)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		close(fd);
	return annex_fail(err, "file: cannot open %s%s: %s%s", path, fd < 0 ? "" : " for writing",
			  strerror(-err), fd < 0 ? "" : "; use readonly=1 to read it");
}

static int open_fd(struct emu_file *f, const char *path, const struct wish *wish)
{
	/* O_NONBLOCK: opening a FIFO, which is refused afterwards, must not block. */
	int flags = (wish->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK, fd;

	if (!*path)
		return annex_fail(-EINVAL, "file: no path");
	fd = open(path, flags);
	if (fd < 0 && errno == ENOENT && wish->size && !wish->readonly) {
		fd = open(path, flags | O_CREAT | O_EXCL, 0666);
		f->created = fd >= 0;
	}
	return fd < 0 ? fail_open(path, wish->readonly) : fd;
}

/* Whether the kernel has a file system, swap or another device there, which must not be written. */
static bool is_held(int fd, const char *path)
{
	char name[EMU_DISK_NAME], why[EMU_USE_WHY];
	struct stat st;

	if (fstat(fd, &st) || !annex_emu_disk_name(&st, name) || !annex_emu_used(name, why))
		return false;
	annex_log(ANNEX_LOG_WARNING,
		  "file: %s: writes are refused, as %s; force=1 permits them, readonly=1 is silent",
		  path, why);
	return true;
}

static int open_ns(struct annex_emu *emu, const char *path, const struct wish *wish)
{
	struct emu_ns ns = {.nsid = emu->nns + 1,
			    .readonly = wish->readonly,
			    .align = 1,
			    .pieces = IOV_MAX,
			    .most = UINT32_MAX};
	struct emu_ns *kept = &emu->ns[emu->nns];
	bool is_device = false;
	uint32_t block;
	uint64_t size;
	int err;

	if (emu->nns == EMU_NAMESPACES)
		return annex_fail(-EINVAL, "file: more than %u namespaces", EMU_NAMESPACES);
	ns.fd = open_fd(emu->own, path, wish);
	if (ns.fd < 0)
		return ns.fd;
	err = find_size(ns.fd, path, &size, &is_device);
	if (!err && set_flags(ns.fd, 0, O_NONBLOCK))
		err = fail_errno(path, "set flags of");
	if (!err && !size && !wish->size)
		err = annex_fail(-EINVAL,
				 "file: %s is empty: say how large it should be (size=; not for "
				 "ns=)",
				 path);
	if (!err)
		err = grow(emu->own, ns.fd, path, wish, is_device, &size);
	if (err) {
		close(ns.fd);
		return err;
	}
	ns.readonly = ns.readonly || (is_device && !wish->force && is_held(ns.fd, path));
	/* From here on an error undoes and closes what the controller has. */
	*kept = ns;
	emu->nns++;
	err = choose_direct(kept, path, wish, size, &block);
	kept->shift = (unsigned int)__builtin_ctz(block);
	/* Base: a namespace is made of whole blocks. */
	kept->blocks = (size + block - 1) / block;
	kept->missing = (uint32_t)(-size & (block - 1));
	return err;
}

static int read_wish(const struct annex_uri *uri, struct wish *wish)
{
	static const char *const keys[] = {"size",  "block", "direct",   "readonly", "force",
					   "ns...", "serve", "fault...", NULL};
	int err = annex_uri_check_keys(uri, keys);

	if (!err)
		err = annex_uri_u64(uri, "size", 1, INT64_MAX, &wish->size);
	if (!err)
		err = annex_uri_u64(uri, "block", ANNEX_BLOCK_MIN, ANNEX_BLOCK_MAX, &wish->block);
	if (!err)
		err = annex_uri_bool(uri, "direct", &wish->direct);
	wish->insists = wish->direct && annex_uri_get(uri, "direct");
	if (!err)
		err = annex_uri_bool(uri, "readonly", &wish->readonly);
	if (!err)
		err = annex_uri_bool(uri, "force", &wish->force);
	if (!err && wish->block && !ANNEX_BLOCK_IS_GOOD(wish->block))
		err = annex_fail(-EINVAL, "file: block=%u is no power of two",
				 (unsigned int)wish->block);
	return err;
}

int annex_emu_file_open(struct annex_emu *emu, const struct annex_uri *uri)
{
	struct wish wish = {.direct = true};
	int err = read_wish(uri, &wish);

	if (!err)
		err = open_ns(emu, uri->body, &wish);
	wish.size = 0; /* the other files must exist */
	for (unsigned int i = 0; !err && i < uri->nparams; i++)
		if (!strcmp(uri->params[i].key, "ns"))
			err = open_ns(emu, uri->params[i].value, &wish);
	return err;
}

void annex_emu_file_undo(struct annex_emu *emu, const struct annex_uri *uri)
{
	const struct emu_file *f = emu->own;

	if (f && f->created)
		unlink(uri->body);
	else if (f && f->grown && ftruncate(emu->ns[0].fd, (off_t)f->grown_from))
		annex_log(ANNEX_LOG_WARNING, "file: %s stays grown: %m", uri->body);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <annex/log.h>
#include "daemon.h"
#include "ops.h"

#define SECOND 1000000000ll
#define BELIEVED 1.0 /* seconds that the kernel caches names and attributes */
#define TARGET 4096u /* bytes of a symbolic link with its NUL */

/* tv_nsec is never negative, before 1970 either. */
static struct timespec to_timespec(int64_t ns)
{
	const int64_t part = ns % SECOND;

	return (struct timespec){(time_t)(ns / SECOND - (part < 0)),
				 (long)(part < 0 ? part + SECOND : part)};
}

/* Clamp times before 1677 and after 2262. */
static int64_t to_ns(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow(t->tv_sec, SECOND, &ns) ||
	    __builtin_add_overflow(ns, t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

void ops_stat(const struct annex_fs_attr *a, struct stat *out)
{
	*out = (struct stat){
		.st_ino = a->ino,
		.st_mode = a->mode,
		.st_nlink = a->nlink,
		.st_uid = a->uid,
		.st_gid = a->gid,
		.st_rdev = a->rdev,
		.st_size = (off_t)a->size,
		.st_blocks = (blkcnt_t)(a->blocks * (ANNEX_FS_BLOCK / 512)),
		.st_blksize = ANNEX_FS_BLOCK,
		.st_atim = to_timespec(a->atime),
		.st_mtim = to_timespec(a->mtime),
		.st_ctim = to_timespec(a->ctime),
	};
}

void ops_entry(const struct annex_fs_attr *a, struct fuse_entry_param *out)
{
	*out = (struct fuse_entry_param){
		.ino = a->ino,
		.generation = a->generation,
		.attr_timeout = BELIEVED,
		.entry_timeout = BELIEVED,
	};
	ops_stat(a, &out->attr);
}

void ops_answer(fuse_req_t req, int err)
{
	if (err == -EIO)
		daemon_log(ANNEX_LOG_ERROR, annex_last_error());
	fuse_reply_err(req, -err);
}

void ops_answer_entry(fuse_req_t req, int err, const struct annex_fs_attr *a)
{
	struct annex_fs *fs = ops_fs(req);
	struct fuse_entry_param e;

	if (err) {
		ops_answer(req, err);
		return;
	}
	ops_entry(a, &e);
	/* The request was interrupted: the kernel took no reference. */
	if (fuse_reply_entry(req, &e))
		annex_fs_forget(fs, a->ino, 1);
}

void ops_answer_attr(fuse_req_t req, int err, const struct annex_fs_attr *a)
{
	struct stat st;

	if (err) {
		ops_answer(req, err);
		return;
	}
	ops_stat(a, &st);
	fuse_reply_attr(req, &st, BELIEVED);
}

void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct annex_fs_attr a;
	int err = annex_fs_lookup(ops_fs(req), (uint32_t)parent, name, &a);

	ops_answer_entry(req, err, &a);
}

void ops_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	annex_fs_forget(ops_fs(req), (uint32_t)ino, n);
	fuse_reply_none(req);
}

void ops_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < n; i++)
		annex_fs_forget(ops_fs(req), (uint32_t)all[i].ino, all[i].nlookup);
	fuse_reply_none(req);
}

void ops_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct annex_fs_attr a;
	int err = annex_fs_getattr(ops_fs(req), (uint32_t)ino, &a);

	(void)fi;
	ops_answer_attr(req, err, &a);
}

static int64_t time_of(bool now, const struct timespec *given)
{
	struct timespec t = *given;

	if (now)
		clock_gettime(CLOCK_REALTIME, &t);
	return to_ns(&t);
}

void ops_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set,
		 struct fuse_file_info *fi)
{
	static const struct {
		int theirs;
		unsigned int ours;
	} bits[] = {{FUSE_SET_ATTR_MODE, ANNEX_FS_SET_MODE},
		    {FUSE_SET_ATTR_UID, ANNEX_FS_SET_UID},
		    {FUSE_SET_ATTR_GID, ANNEX_FS_SET_GID},
		    {FUSE_SET_ATTR_SIZE, ANNEX_FS_SET_SIZE},
		    {FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW, ANNEX_FS_SET_ATIME},
		    {FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW, ANNEX_FS_SET_MTIME},
		    {FUSE_SET_ATTR_CTIME, ANNEX_FS_SET_CTIME}};
	struct annex_fs_attr a = {
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.atime = time_of(set & FUSE_SET_ATTR_ATIME_NOW, &st->st_atim),
		.mtime = time_of(set & FUSE_SET_ATTR_MTIME_NOW, &st->st_mtim),
		.ctime = time_of(false, &st->st_ctim),
	};
	unsigned int ours = 0;
	int err;

	(void)fi;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		ours |= set & bits[i].theirs ? bits[i].ours : 0;
	err = annex_fs_setattr(ops_fs(req), (uint32_t)ino, &a, ours);
	ops_answer_attr(req, err, &a);
}

void ops_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[TARGET];
	int err = annex_fs_readlink(ops_fs(req), (uint32_t)ino, target, sizeof(target));

	if (err)
		ops_answer(req, err);
	else
		fuse_reply_readlink(req, target);
}

void ops_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct annex_fs_stats s;
	struct statvfs v;

	(void)ino;
	annex_fs_get_stats(ops_fs(req), &s);
	v = (struct statvfs){
		.f_bsize = ANNEX_FS_BLOCK,
		.f_frsize = ANNEX_FS_BLOCK,
		.f_blocks = s.blocks,
		.f_bfree = s.free_blocks,
		.f_bavail = s.free_blocks,
		.f_files = s.inodes,
		.f_ffree = s.free_inodes,
		.f_favail = s.free_inodes,
		.f_namemax = ANNEX_FS_NAME,
	};
	fuse_reply_statfs(req, &v);
}

/* Refuse access control lists: the file system would store them and not obey them. */
static int check_xattr(const char *name)
{
	return strncmp(name, "system.", strlen("system.")) ? 0 : -EOPNOTSUPP;
}

void ops_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t bytes,
		  int flags)
{
	int err = check_xattr(name);

	if (!err)
		err = annex_fs_setxattr(ops_fs(req), (uint32_t)ino, name, value, bytes,
					(unsigned int)flags);
	ops_answer(req, err);
}

void ops_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	int err = check_xattr(name);

	if (!err)
		err = annex_fs_setxattr(ops_fs(req), (uint32_t)ino, name, NULL, 0, 0);
	ops_answer(req, err);
}

/* A request for no bytes asks for the size alone. */
static void answer_xattr(fuse_req_t req, ssize_t n, const char *buf, size_t bytes)
{
	if (n < 0)
		ops_answer(req, (int)n);
	else if (bytes)
		fuse_reply_buf(req, buf, (size_t)n);
	else
		fuse_reply_xattr(req, (size_t)n);
}

void ops_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t bytes)
{
	char *buf = malloc(bytes ? bytes : 1);
	ssize_t n = buf ? check_xattr(name) : -ENOMEM;

	if (!n)
		n = annex_fs_getxattr(ops_fs(req), (uint32_t)ino, name, buf, bytes);
	answer_xattr(req, n, buf, bytes);
	free(buf);
}

void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t bytes)
{
	char *buf = malloc(bytes ? bytes : 1);
	ssize_t n = -ENOMEM;

	if (buf)
		n = annex_fs_listxattr(ops_fs(req), (uint32_t)ino, buf, bytes);
	answer_xattr(req, n, buf, bytes);
	free(buf);
}

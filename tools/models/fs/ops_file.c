// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "ops.h"

/*
 * Only the kernel changes files, so its page cache stays valid. O_DIRECT is left to the kernel as
 * well, which keeps cache and mappings coherent; FOPEN_DIRECT_IO does not.
 */
void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

void ops_read(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at, struct fuse_file_info *fi)
{
	char *buf = malloc(bytes ? bytes : 1);
	ssize_t n = -ENOMEM;

	(void)fi;
	if (buf)
		n = annex_fs_read(ops_fs(req), (uint32_t)ino, (uint64_t)at, buf, bytes);
	if (n < 0)
		ops_answer(req, (int)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

void ops_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t bytes, off_t at,
	       struct fuse_file_info *fi)
{
	struct annex_fs *fs = ops_fs(req);
	ssize_t n = annex_fs_write(fs, (uint32_t)ino, (uint64_t)at, buf, bytes);

	/* O_SYNC includes this bit, and the kernel sets it for RWF_DSYNC. */
	if (n >= 0 && fi->flags & O_DSYNC) {
		int err = annex_fs_fsync(fs, (uint32_t)ino);

		n = err ? err : n;
	}
	if (n < 0)
		ops_answer(req, (int)n);
	else
		fuse_reply_write(req, (size_t)n);
}

void ops_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync;
	(void)fi;
	ops_answer(req, annex_fs_fsync(ops_fs(req), (uint32_t)ino));
}

/* Both sides use the modes of fallocate(). */
void ops_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t at, off_t bytes,
		   struct fuse_file_info *fi)
{
	(void)fi;
	ops_answer(req, annex_fs_fallocate(ops_fs(req), (uint32_t)ino, (uint64_t)at,
					   (uint64_t)bytes, (unsigned int)mode));
}

void ops_lseek(fuse_req_t req, fuse_ino_t ino, off_t at, int whence, struct fuse_file_info *fi)
{
	uint64_t to = (uint64_t)at;
	int err = whence == SEEK_DATA || whence == SEEK_HOLE ? 0 : -EINVAL;

	(void)fi;
	if (!err)
		err = annex_fs_seek(ops_fs(req), (uint32_t)ino, &to, whence == SEEK_HOLE);
	if (err)
		ops_answer(req, err);
	else
		fuse_reply_lseek(req, (off_t)to);
}

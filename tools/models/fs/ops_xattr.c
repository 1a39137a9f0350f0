// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ops.h"

/* Access control lists, which would be kept and not obeyed. */
static int check(const char *name)
{
	return strncmp(name, "system.", strlen("system.")) ? 0 : -EOPNOTSUPP;
}

void ops_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t bytes,
		  int flags)
{
	int err = check(name);

	if (!err)
		err = annex_fs_setxattr(ops_fs(req), (uint32_t)ino, name, value, bytes,
					(unsigned int)flags);
	ops_answer(req, err);
}

void ops_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	int err = check(name);

	if (!err)
		err = annex_fs_setxattr(ops_fs(req), (uint32_t)ino, name, NULL, 0, 0);
	ops_answer(req, err);
}

/* A size alone, or what has it. */
static void answer(fuse_req_t req, ssize_t n, const char *buf, size_t bytes)
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
	ssize_t n = buf ? check(name) : -ENOMEM;

	if (!n)
		n = annex_fs_getxattr(ops_fs(req), (uint32_t)ino, name, buf, bytes);
	answer(req, n, buf, bytes);
	free(buf);
}

void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t bytes)
{
	char *buf = malloc(bytes ? bytes : 1);
	ssize_t n = -ENOMEM;

	if (buf)
		n = annex_fs_listxattr(ops_fs(req), (uint32_t)ino, buf, bytes);
	answer(req, n, buf, bytes);
	free(buf);
}

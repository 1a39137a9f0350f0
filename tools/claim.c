// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "claim.h"
#include "error.h"

int claim_made(int fd, const char *path)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (!fcntl(fd, F_OFD_SETLK, &all))
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return err_set(-EBUSY, "another process writes to %s", path);
	return err_sys("cannot lock %s", path);
}

/* Whoever had the claim before may have removed it, or put another file in its place. */
static bool is_at(int fd, const char *path)
{
	struct stat x, y;

	return !fstat(fd, &x) && !stat(path, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int claim_file(const char *path, int *fd)
{
	int err;

	do {
		*fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (*fd < 0)
			return errno == ENOENT ? -ENOENT : err_sys("cannot open %s", path);
		err = claim_made(*fd, path);
		if (!err && is_at(*fd, path))
			return 0;
		close(*fd);
		*fd = -1;
	} while (!err);
	return err;
}

int claim_dir(const char *path, int *fd)
{
	int err = 0;

	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return err_sys("cannot open %s", path);
	if (flock(*fd, LOCK_EX)) {
		err = err_sys("cannot lock %s", path);
		close(*fd);
		*fd = -1;
	}
	return err;
}

int claim_dir_of(const char *path, int *fd)
{
	char *copy = strdup(path);
	int err = copy ? claim_dir(dirname(copy), fd) : err_set(-ENOMEM, "out of memory");

	free(copy);
	return err;
}

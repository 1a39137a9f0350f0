// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "error.h"
#include "output.h"

static int check_parent(const char *path)
{
	char *copy = strdup(path);
	int err = 0;

	if (!copy)
		return err_set(-ENOMEM, "out of memory");
	if (access(dirname(copy), W_OK | X_OK))
		err = err_sys("cannot create %s", path);
	free(copy);
	return err;
}

int output_check(const char *path, bool overwrite)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? check_parent(path) : err_sys("cannot create %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(-EEXIST,
			       "%s is there already, and is not a regular file: choose "
			       "another name",
			       path);
	if (!overwrite)
		return err_set(-EEXIST,
			       "%s is there already: remove it, choose another name, or "
			       "give --overwrite",
			       path);
	return check_parent(path);
}

int output_room(const char *path, uint64_t bytes)
{
	char *copy = strdup(path);
	struct statvfs fs;
	bool known;
	uint64_t room;

	if (!copy)
		return err_set(-ENOMEM, "out of memory");
	known = !statvfs(path, &fs) || !statvfs(dirname(copy), &fs);
	free(copy);
	/* Some file systems do not tell. */
	if (!known || !fs.f_blocks || __builtin_mul_overflow(fs.f_bavail, fs.f_frsize, &room) ||
	    bytes <= room)
		return 0;
	return err_set(-ENOSPC, "no space for %s: it takes %llu bytes, and %llu are free", path,
		       (ull)bytes, (ull)room);
}

dev_t output_fs(const char *path)
{
	char *copy = strdup(path);
	struct stat st = {.st_dev = 0};

	if (copy && stat(path, &st) && stat(dirname(copy), &st))
		st.st_dev = 0;
	free(copy);
	return st.st_dev;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "claim.h"
#include "cleanup.h"
#include "error.h"
#include "newfile.h"

/* The stream has a descriptor of its own, since the name is given after it is closed. */
static int make_temp(struct newfile *n)
{
	int err = tempfile_open(&n->temp, n->path), fd;

	if (err)
		return err;
	fd = fcntl(n->temp.fd, F_DUPFD_CLOEXEC, 0);
	n->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (n->f)
		return 0;
	err = err_sys("cannot create %s", n->path);
	if (fd >= 0)
		close(fd);
	tempfile_close(&n->temp);
	return err;
}

bool newfile_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

bool newfile_stream(const char *path)
{
	struct stat st;

	return newfile_stdout(path) ||
	       (!stat(path, &st) && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)));
}

int newfile_check(const char *path, bool overwrite)
{
	size_t len = strlen(path);

	if (!len || path[len - 1] == '/')
		return err_set(-EINVAL, "\"%s\" is not the name of a file", path);
	return newfile_stream(path) ? 0 : newfile_regular(path, overwrite);
}

int newfile_open(struct newfile *n, const char *path, bool overwrite)
{
	int err;

	n->path = path;
	n->overwrite = overwrite;
	n->temp = (struct tempfile){.path = NULL};
	if (newfile_stdout(path)) {
		n->path = "standard output";
		n->f = stdout;
		return 0;
	}
	if (newfile_stream(path)) {
		n->f = fopen(path, "we");
		return n->f ? 0 : err_sys("cannot open %s", path);
	}
	err = newfile_regular(path, overwrite);
	if (err)
		return err;
	return make_temp(n);
}

/* All that was written is where it belongs, but for its name. */
static int finish(struct newfile *n, int err)
{
	/* On the medium before the rename, or a crash could leave an empty file of that name. */
	if (!err && (fflush(n->f) || (n->temp.path && fdatasync(fileno(n->f)))))
		err = err_sys("cannot write %s", n->path);
	if (!err && ferror(n->f))
		err = err_set(-EIO, "cannot write %s", n->path);
	if (n->f != stdout && fclose(n->f) && !err)
		err = err_sys("cannot write %s", n->path);
	if (!err)
		err = err_mappings();
	/* Once more: what the name stands for may have changed since the work began. */
	if (!err && n->temp.path)
		err = newfile_regular(n->path, n->overwrite);
	return err;
}

/* @made: whether nothing of that name was there. */
static int give_name(struct newfile *n, bool *made)
{
	struct stat st;

	*made = n->temp.path && lstat(n->path, &st);
	return n->temp.path ? tempfile_name(&n->temp, n->overwrite) : 0;
}

int newfile_close(struct newfile *n, unsigned int count, int err)
{
	bool made[NEWFILES];
	unsigned int named = 0;
	int dir = -1;

	for (unsigned int i = 0; i < count; i++)
		err = finish(&n[i], err);
	/* Files of one set get their names together, without a signal or command between. */
	cleanup_hold();
	if (!err && count > 1 && n[0].temp.path)
		err = claim_dir_of(n[0].path, &dir);
	while (!err && named < count) {
		err = give_name(&n[named], &made[named]);
		named += !err;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (err && i < named && made[i])
			unlink(n[i].path);
		tempfile_close(&n[i].temp);
	}
	if (dir >= 0)
		close(dir);
	cleanup_release();
	return err;
}

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

int newfile_regular(const char *path, bool overwrite)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? check_parent(path) : err_sys("cannot create %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(-EEXIST,
			       "%s already exists, and is not a regular file: choose another name",
			       path);
	if (!overwrite)
		return err_set(-EEXIST,
			       "%s already exists: remove it, choose another name, or give "
			       "--overwrite",
			       path);
	return check_parent(path);
}

int newfile_room(const char *path, uint64_t bytes)
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
	return err_set(-ENOSPC, "no space for %s: it needs %llu bytes, and %llu are free", path,
		       (ull)bytes, (ull)room);
}

dev_t newfile_fs(const char *path)
{
	char *copy = strdup(path);
	struct stat st = {.st_dev = 0};

	if (copy && stat(path, &st) && stat(dirname(copy), &st))
		st.st_dev = 0;
	free(copy);
	return st.st_dev;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "error.h"
#include "newfile.h"
#include "output.h"

static int make_temp(struct newfile *n)
{
	mode_t mask = umask(0);
	int fd, err = 0;

	umask(mask);
	cleanup_hold();
	fd = mkostemp(n->temp, O_CLOEXEC);
	if (fd < 0) {
		err = err_sys("cannot create %s", n->path);
	} else if (fchmod(fd, 0666 & ~mask) || cleanup_add(n->temp) || !(n->f = fdopen(fd, "w"))) {
		close(fd);
		cleanup_remove(n->temp);
		err = err_set(-EIO, "cannot create %s", n->path);
	}
	cleanup_release();
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
	return newfile_stream(path) ? 0 : output_check(path, overwrite);
}

int newfile_open(struct newfile *n, const char *path, bool overwrite)
{
	int err;

	n->path = path;
	n->overwrite = overwrite;
	n->temp = NULL;
	if (newfile_stdout(path)) {
		n->path = "standard output";
		n->f = stdout;
		return 0;
	}
	if (newfile_stream(path)) {
		n->f = fopen(path, "we");
		return n->f ? 0 : err_sys("cannot open %s", path);
	}
	err = output_check(path, overwrite);
	if (err)
		return err;
	if (asprintf(&n->temp, "%s.XXXXXX", path) < 0)
		return err_set(-ENOMEM, "out of memory");
	err = make_temp(n);
	if (err)
		free(n->temp);
	return err;
}

/* All that was written is where it belongs, but for its name. */
static int finish(struct newfile *n, int err)
{
	/* On the medium before the rename, or a crash could leave an empty file of that name. */
	if (!err && (fflush(n->f) || (n->temp && fdatasync(fileno(n->f)))))
		err = err_sys("cannot write %s", n->path);
	if (!err && ferror(n->f))
		err = err_set(-EIO, "cannot write %s", n->path);
	if (n->f != stdout && fclose(n->f) && !err)
		err = err_sys("cannot write %s", n->path);
	/* Once more: what the name stands for may have changed since the work began. */
	if (!err && n->temp)
		err = output_check(n->path, n->overwrite);
	return err;
}

/* @made: whether nothing of that name was there. */
static int give_name(struct newfile *n, bool *made)
{
	struct stat st;

	*made = n->temp && lstat(n->path, &st);
	if (n->temp && rename(n->temp, n->path))
		return err_sys("cannot rename to %s", n->path);
	return 0;
}

int newfile_close(struct newfile *n, unsigned int count, int err)
{
	bool made[NEWFILES];
	unsigned int named = 0;

	for (unsigned int i = 0; i < count; i++)
		err = finish(&n[i], err);
	/* No signal shall come between the names of files that belong together. */
	cleanup_hold();
	while (!err && named < count) {
		err = give_name(&n[named], &made[named]);
		named += !err;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (err && i < named && made[i])
			unlink(n[i].path);
		if (err && i >= named && n[i].temp)
			cleanup_remove(n[i].temp);
		else if (n[i].temp)
			cleanup_forget(n[i].temp);
		free(n[i].temp);
	}
	cleanup_release();
	return err;
}

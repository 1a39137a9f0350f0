// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

static bool is_stream(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

int newfile_check(const char *path, bool overwrite)
{
	return is_stream(path) ? 0 : output_check(path, overwrite);
}

int newfile_open(struct newfile *n, const char *path, bool overwrite)
{
	int err;

	n->path = path;
	n->overwrite = overwrite;
	n->temp = NULL;
	if (is_stream(path)) {
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

int newfile_close(struct newfile *n, int err)
{
	/* On the medium before the rename, or a crash could leave an empty file of that name. */
	if (!err && (fflush(n->f) || (n->temp && fdatasync(fileno(n->f)))))
		err = err_sys("cannot write %s", n->path);
	if (fclose(n->f) && !err)
		err = err_sys("cannot write %s", n->path);
	if (!n->temp)
		return err;
	/* Once more: what the name stands for may have changed since the work began. */
	if (!err)
		err = output_check(n->path, n->overwrite);
	if (!err && rename(n->temp, n->path))
		err = err_sys("cannot rename to %s", n->path);
	if (err)
		cleanup_remove(n->temp);
	else
		cleanup_forget(n->temp);
	free(n->temp);
	return err;
}

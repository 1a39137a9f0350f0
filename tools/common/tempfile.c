// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "error.h"
#include "tempfile.h"

static char *link_of(int fd)
{
	char *link;

	return asprintf(&link, "/proc/self/fd/%d", fd) < 0 ? NULL : link;
}

/* Without a name; -1 where there can be none, or where it could not get one (no /proc). */
static int open_nameless(const char *path)
{
	char *copy = strdup(path), *link;
	int fd = copy ? open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;

	free(copy);
	link = fd < 0 ? NULL : link_of(fd);
	if (fd >= 0 && (!link || access(link, F_OK))) {
		close(fd);
		fd = -1;
	}
	free(link);
	return fd;
}

/* With a temporary name, which is removed should a signal come. */
static int open_named(struct tempfile *t)
{
	mode_t mask = umask(0);
	int err = 0;

	umask(mask);
	if (asprintf(&t->temp, "%s.XXXXXX", t->path) < 0) {
		t->temp = NULL;
		return err_set(-ENOMEM, "out of memory");
	}
	cleanup_hold();
	t->fd = mkostemp(t->temp, O_CLOEXEC);
	if (t->fd < 0) {
		err = err_sys("cannot create %s", t->path);
	} else if (fchmod(t->fd, 0666 & ~mask) || cleanup_add(t->temp)) {
		close(t->fd);
		unlink(t->temp);
		err = err_set(-EIO, "cannot create %s", t->path);
	}
	cleanup_release();
	return err;
}

int tempfile_open(struct tempfile *t, const char *path)
{
	int err = 0;

	*t = (struct tempfile){.path = strdup(path)};
	if (!t->path)
		return err_set(-ENOMEM, "out of memory");
	t->fd = open_nameless(path);
	if (t->fd < 0)
		err = open_named(t);
	if (err) {
		free(t->temp);
		free(t->path);
		t->path = t->temp = NULL;
	}
	return err;
}

char *tempfile_uses(const struct tempfile *t)
{
	return t->temp ? strdup(t->temp) : link_of(t->fd);
}

static int link_as(int fd, const char *path)
{
	char *link = link_of(fd);
	int err = link ? linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) : -1;

	free(link);
	return err;
}

/* A file without a name cannot replace one that has it, so it takes another name before. */
static int name_beside(struct tempfile *t)
{
	uint32_t number;
	int err;

	do {
		free(t->temp);
		t->temp = NULL;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
		    asprintf(&t->temp, "%s.%08x", t->path, number) < 0)
			return -1;
		err = link_as(t->fd, t->temp);
	} while (err && errno == EEXIST);
	return err;
}

static int give(struct tempfile *t, bool replace)
{
	if (!t->temp && !link_as(t->fd, t->path))
		return 0;
	if (!t->temp && (errno != EEXIST || !replace || name_beside(t)))
		return -1;
	/* Not all file systems can rename without replacing. */
	if (!replace && !renameat2(AT_FDCWD, t->temp, AT_FDCWD, t->path, RENAME_NOREPLACE))
		return 0;
	return !replace && errno != EINVAL ? -1 : rename(t->temp, t->path);
}

int tempfile_name(struct tempfile *t, bool replace)
{
	bool listed = t->temp;

	if (give(t, replace)) {
		int err = errno == EEXIST
				  ? err_set(-EEXIST, "%s was created in the meantime", t->path)
				  : err_sys("cannot rename to %s", t->path);

		if (t->temp && !listed)
			unlink(t->temp);
		return err;
	}
	if (listed)
		cleanup_forget(t->temp);
	free(t->temp);
	t->temp = NULL;
	return 0;
}

void tempfile_close(struct tempfile *t)
{
	if (!t->path)
		return;
	if (t->temp)
		cleanup_remove(t->temp);
	close(t->fd);
	free(t->temp);
	free(t->path);
	t->path = t->temp = NULL;
}

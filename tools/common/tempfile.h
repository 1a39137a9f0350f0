/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that gets its name when it is whole. Before, it has none (O_TMPFILE), so that nothing
 * stays of it, however the command ends; where the file system has no such files it has a
 * temporary name, which only SIGKILL leaves behind.
 */
#ifndef TOOLS_TEMPFILE_H
#define TOOLS_TEMPFILE_H

#include <stdbool.h>

/*
 * struct tempfile - A file that has no name yet.
 * @path: the name it shall have.
 * @temp: its temporary name, or NULL.
 */
struct tempfile {
	char *path, *temp;
	int fd;
};

/* tempfile_open() - Begin one for @path. 0, or -errno with the line set, and nothing to close. */
int tempfile_open(struct tempfile *t, const char *path);

/* tempfile_uses() - A path by which this process opens the file before it has a name; free() it. */
char *tempfile_uses(const struct tempfile *t);

/*
 * tempfile_name() - Give it its name; with @replace in the place of a regular file of that name.
 * Signals must be put off meanwhile (cleanup_hold()). 0, or -errno with the line set.
 */
int tempfile_name(struct tempfile *t, bool replace);

/* tempfile_close() - Forget it; without a name it is gone. */
void tempfile_close(struct tempfile *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there complete or not at all: written under another name, then renamed. A
 * device or a pipe, as /dev/null, is written as it is.
 */
#ifndef TOOLS_NEWFILE_H
#define TOOLS_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct newfile {
	const char *path;
	char *temp;
	FILE *f;
	bool overwrite;
};

/* newfile_check() - Whether @path could be begun now: before long work, not after it. */
int newfile_check(const char *path, bool overwrite);

/*
 * newfile_open() - Begin @path, which must outlive it. newfile_close() - Give it its name if @err
 * is 0, else remove it; returns @err or the errno of a failure.
 */
int newfile_open(struct newfile *n, const char *path, bool overwrite);
int newfile_close(struct newfile *n, int err);

#endif

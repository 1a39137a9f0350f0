/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there complete or not at all: it is named when it is whole (tempfile.h). A
 * device or a pipe, as /dev/null, is written as it is; "-" is standard output.
 */
#ifndef TOOLS_NEWFILE_H
#define TOOLS_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>
#include "tempfile.h"

/* As many as belong together at most. */
#define NEWFILES 2

struct newfile {
	const char *path;
	struct tempfile temp;
	FILE *f;
	bool overwrite;
};

/* newfile_check() - Whether @path could be begun now: before long work, not after it. */
int newfile_check(const char *path, bool overwrite);

/* newfile_stdout() - Whether @path, which may be NULL, is standard output. */
bool newfile_stdout(const char *path);

/* newfile_stream() - Whether it is written as it is: standard output, a device, a pipe. */
bool newfile_stream(const char *path);

/*
 * newfile_open() - Begin @path, which must outlive it. newfile_close() - Give @count files
 * (NEWFILES at most) their names if @err is 0 and all of them are written, else remove them all;
 * returns @err or the errno of a failure.
 */
int newfile_open(struct newfile *n, const char *path, bool overwrite);
int newfile_close(struct newfile *n, unsigned int count, int err);

#endif

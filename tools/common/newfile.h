/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there complete or not at all: it is named when it is whole (tempfile.h). A
 * device or a pipe, as /dev/null, is written as it is; "-" is standard output. An existing file
 * stays unless --overwrite is given, and data that cannot fit is refused before the work.
 */
#ifndef TOOLS_NEWFILE_H
#define TOOLS_NEWFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "tempfile.h"

/* As many as belong together at most. */
#define NEWFILES 3

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

/*
 * newfile_regular() - Whether @path may be made as a regular file: its directory is there, and no
 * file of that name, or a regular file (no link to one) and @overwrite.
 */
int newfile_regular(const char *path, bool overwrite);

/* newfile_room() - Whether @bytes more fit where @path is, or will be. */
int newfile_room(const char *path, uint64_t bytes);

/* newfile_fs() - The file system that @path is on, or will be; 0: it is not known. */
dev_t newfile_fs(const char *path);

#endif

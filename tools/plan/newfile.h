/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there complete or not at all: written under another name, then renamed.
 */
#ifndef TOOLS_PLAN_NEWFILE_H
#define TOOLS_PLAN_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct newfile {
	const char *path;
	char *temp;
	FILE *f;
	bool overwrite;
};

/*
 * newfile_open() - Begin @path, which must outlive it. newfile_close() - Give it its name if @err
 * is 0, else remove it; returns @err or the errno of a failure.
 */
int newfile_open(struct newfile *n, const char *path, bool overwrite);
int newfile_close(struct newfile *n, int err);

#endif

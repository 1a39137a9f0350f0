/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that a command is going to make: an existing file stays unless --overwrite is given, and
 * data that cannot fit is refused before the work, not after it.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * output_check() - Whether @path may be made: its directory is there and nothing of that name, or
 * a regular file (no link to one) and @overwrite.
 */
int output_check(const char *path, bool overwrite);

/* output_room() - Whether @bytes more fit where @path is, or will be. */
int output_room(const char *path, uint64_t bytes);

/* output_fs() - The file system that @path is on, or will be; 0: it is not known. */
dev_t output_fs(const char *path);

#endif

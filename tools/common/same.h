/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether two names stand for the same storage: through symbolic and hard links, as a loop device
 * and its backing file, as a disk and its partition. Commands ask before
 * they write, so that no input is overwritten and no device is taken for two.
 */
#ifndef TOOLS_SAME_H
#define TOOLS_SAME_H

#include <stdbool.h>

/* same_file() - Whether two paths do, or would once both are made. */
bool same_file(const char *a, const char *b);

/* same_storage() - Whether two URIs do. Opening an invalid URI fails later. */
bool same_storage(const char *a, const char *b);

/*
 * same_spares() - Whether making @path leaves @input, which is read, as it is; "-" is stdin. Of a
 * directory all files are read.
 */
int same_spares(const char *path, const char *input);

/* same_apart() - Whether @n devices are so many: 0, or -EINVAL with a line that names two. */
int same_apart(const char *const *uris, unsigned int n);

#endif

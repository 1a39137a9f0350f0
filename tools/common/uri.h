/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of storage: URIs of devices and ranges, and whether two names stand for the same storage,
 * through symbolic and hard links, as a loop device and its backing file, as a disk and its
 * partition. Commands ask before they write, so that no input is overwritten and no device is taken
 * for two.
 */
#ifndef TOOLS_URI_H
#define TOOLS_URI_H

#include <stdbool.h>
#include <annex/uri.h>
#include "cli.h"

/* The library's kinds of devices and ranges. */
extern const struct cli_list uri_devices, uri_ranges;

/* uri_scheme() - For such a list: a kind's scheme with its colon; NULL for NULL. */
const char *uri_scheme(const struct annex_scheme *s, char *summary);

/*
 * path_uri() - @scheme, ':' and the escaped @path, and "?@query" if that is not empty, in @buf of
 * ANNEX_URI_MAX. -ENAMETOOLONG with a line.
 */
int path_uri(char *buf, const char *scheme, const char *path, const char *query);

/* same_file() - Whether two paths stand for the same file, or would once both are made. */
bool same_file(const char *a, const char *b);

/* same_storage() - Whether two URIs stand for the same storage; false if one is invalid. */
bool same_storage(const char *a, const char *b);

/*
 * same_spares() - Whether making @path leaves @input, which is read, as it is; "-" is stdin. Of a
 * directory all files are read.
 */
int same_spares(const char *path, const char *input);

/* same_apart() - Whether @n devices are so many: 0, or -EINVAL with a line that names two. */
int same_apart(const char *const *uris, unsigned int n);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_URI_H
#define TOOLS_URI_H

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

#endif

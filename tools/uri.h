/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_URI_H
#define TOOLS_URI_H

/*
 * path_uri() - @scheme, ':' and the escaped @path, and "?@query" if that is not empty, in @buf of
 * ANNEX_URI_MAX. -ENAMETOOLONG with a line.
 */
int path_uri(char *buf, const char *scheme, const char *path, const char *query);

#endif

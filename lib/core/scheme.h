/* SPDX-License-Identifier: MIT */
/*
 * Tables of kinds of devices and ranges, each of which is known by the scheme of its URIs.
 */
#ifndef ANNEX_CORE_SCHEME_H
#define ANNEX_CORE_SCHEME_H

#include <annex/uri.h>

/* Row @i of a table, from 0 up to the first NULL. */
typedef const struct annex_scheme *scheme_at(unsigned int i);

/* scheme_find() - The row with the scheme of @uri, which may be a scheme alone; -1: none. */
int scheme_find(const char *uri, scheme_at *at);

/* scheme_unknown() - -EPROTONOSUPPORT, and a line with the schemes that there are. */
int scheme_unknown(const char *uri, scheme_at *at);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <annex/uri.h>
#include "error.h"
#include "uri.h"

int path_uri(char *buf, const char *scheme, const char *path, const char *query)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = strlen(scheme), room = ANNEX_URI_MAX - strlen(query) - 2;

	memcpy(buf, scheme, at);
	buf[at++] = ':';
	for (; *path && at + 3 < room; path++) {
		unsigned char c = (unsigned char)*path;

		if (c != '?' && c != '&' && c != '%') {
			buf[at++] = (char)c;
			continue;
		}
		buf[at++] = '%';
		buf[at++] = hex[c >> 4];
		buf[at++] = hex[c & 15];
	}
	if (*path)
		return err_set(-ENAMETOOLONG, "the path of the file is too long");
	if (*query)
		buf[at++] = '?';
	strcpy(buf + at, query);
	return 0;
}

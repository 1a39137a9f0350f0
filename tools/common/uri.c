// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include "error.h"
#include "uri.h"

const char *uri_scheme(const struct annex_scheme *s, char *summary)
{
	static char name[16];

	if (!s)
		return NULL;
	snprintf(summary, CLI_SUMMARY, "%s", s->summary);
	snprintf(name, sizeof(name), "%s:", s->name);
	return name;
}

static const char *device_at(unsigned int i, char *summary)
{
	return uri_scheme(annex_dev_scheme_at(i), summary);
}

static const char *range_at(unsigned int i, char *summary)
{
	return uri_scheme(annex_hdm_scheme_at(i), summary);
}

const struct cli_list uri_devices = {.arg = "DEVICE", .at = device_at};
const struct cli_list uri_ranges = {.arg = "RANGE", .at = range_at};

int path_uri(char *buf, const char *scheme, const char *path, const char *query)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = strlen(scheme), room = ANNEX_URI_MAX - strlen(query) - 2;

	memcpy(buf, scheme, at);
	buf[at++] = ':';
	for (; *path && at + 3 < room; path++) {
		unsigned char c = (unsigned char)*path;

		if (c >= ' ' && c != 0x7f && c != '?' && c != '&' && c != '%') {
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

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "log.h"
#include "scheme.h"

int scheme_find(const char *uri, scheme_at *at)
{
	const struct annex_scheme *s;
	size_t n = strcspn(uri, ":");

	for (unsigned int i = 0; (s = at(i)); i++)
		if (strlen(s->name) == n && !strncmp(uri, s->name, n))
			return (int)i;
	return -1;
}

int scheme_unknown(const char *uri, scheme_at *at)
{
	char list[128] = "";
	size_t n = 0;

	for (unsigned int i = 0; at(i) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s:", i ? ", " : "",
				      at(i)->name);
	return annex_fail(-EPROTONOSUPPORT, "%.64s: unknown scheme (there are %s)", uri, list);
}

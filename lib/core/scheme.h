/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_SCHEME_H
#define ANNEX_CORE_SCHEME_H

#include <stdbool.h>
#include <string.h>

/* scheme_is() - Whether a URI, or its scheme alone, begins with this scheme. */
static inline bool scheme_is(const char *uri, const char *scheme)
{
	size_t n = strcspn(uri, ":");

	return strlen(scheme) == n && !strncmp(uri, scheme, n);
}

#endif

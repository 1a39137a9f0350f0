/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long requests took, moment by moment: windows of equal length, which are joined in pairs when
 * time goes beyond the last.
 */
#ifndef TOOLS_CXL_SERIES_H
#define TOOLS_CXL_SERIES_H

#include <stdint.h>

#define SERIES_WINDOWS 64u

/* struct series_sum - Requests, and nanoseconds of all of them. */
struct series_sum {
	uint64_t n, ns;
};

/* struct series - A zeroed one is empty. @width: nanoseconds of a window. @n: windows so far. */
struct series {
	uint64_t width;
	uint32_t n;
	struct series_sum loads[SERIES_WINDOWS], stores[SERIES_WINDOWS];
};

/* series_load(), series_store() - A request that came at @now took @ns. */
void series_load(struct series *s, uint64_t now, uint64_t ns);
void series_store(struct series *s, uint64_t now, uint64_t ns);

#endif

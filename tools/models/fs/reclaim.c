// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include "tools/common/mem.h"
#include "tools/common/error.h"
#include "reclaim.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

#define UNLIMITED (1ull << 62) /* groups of version 1 say 2^63 less a page */

/* Linux up to 6.15 writes copies of the pages back, for which nothing waits. */
static bool has_copies(void)
{
	unsigned int major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 16));
}

int reclaim_arrange(void)
{
	const unsigned long long limit = mem_limit_v1();

	if (!prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) || limit >= UNLIMITED || has_copies())
		return 0;
	return err_set(
		-EPERM,
		"this control group (version 1) has %llu bytes of memory at most, and programs "
		"in it that map files to write could hang for ever: mount outside of it, or "
		"with CAP_SYS_RESOURCE, or -o ro",
		limit);
}

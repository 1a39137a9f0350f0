// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mounts.h"

/* A mount of this type and source, or on this directory; the last one is on top. */
static bool find(const char *type, const char *source, const char *dir, char *where, size_t size)
{
	char text[3 * PATH_MAX];
	struct mntent m;
	bool found = false;
	FILE *f = setmntent("/proc/self/mounts", "r");

	while (f && getmntent_r(f, &m, text, sizeof(text))) {
		if ((type && strcmp(m.mnt_type, type)) ||
		    (source && strcmp(m.mnt_fsname, source)) || (dir && strcmp(m.mnt_dir, dir)))
			continue;
		found = true;
		if (where)
			snprintf(where, size, "%s", m.mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

bool mounts_where(const char *path, char *where, size_t size)
{
	char *real = realpath(path, NULL);
	bool found = real && find("fuse." MOUNTS_TYPE, real, NULL, where, size);

	free(real);
	return found;
}

bool mounts_image(const char *path)
{
	return mounts_where(path, NULL, 0);
}

bool mounts_at(const char *dir)
{
	return find(NULL, NULL, dir, NULL, 0);
}

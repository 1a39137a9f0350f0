// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "tcp.h"

#define DEEP 8u /* devices on top of each other */

/* A controller's folder in sysfs. */
static bool is_tcp(const char *folder, const char *name)
{
	char path[PATH_MAX], transport[16] = "";
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/%s/transport", folder, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (file && fscanf(file, "%15s", transport) != 1)
		*transport = '\0';
	if (file)
		fclose(file);
	return !strcmp(transport, "tcp");
}

static bool disk_is(const char *folder, unsigned int deep);

/* Any of those that a folder of the disk's has. */
static bool any_is(const char *disk, const char *list, unsigned int deep)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/%s", disk, list) >= (int)sizeof(path) - NAME_MAX - 1)
		return false;
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		char one[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(one, sizeof(one), "%.*s/%s", PATH_MAX - NAME_MAX - 2, path, entry->d_name);
		found = deep ? disk_is(one, deep - 1) : is_tcp(path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* By its controller, by those of its subsystem, by what it is a part of, or by what is below it. */
static bool disk_is(const char *folder, unsigned int deep)
{
	char path[PATH_MAX];

	if (is_tcp(folder, "device") || any_is(folder, "device", 0))
		return true;
	if (!deep)
		return false;
	if (snprintf(path, sizeof(path), "%s/partition", folder) < (int)sizeof(path) &&
	    !access(path, F_OK)) {
		snprintf(path, sizeof(path), "%.*s/..", PATH_MAX - 4, folder);
		return disk_is(path, deep - 1);
	}
	return any_is(folder, "slaves", deep);
}

bool annex_emu_over_tcp(const char *root, const struct stat *st)
{
	bool node = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
	dev_t dev = node ? st->st_rdev : st->st_dev;
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/sys/dev/%s/%u:%u", root,
			S_ISCHR(st->st_mode) ? "char" : "block", major(dev),
			minor(dev)) < (int)sizeof(path) &&
	       disk_is(path, DEEP);
}

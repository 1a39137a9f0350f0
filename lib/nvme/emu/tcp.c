// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "tcp.h"

#define DEEP 8u /* devices on top of each other */

/* Whether a file of that folder begins with the word. */
static bool has_word(const char *folder, const char *name, const char *file, const char *word)
{
	char path[PATH_MAX], found[16] = "";
	FILE *text;

	if (snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file) >= (int)sizeof(path))
		return false;
	text = fopen(path, "re");
	if (text && fscanf(text, "%15s", found) != 1)
		*found = '\0';
	if (text)
		fclose(text);
	return !strcmp(found, word);
}

bool annex_emu_ctrl_is(const char *device, const char *file, const char *word)
{
	bool found = has_word(device, ".", file, word);
	const struct dirent *entry;
	DIR *dir = found ? NULL : opendir(device);

	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && has_word(device, entry->d_name, file, word);
	if (dir)
		closedir(dir);
	return found;
}

static bool disk_is(const char *folder, unsigned int deep);

/* Any of the disks that a disk is on top of. */
static bool below_is(const char *disk, unsigned int deep)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%.*s/slaves", PATH_MAX - 8, disk);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.*s/slaves/%s", PATH_MAX - NAME_MAX - 9, disk,
			 entry->d_name);
		found = disk_is(path, deep);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* By its controller, by those of its subsystem, by what it is a part of, or by what is below it. */
static bool disk_is(const char *folder, unsigned int deep)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/device", PATH_MAX - 8, folder);
	if (annex_emu_ctrl_is(path, "transport", "tcp"))
		return true;
	if (!deep)
		return false;
	snprintf(path, sizeof(path), "%.*s/partition", PATH_MAX - 11, folder);
	if (access(path, F_OK))
		return below_is(folder, deep - 1);
	snprintf(path, sizeof(path), "%.*s/..", PATH_MAX - 4, folder);
	return disk_is(path, deep - 1);
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

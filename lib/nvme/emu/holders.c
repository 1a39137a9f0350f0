// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "holders.h"

#define NAME 64 /* bytes for the name of a block device */

/*
 * struct part - A disk, or a partition of it.
 * @root: as of annex_emu_held().
 * @folder: its folder in sysfs.
 * @name: its name.
 * @dev: its device number, as sysfs and mountinfo have it.
 */
struct part {
	const char *root;
	char folder[PATH_MAX];
	char name[NAME];
	char dev[16];
};

static bool is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strlen(entry->d_name) < NAME;
}

/* The first name in a folder of a part that another folder or file is called by. */
static bool find_holder(const struct part *p, char why[EMU_HOLDER_WHY])
{
	char path[PATH_MAX + 16];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/holders", p->folder);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		found = is_name(entry);
		if (found)
			snprintf(why, EMU_HOLDER_WHY, "%s is held by %s", p->name, entry->d_name);
	}
	closedir(dir);
	return found;
}

/* Whether a device file is that of the part: by its name, or by its number. */
static bool is_node(const struct part *p, const char *path)
{
	char full[PATH_MAX], dev[32];
	struct stat st;

	if (strncmp(path, "/dev/", 5))
		return false;
	if (!strcmp(path + 5, p->name))
		return true;
	if (snprintf(full, sizeof(full), "%s%s", p->root, path) >= (int)sizeof(full) ||
	    stat(full, &st) || !S_ISBLK(st.st_mode))
		return false;
	snprintf(dev, sizeof(dev), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	return !strcmp(dev, p->dev);
}

/* A line of mountinfo: a file system on several devices has a number of its own, and names one. */
static bool is_mount(const struct part *p, const char *line, char where[256])
{
	const char *rest = strstr(line, " - ");
	char dev[32], source[1024];

	if (sscanf(line, "%*s %*s %31s %*s %255s", dev, where) != 2)
		return false;
	if (!strcmp(dev, p->dev))
		return true;
	return rest && sscanf(rest, " - %*s %1023s", source) == 1 && is_node(p, source);
}

static FILE *open_proc(const struct part *p, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/proc/%s", p->root, name) < (int)sizeof(path)
		       ? fopen(path, "re")
		       : NULL;
}

static bool find_mount(const struct part *p, char why[EMU_HOLDER_WHY])
{
	FILE *file = open_proc(p, "self/mountinfo");
	char *line = NULL, where[256];
	bool found = false;
	size_t size = 0;

	if (!file) {
		snprintf(why, EMU_HOLDER_WHY,
			 "%s may be mounted, as /proc/self/mountinfo cannot be read", p->name);
		return true;
	}
	while (!found && getline(&line, &size, file) > 0)
		found = is_mount(p, line, where);
	if (found)
		snprintf(why, EMU_HOLDER_WHY, "%s is mounted on %s", p->name, where);
	free(line);
	fclose(file);
	return found;
}

/* A kernel without swap has no such file. */
static bool find_swap(const struct part *p, char why[EMU_HOLDER_WHY])
{
	FILE *file = open_proc(p, "swaps");
	char *line = NULL, path[1024];
	bool found = false;
	size_t size = 0;

	while (file && !found && getline(&line, &size, file) > 0)
		found = sscanf(line, "%1023s", path) == 1 && is_node(p, path);
	if (found)
		snprintf(why, EMU_HOLDER_WHY, "%s is swap", p->name);
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool part_held(struct part *p, char why[EMU_HOLDER_WHY])
{
	char path[PATH_MAX + 16];
	FILE *file;

	snprintf(path, sizeof(path), "%s/dev", p->folder);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%15s", p->dev) != 1)
		p->dev[0] = '\0';
	if (file)
		fclose(file);
	return find_holder(p, why) || find_mount(p, why) || find_swap(p, why);
}

/* A folder of a disk is a partition's if it has a file of that name. */
static bool is_partition(const char *folder)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/partition", folder);
	return !access(path, F_OK);
}

bool annex_emu_held(const char *root, const char *disk, char why[EMU_HOLDER_WHY])
{
	struct part p = {.root = root};
	const struct dirent *entry;
	size_t len;
	bool held;
	DIR *dir;

	len = (size_t)snprintf(p.folder, sizeof(p.folder), "%s/sys/class/block/%s", root, disk);
	if (len >= sizeof(p.folder) - NAME - 1)
		return snprintf(why, EMU_HOLDER_WHY, "the path of %s is too long", disk);
	snprintf(p.name, sizeof(p.name), "%s", disk);
	held = part_held(&p, why);
	dir = held ? NULL : opendir(p.folder);
	while (dir && !held && (entry = readdir(dir))) {
		if (!is_name(entry))
			continue;
		snprintf(p.folder + len, sizeof(p.folder) - len, "/%s", entry->d_name);
		snprintf(p.name, sizeof(p.name), "%.*s", NAME - 1, entry->d_name);
		held = is_partition(p.folder) && part_held(&p, why);
	}
	if (dir)
		closedir(dir);
	return held;
}

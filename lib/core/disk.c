// SPDX-License-Identifier: MIT
#include <annex/disk.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "log.h"

#define DEPTH 8 /* holders of holders: no sane stack of block devices is deeper */
#define NAME 64 /* bytes for the name of a block device */

struct walk {
	const char *root;
	annex_disk_fn visit;
	void *arg;
};

/*
 * struct node - A block device.
 * @name: its name.
 * @label: its name below /dev/mapper, or "".
 * @number: MAJOR:MINOR, as sysfs and mountinfo have it, or "".
 */
struct node {
	const char *name;
	char label[128];
	char number[24];
};

static int disk_entry(const struct walk *w, enum annex_disk_use use, const char *device,
		      const char *name)
{
	const struct annex_disk_entry entry = {.use = use, .device = device, .name = name};

	return w->visit(&entry, w->arg);
}

/* A path below the root; one that is too long becomes "", which nothing has. */
static void make_path(char path[PATH_MAX], const struct walk *w, const char *fmt, va_list args)
{
	int n = snprintf(path, PATH_MAX, "%s/", w->root);

	if (n < PATH_MAX)
		n += vsnprintf(path + n, (size_t)(PATH_MAX - n), fmt, args);
	if (n >= PATH_MAX)
		path[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static FILE *open_file(const struct walk *w, const char *fmt,
							     ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	make_path(path, w, fmt, args);
	va_end(args);
	return fopen(path, "re");
}

__attribute__((format(printf, 2, 3))) static DIR *open_dir(const struct walk *w, const char *fmt,
							   ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	make_path(path, w, fmt, args);
	va_end(args);
	return opendir(path);
}

/* The next name in a folder, or NULL, also where there is no folder. */
static const char *next_name(DIR *dir)
{
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < NAME)
			return entry->d_name;
	return NULL;
}

/* The line of a file of a block device; "": there is none. */
static void read_line(char *line, int size, const struct walk *w, const char *name,
		      const char *attribute)
{
	FILE *file = open_file(w, "sys/class/block/%s/%s", name, attribute);

	if (!file || !fgets(line, size, file))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Undo \040 and its like, by which the kernel writes spaces in paths. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && isdigit(s[1]) && isdigit(s[2]) && isdigit(s[3])) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0');
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* Whether a device file is that of a block device: by its name, or by its number. */
static bool is_node(const struct walk *w, const struct node *b, const char *path)
{
	char full[PATH_MAX], number[sizeof(b->number)];
	struct stat st;

	if (strncmp(path, "/dev/", 5) != 0)
		return false;
	if (!strcmp(path + 5, b->name))
		return true;
	if (b->label[0] && !strncmp(path + 5, "mapper/", 7) && !strcmp(path + 12, b->label))
		return true;
	if (snprintf(full, sizeof(full), "%s%s", w->root, path) >= PATH_MAX || stat(full, &st) ||
	    !S_ISBLK(st.st_mode))
		return false;
	snprintf(number, sizeof(number), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	return !strcmp(number, b->number);
}

/* A line of mountinfo, proc(5). A file system on several devices has a number that is none of
 * theirs, and names one. */
static int check_mount(const struct walk *w, const struct node *b, char *line)
{
	char number[32], where[1024], source[1024] = "", *rest = strstr(line, " - ");

	if (sscanf(line, "%*s %*s %31s %*s %1023s", number, where) != 2)
		return 0;
	if (rest && sscanf(rest, " - %*s %1023s", source) == 1)
		unescape(source);
	if (strcmp(number, b->number) != 0 && !is_node(w, b, source))
		return 0;
	unescape(where);
	return disk_entry(w, ANNEX_DISK_MOUNT, b->name, where);
}

/* A line of /proc/swaps: the first word is the device. */
static int check_swap(const struct walk *w, const struct node *b, char *line)
{
	char source[1024];

	if (sscanf(line, "%1023s", source) != 1)
		return 0;
	unescape(source);
	return is_node(w, b, source) ? disk_entry(w, ANNEX_DISK_SWAP, b->name, "") : 0;
}

static int each_line(const struct walk *w, const struct node *b, FILE *file,
		     int (*check)(const struct walk *w, const struct node *b, char *line))
{
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && getline(&line, &size, file) > 0)
		err = check(w, b, line);
	free(line);
	fclose(file);
	return err;
}

static int visit_users(const struct walk *w, const struct node *b)
{
	FILE *mounts = open_file(w, "proc/self/mountinfo"), *swaps;
	int err;

	if (!mounts)
		return annex_fail(-EIO, "%s may be mounted, as /proc/self/mountinfo cannot be read",
				  b->name);
	err = each_line(w, b, mounts, check_mount);
	/* A kernel without swap has no such file. */
	swaps = err ? NULL : open_file(w, "proc/swaps");
	return swaps ? each_line(w, b, swaps, check_swap) : err;
}

/* A block device, its uses, and the block devices that lie on it. */
static int visit_node(const struct walk *w, const char *name, int depth)
{
	struct node b = {.name = name};
	const char *holder;
	DIR *dir;
	int err;

	read_line(b.number, sizeof(b.number), w, name, "dev");
	read_line(b.label, sizeof(b.label), w, name, "dm/name");
	err = disk_entry(w, ANNEX_DISK_NODE, name, b.label);
	dir = err ? NULL : open_dir(w, "sys/class/block/%s/holders", name);
	while (!err && (holder = next_name(dir))) {
		err = disk_entry(w, ANNEX_DISK_HOLDER, name, holder);
		if (!err && depth < DEPTH)
			err = visit_node(w, holder, depth + 1);
	}
	if (dir)
		closedir(dir);
	return err ? err : visit_users(w, &b);
}

/* A folder in a disk's folder is a partition's if it has a file of that name. */
static bool is_partition(const struct walk *w, const char *disk, const char *name)
{
	FILE *file = open_file(w, "sys/class/block/%s/%s/partition", disk, name);

	if (file)
		fclose(file);
	return file;
}

int annex_disk_walk(const char *root, const char *disk, annex_disk_fn visit, void *arg)
{
	const struct walk w = {.root = root, .visit = visit, .arg = arg};
	int err = visit_node(&w, disk, 0);
	const char *name;
	DIR *dir;

	dir = err ? NULL : open_dir(&w, "sys/class/block/%s", disk);
	while (!err && (name = next_name(dir)))
		if (is_partition(&w, disk, name))
			err = visit_node(&w, name, 0);
	if (dir)
		closedir(dir);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include <annex/uri.h>
#include "error.h"
#include "newfile.h"
#include "pcidev.h"
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

/* The first line of a file in the directory of the block device @dev in sysfs, or NULL. */
static char *sysfs_line(dev_t dev, const char *name)
{
	char path[128], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), name);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	if (getline(&line, &room, f) < 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = '\0';
	}
	fclose(f);
	return line;
}

/* A loop device is the file behind it, which may be a loop device again. */
static void follow_loop(struct stat *st)
{
	for (int i = 0; i < 8 && S_ISBLK(st->st_mode); i++) {
		char *path = sysfs_line(st->st_rdev, "loop/backing_file");
		struct stat behind;
		bool known = path && !stat(path, &behind);

		free(path);
		if (!known)
			return;
		*st = behind;
	}
}

/* The disk that the block device @dev is a partition of, or @dev. */
static dev_t disk_of(dev_t dev)
{
	char *number = sysfs_line(dev, "partition");
	char *disk = number ? sysfs_line(dev, "../dev") : NULL;
	unsigned int ma, mi;

	if (disk && sscanf(disk, "%u:%u", &ma, &mi) == 2)
		dev = makedev(ma, mi);
	free(number);
	free(disk);
	return dev;
}

static bool same_stat(struct stat x, struct stat y)
{
	follow_loop(&x);
	follow_loop(&y);
	if (!S_ISBLK(x.st_mode) || !S_ISBLK(y.st_mode))
		return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	return x.st_rdev == y.st_rdev || disk_of(x.st_rdev) == y.st_rdev ||
	       disk_of(y.st_rdev) == x.st_rdev;
}

/* The directory that @path is in, and its name there, which is to be freed with *@copy. */
static const char *last_name(const char *path, struct stat *dir, char **copy)
{
	char *parent = strdup(path);
	bool known = parent && !stat(dirname(parent), dir);

	free(parent);
	*copy = known ? strdup(path) : NULL;
	return *copy ? basename(*copy) : NULL;
}

/* Of two files that are not there yet. */
static bool same_place(const char *a, const char *b)
{
	struct stat x, y;
	char *copy_a, *copy_b;
	const char *name_a = last_name(a, &x, &copy_a), *name_b = last_name(b, &y, &copy_b);
	bool same = name_a && name_b && same_stat(x, y) && !strcmp(name_a, name_b);

	free(copy_a);
	free(copy_b);
	return same;
}

bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	bool is_a = !stat(a, &x), is_b = !stat(b, &y);

	if (newfile_stdout(a) || newfile_stdout(b))
		return !strcmp(a, b);
	if (is_a && is_b)
		return same_stat(x, y);
	return !is_a && !is_b && same_place(a, b);
}

static bool same_pci(const char *a, const char *b)
{
	char x[PCIDEV_ADDR], y[PCIDEV_ADDR];

	return !pcidev_addr(a, x) && !pcidev_addr(b, y) && !strcmp(x, y);
}

/* Of a device behind annex serve. */
static bool same_part(const struct annex_uri *a, const struct annex_uri *b)
{
	const char *x = annex_uri_get(a, "part"), *y = annex_uri_get(b, "part");

	return x && y && !strcmp(x, y) && same_file(a->body, b->body);
}

/* Of a device, or of a range. */
static unsigned int traits(const char *uri)
{
	return annex_dev_traits(uri) | annex_hdm_traits(uri);
}

bool same_storage(const char *a, const char *b)
{
	struct annex_uri *uri = malloc(2 * sizeof(*uri));
	bool same = false;

	if (uri && !annex_uri_parse(a, &uri[0]) && !annex_uri_parse(b, &uri[1])) {
		if (traits(a) & traits(b) & (ANNEX_TRAIT_PATH | ANNEX_TRAIT_SHARED))
			same = same_file(uri[0].body, uri[1].body);
		else if (!strcmp(uri[0].scheme, "unix") && !strcmp(uri[1].scheme, "unix"))
			same = same_part(&uri[0], &uri[1]);
		else
			same = traits(a) & traits(b) & ANNEX_TRAIT_PCI &&
			       same_pci(uri[0].body, uri[1].body);
	}
	free(uri);
	return same;
}

/* Whether the file @path is in the directory @dir. */
static bool is_inside(const char *path, struct stat dir)
{
	struct stat parent;
	char *copy;
	bool known = last_name(path, &parent, &copy);

	free(copy);
	return known && S_ISDIR(dir.st_mode) && same_stat(parent, dir);
}

int same_spares(const char *path, const char *input)
{
	struct stat x, y;

	if (newfile_stream(path) || stat(path, &x))
		return 0;
	if (strcmp(input, "-") ? stat(input, &y) : fstat(STDIN_FILENO, &y))
		return 0;
	if (!same_stat(x, y) && !is_inside(path, y))
		return 0;
	return err_set(-EINVAL, "%s is also an input: choose another name", path);
}

int same_apart(const char *const *uris, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++)
		for (unsigned int k = 0; k < i; k++)
			if (same_storage(uris[i], uris[k]))
				return err_set(-EINVAL,
					       "%s and %s are the same device: name each once",
					       uris[k], uris[i]);
	return 0;
}

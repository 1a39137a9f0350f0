/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CXL-SSD that has, or gets, a file system. Functions return 0, or -errno with the line set.
 */
#ifndef TOOLS_FS_IMAGE_H
#define TOOLS_FS_IMAGE_H

#include <stdbool.h>
#include <annex/models/fs.h>
#include <sys/stat.h>
#include <annex/uri.h>

/* struct image - @uri: as the endpoint is opened. @path: its backing file, which is @file. */
struct image {
	char uri[ANNEX_URI_MAX];
	char path[ANNEX_URI_MAX];
	struct stat file;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
};

/*
 * image_name() - Fill @uri and @path from an argument, PATH or URI, and parameters that the tool
 * adds ("", "readonly=1" or "size=1073741824").
 */
int image_name(struct image *i, const char *arg, const char *more);

/*
 * image_open() - The endpoint of a file that is there. It waits for a process that is unmounting
 * it. @readonly: the file is only read.
 */
int image_open(struct image *i, const char *arg, bool readonly);

/* image_connect() - The same of what image_name() has named, which may be made. */
int image_connect(struct image *i);

/* image_mount() - The file system on it. */
int image_mount(struct image *i, const struct annex_fs_opts *opts);

/* image_unmount() - Give the file system back. Return: @err, or why not all of it was written. */
int image_unmount(struct image *i, int err);

/* image_close() - Give both back, what there is of them. Return: as image_unmount(). */
int image_close(struct image *i, int err);

#endif

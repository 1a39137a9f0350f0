/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CXL-SSD for a file system, and the kernel's list of mounts. Functions that return int return 0,
 * or -errno with the line set.
 */
#ifndef TOOLS_FS_IMAGE_H
#define TOOLS_FS_IMAGE_H

#include <stdbool.h>
#include <annex/models/fs.h>
#include <sys/stat.h>
#include <annex/uri.h>

/*
 * struct image - A CXL-SSD.
 * @uri: opens the endpoint.
 * @path: its backing file.
 * @file: the status of that file when it was opened.
 * @s: the endpoint; NULL when closed.
 * @fs: the file system; NULL when not mounted.
 */
struct image {
	char uri[ANNEX_URI_MAX];
	char path[ANNEX_URI_MAX];
	struct stat file;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
};

/*
 * image_name() - Set @uri and @path from an argument, PATH or URI, and add a parameter: "",
 * "readonly=1" or "size=1073741824".
 */
int image_name(struct image *i, const char *arg, const char *more);

/*
 * image_open() - Open an endpoint whose file exists; wait up to ten seconds for a process that is
 * unmounting it. @readonly: only read the file.
 */
int image_open(struct image *i, const char *arg, bool readonly);

/* image_connect() - Open the endpoint that image_name() has set. This may create its file. */
int image_connect(struct image *i);

/* image_mount() - Mount its file system. */
int image_mount(struct image *i, const struct annex_fs_opts *opts);

/* image_unmount() - Unmount. Return: @err, or why some writes were lost. */
int image_unmount(struct image *i, int err);

/* image_close() - Unmount and close. Return: as image_unmount(). */
int image_close(struct image *i, int err);

#define MOUNTS_TYPE "annex" /* subtype of file systems that this tool mounts */

/* mounts_where() - Whether the file system in file @path is mounted; @where, unless NULL, gets the
 * directory. */
bool mounts_where(const char *path, char *where, size_t size);

/* mounts_at() - Whether something is mounted on @dir, an absolute path without links. */
bool mounts_at(const char *dir);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's list of mounts.
 */
#ifndef TOOLS_FS_MOUNTS_H
#define TOOLS_FS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#define MOUNTS_TYPE "annex" /* subtype of file systems that this tool mounts */

/* mounts_where() - Whether the file system in file @path is mounted; @where gets the directory. */
bool mounts_where(const char *path, char *where, size_t size);

/* mounts_image() - The same without the directory. */
bool mounts_image(const char *path);

/* mounts_at() - Whether something is mounted on @dir, an absolute path without links. */
bool mounts_at(const char *dir);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mounted file system: answers requests of the kernel until it is unmounted. Only programs with
 * libfuse have these functions.
 */
#ifndef TOOLS_FS_SERVER_H
#define TOOLS_FS_SERVER_H

#include <annex/models/fs.h>

struct server;

/*
 * struct server_opts - A mount.
 * @source: source in the kernel's list of mounts.
 * @dir: mount point, an absolute path.
 * @options: options of mount(8), separated by commas; may be "".
 */
struct server_opts {
	const char *source, *dir, *options;
};

/*
 * server_open() - Mount. Return: 0, or -errno with the line set.
 *
 * server_run() - Answer requests until the file system is unmounted and no program has a file open.
 * The first signal unmounts; the second ends this at once. Return: 0, or -errno with the line set.
 *
 * server_close() - Unmount, if still mounted.
 */
int server_open(const struct server_opts *o, struct annex_fs *fs, struct server **out)
	__attribute__((weak));
int server_run(struct server *s) __attribute__((weak));
void server_close(struct server *s) __attribute__((weak));

#endif

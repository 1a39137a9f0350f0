/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system that is mounted: requests of the kernel are answered until somebody unmounts it.
 * Only programs with libfuse have it.
 */
#ifndef TOOLS_FS_SERVER_H
#define TOOLS_FS_SERVER_H

#include <annex/models/fs.h>

struct server;

/*
 * struct server_opts - @source: as the kernel's list of mounts has it. @dir: where, an absolute
 * path. @options: of mount(8), with commas; may be "".
 */
struct server_opts {
	const char *source, *dir, *options;
};

/*
 * server_open() - Mount. 0, or -errno with the line set.
 *
 * server_run() - Answer requests until it was unmounted and nobody has a file open. A signal
 * unmounts it, a second one ends this at once. 0, or -errno with the line set.
 *
 * server_close() - Unmount, if it is mounted still.
 */
int server_open(const struct server_opts *o, struct annex_fs *fs, struct server **out)
	__attribute__((weak));
int server_run(struct server *s) __attribute__((weak));
void server_close(struct server *s) __attribute__((weak));

#endif

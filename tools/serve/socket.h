/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a daemon listens.
 */
#ifndef TOOLS_SERVE_SOCKET_H
#define TOOLS_SERVE_SOCKET_H

/* socket_path() - Of unix:PATH the path, in place; a path stays as it is. -EINVAL with a line. */
int socket_path(char *arg);

/* socket_default() - Where a daemon listens that nothing was said to, in *@path, to be freed. */
int socket_default(char **path);

/* socket_passed() - The socket that systemd made, and its name, to be freed; *@fd is 0 and *@path
 * NULL where there is none. 0 or a negative errno with a line. */
int socket_passed(char **path, int *fd);

#endif

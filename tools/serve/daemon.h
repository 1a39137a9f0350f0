/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon: owners and permissions of its parts and socket, the socket itself, and metrics.
 */
#ifndef TOOLS_SERVE_DAEMON_H
#define TOOLS_SERVE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mode_parse() - Of an option: an octal number like 0640, into an uint32_t. */
int mode_parse(void *member, const char *opt, char *arg);

/* Room for mode_owner(). */
#define MODE_OWNER 80

/* mode_owner() - USER:GROUP, by name where they have one. */
const char *mode_owner(uint32_t uid, uint32_t gid, char buf[MODE_OWNER]);

/* mode_find_owner() - The numbers of USER[:GROUP]; the group is the user's if there is none.
 * -EINVAL with a line. */
int mode_find_owner(const char *text, uint32_t *uid, uint32_t *gid);

/* socket_path() - Of unix:PATH the path, in place; a path stays as it is. -EINVAL with a line. */
int socket_path(char *arg);

/* socket_default() - The socket of a daemon without --socket, in *@path, to be freed. */
int socket_default(char **path);

/* socket_passed() - The socket that systemd made, and its name, to be freed; *@fd is 0 and *@path
 * NULL where there is none. 0 or a negative errno with a line. */
int socket_passed(char **path, int *fd);

/* metrics_write() - Counters of the daemon at @socket into @path, in Prometheus' text format: the
 * file is replaced when it is whole. 0 or a negative errno with the line set. */
int metrics_write(const char *path, const char *socket);

/*
 * metrics_renew() - The same for a daemon that runs on if it fails: it warns when writing begins to
 * fail, and when it works again. @lost: whether it failed the last time.
 */
void metrics_renew(const char *path, const char *socket, bool *lost);

#endif

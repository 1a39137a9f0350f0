// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <annex/log.h>
#include <annex/uri.h>
#include "tools/common/error.h"
#include "daemon.h"

#define FIRST_PASSED 3 /* of descriptors that systemd passes: sd_listen_fds(3) */

int socket_path(char *arg)
{
	struct annex_uri uri;
	int err;

	if (strncmp(arg, "unix:", 5) != 0)
		return 0;
	err = annex_uri_parse(arg, &uri);
	if (err)
		return err_lib(err, "%s", arg);
	if (uri.nparams)
		return err_set(-EINVAL, "%s: name the daemon's socket alone, without ?%s=", arg,
			       uri.params[0].key);
	strcpy(arg, uri.body); /* is shorter */
	return 0;
}

int socket_default(char **path)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (asprintf(path, "%s/annex-serve.sock", dir && *dir ? dir : "/run") >= 0)
		return 0;
	*path = NULL;
	return err_set(-ENOMEM, "out of memory");
}

int socket_passed(char **path, int *fd)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(at) - 1;

	*path = NULL;
	*fd = 0;
	if (!pid || !fds || atol(pid) != getpid() || !strcmp(fds, "0"))
		return 0;
	if (strcmp(fds, "1") != 0)
		return err_set(-EINVAL, "systemd passed %s sockets; the daemon takes one", fds);
	if (getsockname(FIRST_PASSED, (struct sockaddr *)&at, &len))
		return err_sys("the socket that systemd passed");
	*path = strdup(at.sun_path);
	if (!*path)
		return err_set(-ENOMEM, "out of memory");
	*fd = FIRST_PASSED;
	return 0;
}

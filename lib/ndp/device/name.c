// SPDX-License-Identifier: MIT
/*
 * The name of a server's socket. One that a dead server left is replaced, a live one's is not. The
 * directory is locked meanwhile, so that of two who find a dead one neither removes the other's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "serve.h"

#define LOCK_MS 5000u
#define NAP_NS 1000000l
#define BACKLOG 16

static int lock_directory(const char *path)
{
	uint64_t deadline = annex_deadline_ms(LOCK_MS);
	struct timespec nap = {0, NAP_NS};
	char *copy = strdup(path);
	int fd;

	if (!copy)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return annex_fail(-errno, "%s: its directory: %m", path);
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		int err = errno == EWOULDBLOCK ? -EBUSY : -errno;

		if (err != -EBUSY || annex_now() >= deadline) {
			close(fd);
			return annex_fail(err, "%s: its directory cannot be locked: %s", path,
					  strerror(-err));
		}
		nanosleep(&nap, NULL);
	}
	return fd;
}

/* Something has that name: 0 when nobody lives there any more and it is removed. */
static int bury(const char *path, const struct sockaddr_un *at)
{
	struct stat st;
	int fd, err;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : annex_fail(-errno, "%s: %m", path);
	if (!S_ISSOCK(st.st_mode))
		return annex_fail(-EEXIST, "%s: there is something that is no socket", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return annex_fail(-errno, "%s: %m", path);
	err = connect(fd, (const struct sockaddr *)at, sizeof(*at)) ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return annex_fail(-EADDRINUSE, "%s: somebody serves there already", path);
	if (unlink(path))
		return annex_fail(-errno, "%s: what a dead server left cannot be removed: %m",
				  path);
	return 0;
}

static int bind_and_listen(struct ndp_server *s, const struct sockaddr_un *at)
{
	const struct sockaddr *sa = (const struct sockaddr *)at;
	struct stat st;
	int err = 0;

	/* The name gets the socket's mode: only this user may connect. */
	if (fchmod(s->listener, 0600))
		return annex_fail(-errno, "%s: %m", s->path);
	if (bind(s->listener, sa, sizeof(*at))) {
		if (errno != EADDRINUSE)
			return annex_fail(-errno, "%s: %m", s->path);
		err = bury(s->path, at);
		if (!err && bind(s->listener, sa, sizeof(*at)))
			err = annex_fail(-errno, "%s: %m", s->path);
	}
	if (err)
		return err;
	if (lstat(s->path, &st))
		return annex_fail(-errno, "%s: %m", s->path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	if (listen(s->listener, BACKLOG))
		return annex_fail(-errno, "%s: %m", s->path);
	return 0;
}

int ndp_name_take(struct ndp_server *s)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int dir, err;

	if (!*s->path || strlen(s->path) >= sizeof(at.sun_path))
		return annex_fail(-ENAMETOOLONG, "\"%.32s\": a socket's name has 1 to %zu bytes",
				  s->path, sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, s->path, strlen(s->path));
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return annex_fail(-errno, "%s: %m", s->path);
	dir = lock_directory(s->path);
	if (dir < 0)
		return dir;
	err = bind_and_listen(s, &at);
	if (err)
		ndp_name_drop(s);
	close(dir);
	return err;
}

void ndp_name_drop(const struct ndp_server *s)
{
	struct stat st;

	/* Not another's, who has it by now. */
	if (s->ino && !lstat(s->path, &st) && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
}

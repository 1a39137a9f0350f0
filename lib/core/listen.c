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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "log.h"
#include "packet.h"

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

static int bind_and_listen(struct packet_name *name, const struct sockaddr_un *at, mode_t mode)
{
	const struct sockaddr *sa = (const struct sockaddr *)at;
	struct stat st;
	int err = 0;

	/* The name gets the socket's mode. */
	if (fchmod(name->fd, mode))
		return annex_fail(-errno, "%s: %m", name->path);
	if (bind(name->fd, sa, sizeof(*at))) {
		if (errno != EADDRINUSE)
			return annex_fail(-errno, "%s: %m", name->path);
		err = bury(name->path, at);
		if (!err && bind(name->fd, sa, sizeof(*at)))
			err = annex_fail(-errno, "%s: %m", name->path);
	}
	if (err)
		return err;
	if (lstat(name->path, &st))
		return annex_fail(-errno, "%s: %m", name->path);
	name->dev = st.st_dev;
	name->ino = st.st_ino;
	/* The mask of the process took bits that others need. */
	if (mode & (S_IRWXG | S_IRWXO) && chmod(name->path, mode))
		return annex_fail(-errno, "%s: %m", name->path);
	if (listen(name->fd, BACKLOG))
		return annex_fail(-errno, "%s: %m", name->path);
	return 0;
}

static int listen_at(struct packet_name *name, mode_t mode)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int dir, err;

	if (!*name->path || strlen(name->path) >= sizeof(at.sun_path))
		return annex_fail(-ENAMETOOLONG, "\"%.32s\": a socket's name has 1 to %zu bytes",
				  name->path, sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, name->path, strlen(name->path));
	name->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (name->fd < 0)
		return annex_fail(-errno, "%s: %m", name->path);
	dir = lock_directory(name->path);
	if (dir < 0)
		return dir;
	err = bind_and_listen(name, &at, mode);
	close(dir);
	return err;
}

int packet_listen(const char *path, mode_t mode, struct packet_name *out)
{
	int err;

	*out = (struct packet_name){.path = strdup(path), .fd = -1};
	err = out->path ? listen_at(out, mode) : annex_fail(-ENOMEM, "%s: out of memory", path);
	if (err)
		packet_unlisten(out);
	return err;
}

void packet_unlisten(struct packet_name *name)
{
	struct stat st;

	/* Not another's, who has it by now. */
	if (name->ino && !lstat(name->path, &st) && st.st_dev == name->dev &&
	    st.st_ino == name->ino)
		unlink(name->path);
	if (name->fd >= 0)
		close(name->fd);
	free(name->path);
	*name = (struct packet_name){.fd = -1};
}

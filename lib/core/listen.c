// SPDX-License-Identifier: MIT
/*
 * The name of a server's socket. One that a dead server left is replaced, a live one's is not.
 * Meanwhile a file beside it is locked, NAME.lock, so that of two
 * processes that find a dead one neither removes the other's. Other users can neither open nor lock
 * that file. Only the process with the lock removes it; processes that waited find that theirs has
 * no name any more, and begin again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
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
#include "thread.h"

#define LOCK_MS 5000u
#define NAP_NS 1000000l
#define BACKLOG 16

/* struct lock - The file that is locked while a name changes hands. */
struct lock {
	char *path;
	int fd;
};

static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IRWXG | S_IRWXO));
}

static int open_lock(const char *path, struct lock *lock)
{
	/* O_NONBLOCK: a FIFO must not keep us waiting before it is refused. */
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int err;

	lock->fd = open(lock->path, flags, 0600);
	if (lock->fd >= 0 && !fstat(lock->fd, &st) && is_ours(&st))
		return 0;
	err = -errno;
	if (lock->fd >= 0)
		close(lock->fd);
	if (lock->fd < 0 && (lstat(lock->path, &st) || is_ours(&st)))
		return annex_fail(err, "%s: %s: %s", path, lock->path, strerror(-err));
	return annex_fail(-EPERM,
			  "%s: %s is no lock of this user's: remove it, unless another user "
			  "starts a server there",
			  path, lock->path);
}

/* The user before may have removed it. */
static bool has_name(const struct lock *lock)
{
	struct stat a, b;

	return !fstat(lock->fd, &a) && !lstat(lock->path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* -EAGAIN: another process has it, or had it until now. */
static int try_lock(const char *path, struct lock *lock)
{
	int err = open_lock(path, lock);

	if (err)
		return err;
	if (!flock(lock->fd, LOCK_EX | LOCK_NB))
		err = has_name(lock) ? 0 : -EAGAIN;
	else if (errno == EWOULDBLOCK)
		err = -EAGAIN;
	else
		err = annex_fail(-errno, "%s: cannot lock %s: %m", path, lock->path);
	if (err)
		close(lock->fd);
	return err;
}

static int lock_name(const char *path, struct lock *lock)
{
	uint64_t deadline = annex_deadline_ms(LOCK_MS);
	struct timespec nap = {0, NAP_NS};
	int err;

	if (asprintf(&lock->path, "%s.lock", path) < 0)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	while ((err = try_lock(path, lock)) == -EAGAIN && annex_now() < deadline)
		THREAD_KEPT(nanosleep(&nap, NULL));
	if (err == -EAGAIN)
		err = annex_fail(-EBUSY, "%s: another server is being started there: %s is locked",
				 path, lock->path);
	if (err)
		free(lock->path);
	return err;
}

/* The name goes first: a file of that name that is found later is not locked by us. */
static void unlock_name(struct lock *lock)
{
	unlink(lock->path);
	close(lock->fd);
	free(lock->path);
}

/* Something has that name: 0 when its server is dead and the name is removed. */
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
	err = THREAD_KEPT(connect(fd, (const struct sockaddr *)at, sizeof(*at))) ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return annex_fail(-EADDRINUSE, "%s: another process serves there already", path);
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
	struct lock lock;
	int err;

	if (!*name->path || strlen(name->path) >= sizeof(at.sun_path))
		return annex_fail(-ENAMETOOLONG, "\"%.32s\": a socket's name has 1 to %zu bytes",
				  name->path, sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, name->path, strlen(name->path));
	name->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (name->fd < 0)
		return annex_fail(-errno, "%s: %m", name->path);
	err = lock_name(name->path, &lock);
	if (err)
		return err;
	err = bind_and_listen(name, &at, mode);
	unlock_name(&lock);
	return err;
}

int annex_packet_listen(const char *path, mode_t mode, struct packet_name *out)
{
	int err;

	*out = (struct packet_name){.path = strdup(path), .fd = -1};
	err = out->path ? listen_at(out, mode) : annex_fail(-ENOMEM, "%s: out of memory", path);
	if (err)
		annex_packet_unlisten(out);
	return err;
}

void annex_packet_unlisten(struct packet_name *name)
{
	struct stat st;

	/* Not that of another server by now. */
	if (name->ino && !lstat(name->path, &st) && st.st_dev == name->dev &&
	    st.st_ino == name->ino)
		unlink(name->path);
	if (name->fd >= 0)
		close(name->fd);
	free(name->path);
	*name = (struct packet_name){.fd = -1};
}

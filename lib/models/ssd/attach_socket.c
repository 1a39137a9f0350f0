// SPDX-License-Identifier: MIT
/*
 * The socket of a range's owner, and messages over it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "attach.h"

#define BACKLOG 64
#define FILES_ROOM 8 /* in a message, of which too many are closed */

/* Return: the length of the address. */
static socklen_t name(uint64_t number, struct sockaddr_un *at)
{
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(at->sun_path + 1, ATTACH_NAME, "annex-cxlssd-%016llx", (unsigned long long)number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at->sun_path + 1));
}

static int make(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

int attach_listen(uint64_t *number)
{
	struct sockaddr_un at;
	socklen_t len;
	int fd, err;

	if (getrandom(number, sizeof(*number), 0) != sizeof(*number))
		return -EIO;
	*number = ATTACH_NUMBER + *number % (ATTACH_NUMBER - 1);
	len = name(*number, &at);
	fd = make();
	if (fd < 0)
		return fd;
	if (!bind(fd, (const struct sockaddr *)&at, len) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int attach_connect(uint64_t number)
{
	struct sockaddr_un at;
	socklen_t len = name(number, &at);
	int fd = make(), err;

	if (fd < 0 || !connect(fd, (const struct sockaddr *)&at, len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

uid_t attach_uid(int conn)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? (uid_t)-1 : cred.uid;
}

int attach_send(int conn, const struct attach_packet *p)
{
	char control[CMSG_SPACE(ATTACH_FILES * sizeof(int))] = {0};
	struct iovec iov = {(void *)&p->m, sizeof(p->m)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t n;

	if (p->files) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(p->files * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(p->files * sizeof(int));
		memcpy(CMSG_DATA(c), p->fd, p->files * sizeof(int));
	}
	do
		n = sendmsg(conn, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void take_files(struct attach_packet *p, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < bytes / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (p->files < ATTACH_FILES)
				p->fd[p->files++] = fd;
			else
				close(fd);
		}
	}
}

int attach_receive(int conn, struct attach_packet *p)
{
	char control[CMSG_SPACE(FILES_ROOM * sizeof(int))];
	struct iovec iov = {&p->m, sizeof(p->m)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t n;

	p->files = 0;
	do
		n = recvmsg(conn, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	take_files(p, &m);
	if (n == sizeof(p->m) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    p->m.magic == ATTACH_MAGIC)
		return 0;
	attach_drop_files(p);
	return n ? -EPROTO : -EPIPE;
}

void attach_drop_files(struct attach_packet *p)
{
	while (p->files) {
		int fd = p->fd[--p->files];

		if (fd >= 0)
			close(fd);
	}
}

int attach_take(struct attach_packet *p, unsigned int i)
{
	int fd = i < p->files ? p->fd[i] : -1;

	if (fd >= 0)
		p->fd[i] = -1;
	return fd;
}

bool attach_shows(int fd, const struct stat *file)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	/* With O_PATH anybody has a file open. */
	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) == O_RDWR &&
	       !fstat(fd, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

int attach_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd < 0 ? -errno : fd;
}

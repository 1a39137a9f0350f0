// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "log.h"
#include "packet.h"
#include "thread.h"

/* Signals do not end a wait that has a limit, nor do they make it longer than twice that. */
static bool goes_on(int sock, uint64_t since)
{
	struct timeval tv;
	socklen_t len = sizeof(tv);

	return errno == EINTR && !getsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, &len) &&
	       annex_now() - since < ((uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000) *
					     ANNEX_NSEC_PER_MSEC;
}

static int connect_within(int sock, const struct sockaddr_un *at, uint32_t timeout_ms)
{
	struct timeval tv = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	uint64_t since = annex_now();

	/* Connecting waits as sending does, for a server that does not accept. */
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		return -errno;
	while (THREAD_KEPT(connect(sock, (const struct sockaddr *)at, sizeof(*at))))
		if (!goes_on(sock, since))
			return errno == EAGAIN || errno == EINTR ? -ETIMEDOUT : -errno;
	return 0;
}

int packet_connect(const char *scheme, const char *path, uint32_t timeout_ms)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int sock, err;

	if (!*path || strlen(path) >= sizeof(at.sun_path))
		return annex_fail(-EINVAL, "%s:%.64s: name a socket, in up to %zu bytes", scheme,
				  path, sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, path, strlen(path));
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return annex_fail(-errno, "%s:%s: %m", scheme, path);
	err = connect_within(sock, &at, timeout_ms);
	if (!err)
		return sock;
	close(sock);
	if (err == -EPROTOTYPE)
		return annex_fail(-EPROTO, "%s:%s: not a device's socket", scheme, path);
	if (err == -ECONNREFUSED)
		return annex_fail(err, "%s:%s: no process serves there", scheme, path);
	return annex_fail(err, "%s:%s: %s", scheme, path, strerror(-err));
}

int annex_packet_send(int sock, const void *bytes, size_t n, const int *fds, unsigned int nfds,
		      int flags)
{
	char control[CMSG_SPACE(PACKET_FILES * sizeof(int))] = {0};
	struct iovec iov = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	uint64_t since = annex_now();
	struct cmsghdr *c;

	if (nfds) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	while (THREAD_KEPT(sendmsg(sock, &m, flags | MSG_NOSIGNAL)) < 0)
		if (!goes_on(sock, since))
			return -errno;
	return 0;
}

void annex_packet_close(struct packet_files *files)
{
	while (files->n)
		close(files->fd[--files->n]);
}

/* All of them are taken: those without a place would stay open. */
static void take_files(struct msghdr *m, struct packet_files *files)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n && files->n < PACKET_FILES; i++)
			memcpy(&files->fd[files->n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
}

ssize_t annex_packet_receive(int sock, struct iovec *iov, unsigned int niov,
			     struct packet_files *files, int flags)
{
	char control[CMSG_SPACE(PACKET_FILES * sizeof(int))];
	struct msghdr m = {.msg_iov = iov,
			   .msg_iovlen = niov,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	uint64_t since = annex_now();
	ssize_t n;

	files->n = 0;
	do
		n = THREAD_KEPT(recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC));
	while (n < 0 && goes_on(sock, since));
	if (n < 0)
		return -errno;
	take_files(&m, files);
	return m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EBADMSG : n;
}

void packet_ring(int sock)
{
	/* It fails when enough rings are pending, or the other end is closed. */
	while (THREAD_KEPT(send(sock, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
}

void packet_hear(int sock)
{
	char any[64];

	while (THREAD_KEPT(recv(sock, any, sizeof(any), MSG_DONTWAIT)) < 0 && errno == EINTR)
		;
}

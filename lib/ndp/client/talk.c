// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/uri.h>
#include "core/log.h"
#include "talk.h"

#define FILES 2

/* Signals do not end a wait that has a limit, nor do they make it longer than twice that. */
static bool goes_on(int sock, uint64_t since)
{
	struct timeval tv;
	socklen_t len = sizeof(tv);

	return errno == EINTR && !getsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, &len) &&
	       annex_now() - since < ((uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000) *
					     ANNEX_NSEC_PER_MSEC;
}

static int connect_to(const char *path, uint32_t timeout_ms)
{
	struct timeval tv = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	uint64_t since = annex_now();
	int fd, err = 0;

	if (!*path || strlen(path) >= sizeof(at.sun_path))
		return annex_fail(-EINVAL, "ndp:%.64s: name a socket, in up to %zu bytes", path,
				  sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return annex_fail(-errno, "ndp:%s: %m", path);
	/* Connecting waits as sending does, for a server that does not accept. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		err = -errno;
	while (!err && connect(fd, (const struct sockaddr *)&at, sizeof(at)))
		if (!goes_on(fd, since))
			err = errno == EAGAIN || errno == EINTR ? -ETIMEDOUT : -errno;
	if (!err)
		return fd;
	close(fd);
	if (err == -EPROTOTYPE)
		return annex_fail(-EPROTO, "ndp:%s: not a device's socket", path);
	if (err == -ECONNREFUSED)
		return annex_fail(err, "ndp:%s: nobody serves there", path);
	return annex_fail(err, "ndp:%s: %s", path, strerror(-err));
}

int talk_connect(const char *text, uint32_t timeout_ms)
{
	static const char *const keys[] = {NULL};
	struct annex_uri *uri = malloc(sizeof(*uri));
	int err;

	if (!uri)
		return annex_fail(-ENOMEM, "%.64s: out of memory", text);
	err = annex_uri_parse(text, uri);
	if (!err && strcmp(uri->scheme, "ndp") != 0)
		err = annex_fail(-EPROTONOSUPPORT, "%.64s: unknown scheme (there is ndp:)",
				 uri->scheme);
	if (!err)
		err = annex_uri_check_keys(uri, keys);
	if (!err)
		err = connect_to(uri->body, timeout_ms);
	free(uri);
	return err;
}

static int trouble(const char *what)
{
	if (errno == EAGAIN || errno == EINTR)
		return annex_fail(-ETIMEDOUT, "ndp: the server does not answer");
	if (errno == EPIPE || errno == ECONNRESET)
		return annex_fail(-ENODEV, "ndp: the server is gone");
	return annex_fail(-errno, "ndp: %s: %m", what);
}

static int ask_it(int sock, const struct annex_m2_message *ask, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {(void *)ask, sizeof(*ask)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	uint64_t since = annex_now();
	struct cmsghdr *c;

	if (fd >= 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (sendmsg(sock, &m, MSG_NOSIGNAL) < 0)
		if (!goes_on(sock, since))
			return trouble("asking");
	return 0;
}

static unsigned int take_files(struct msghdr *m, int fds[FILES])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	n = n < FILES ? n : FILES;
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return (unsigned int)n;
}

static int check(const struct annex_m2_message *ask, const struct annex_m2_message *a)
{
	if (a->magic != ANNEX_M2_MAGIC || a->ask != ask->ask || a->result > 0 || a->result < -4095)
		return annex_fail(-EPROTO, "ndp: what answers there is no device");
	return 0;
}

int talk(int sock, const struct annex_m2_message *ask, int fd, struct annex_m2_message *a, int *fds,
	 unsigned int nfds, void *more, size_t *nmore)
{
	char control[CMSG_SPACE(FILES * sizeof(int))];
	struct iovec iov[2] = {{a, sizeof(*a)}, {more, more ? *nmore : 0}};
	struct msghdr m = {.msg_iov = iov,
			   .msg_iovlen = more ? 2 : 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int got[FILES], err = ask_it(sock, ask, fd);
	uint64_t since = annex_now();
	unsigned int n;
	ssize_t len;

	if (err)
		return err;
	do
		len = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (len < 0 && goes_on(sock, since));
	if (len < 0)
		return trouble("its answer");
	if (!len)
		return annex_fail(-ENODEV, "ndp: the server is gone");
	n = take_files(&m, got);
	err = (size_t)len < sizeof(*a) || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)
		      ? annex_fail(-EPROTO, "ndp: what answers there is no device")
		      : check(ask, a);
	if (!err && n != (a->result ? 0 : nfds))
		err = annex_fail(-EPROTO, "ndp: the server gives %u files, not %u", n, nfds);
	if (err)
		while (n)
			close(got[--n]);
	if (!err && n)
		memcpy(fds, got, n * sizeof(int));
	if (!err && more)
		*nmore = (size_t)len - sizeof(*a);
	return err;
}

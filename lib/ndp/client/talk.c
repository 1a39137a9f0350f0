// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <annex/uri.h>
#include "core/log.h"
#include "core/packet.h"
#include "talk.h"

int annex_m2_talk_connect(const char *text, uint32_t timeout_ms)
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
		err = packet_connect("ndp", uri->body, timeout_ms);
	free(uri);
	return err;
}

static int trouble(const char *what, int err)
{
	if (err == -EAGAIN || err == -EINTR)
		return annex_fail(-ETIMEDOUT, "ndp: the server does not answer");
	if (err == -EPIPE || err == -ECONNRESET)
		return annex_fail(-ENODEV, "ndp: the server is gone");
	return annex_fail(err, "ndp: %s: %s", what, strerror(-err));
}

static int check(const struct annex_m2_message *ask, const struct annex_m2_message *a)
{
	if (a->magic != ANNEX_M2_MAGIC || a->ask != ask->ask || a->result > 0 || a->result < -4095)
		return annex_fail(-EPROTO, "ndp: what answers there is no device");
	return 0;
}

int annex_m2_talk(int sock, const struct annex_m2_message *ask, int fd, struct annex_m2_message *a,
		  int *fds, unsigned int nfds, void *more, size_t *nmore)
{
	struct iovec iov[2] = {{a, sizeof(*a)}, {more, more ? *nmore : 0}};
	int err = annex_packet_send(sock, ask, sizeof(*ask), &fd, fd >= 0, 0);
	struct packet_files got;
	ssize_t len;

	if (err)
		return trouble("asking", err);
	len = annex_packet_receive(sock, iov, more ? 2 : 1, &got, 0);
	if (len < 0 && len != -EBADMSG)
		return trouble("its answer", (int)len);
	if (!len)
		return annex_fail(-ENODEV, "ndp: the server is gone");
	err = len < (ssize_t)sizeof(*a)
		      ? annex_fail(-EPROTO, "ndp: what answers there is no device")
		      : check(ask, a);
	if (!err && got.n != (a->result ? 0 : nfds))
		err = annex_fail(-EPROTO, "ndp: the server gives %u files, not %u", got.n, nfds);
	if (err)
		annex_packet_close(&got);
	if (!err && got.n)
		memcpy(fds, got.fd, got.n * sizeof(int));
	if (!err && more)
		*nmore = (size_t)len - sizeof(*a);
	return err;
}

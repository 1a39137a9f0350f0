// SPDX-License-Identifier: MIT
#include <errno.h>
#include "ask.h"
#include "core/log.h"

int annex_emu_no_daemon(const char *path)
{
	return annex_fail(-EPROTO, "unix:%s: what answers there serves no device", path);
}

static int receive(int sock, const char *path, struct annex_serve_message *m, ssize_t n,
		   struct packet_files *files, void *more, size_t *nmore)
{
	struct annex_serve_message a = {0};
	struct iovec iov[] = {{&a, sizeof(a)}, {more, more ? *nmore : 0}};

	files->n = 0;
	if (!n)
		n = annex_packet_receive(sock, iov, more ? 2 : 1, files, 0);
	if (n == -EAGAIN || n == -EINTR)
		return annex_fail(-ETIMEDOUT, "unix:%s: the daemon does not answer", path);
	if (n <= 0 && n != -EBADMSG) {
		annex_packet_close(files);
		return annex_fail(-ESHUTDOWN, "unix:%s: the daemon is gone", path);
	}
	if (n < (ssize_t)sizeof(a) || a.magic != ANNEX_SERVE_MAGIC || a.ask != m->ask ||
	    a.result > 0 || a.result < -4095) {
		annex_packet_close(files);
		return annex_emu_no_daemon(path);
	}
	if (a.result == -EPROTONOSUPPORT) {
		annex_packet_close(files);
		return annex_fail(a.result, "unix:%s: the daemon is of another version", path);
	}
	*m = a;
	if (more)
		*nmore = (size_t)n - sizeof(a);
	return 0;
}

int annex_emu_ask(int sock, const char *path, struct annex_serve_message *m, int fd,
		  struct packet_files *files, void *more, size_t *nmore)
{
	ssize_t n;

	m->magic = ANNEX_SERVE_MAGIC;
	m->version = ANNEX_SERVE_VERSION;
	n = annex_packet_send(sock, m, sizeof(*m), &fd, fd >= 0, 0);
	return receive(sock, path, m, n, files, more, nmore);
}

int annex_emu_hear(int sock, const char *path, struct annex_serve_message *m)
{
	struct packet_files files;
	int err = receive(sock, path, m, 0, &files, NULL, NULL);

	annex_packet_close(&files);
	return err;
}

// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/thread.h"
#include "bell.h"

static int pair_of_events(struct bell *a, struct bell *b)
{
	a->in = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->in = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->in >= 0 && b->in >= 0) {
		a->out = fcntl(b->in, F_DUPFD_CLOEXEC, 0);
		b->out = fcntl(a->in, F_DUPFD_CLOEXEC, 0);
	}
	return a->out < 0 || b->out < 0 ? -errno : 0;
}

int annex_bell_pair(struct bell *a, struct bell *b, bool socket)
{
	int fds[2], err;

	*a = *b = BELL_NONE;
	a->socket = b->socket = socket;
	if (!socket) {
		err = pair_of_events(a, b);
		if (err) {
			annex_bell_close(a);
			annex_bell_close(b);
		}
		return err;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	a->in = a->out = fds[0];
	b->in = b->out = fds[1];
	return 0;
}

void annex_bell_ring(const struct bell *b)
{
	uint64_t one = 1;

	/* Ignore errors: a full pipe has been rung already, and a closed side needs no ring. */
	if (b->socket)
		(void)send(b->out, &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (write(b->out, &one, sizeof(one)) < 0)
		return;
}

bool annex_bell_drain(const struct bell *b)
{
	char rings[256];

	if (!b->socket) {
		/* It fails if another thread was faster. */
		(void)!THREAD_KEPT(read(b->in, rings, sizeof(uint64_t)));
		return true;
	}
	/* Only once: the other side may ring without end. */
	return THREAD_KEPT(recv(b->in, rings, sizeof(rings), MSG_DONTWAIT)) != 0;
}

void annex_bell_close(struct bell *b)
{
	if (b->in >= 0)
		close(b->in);
	if (b->out >= 0 && b->out != b->in)
		close(b->out);
	*b = BELL_NONE;
}

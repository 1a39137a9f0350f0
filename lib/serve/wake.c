// SPDX-License-Identifier: MIT
/*
 * Waking the server's threads.
 */
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "core/futex.h"
#include "server.h"

void serve_kick(struct annex_server *s)
{
	eventfd_write(s->wake, 1);
}

void serve_wake(struct annex_server *s)
{
	const struct annex_qp_host *host = &s->qp->host;

	if (host->sleep) {
		host->wake(host->ctrl, s->qp->qid);
		return;
	}
	/* Release: pairs with the acquire in doze(): the reason of the wakeup is visible. */
	annex_atomic_add(&s->bell, 1u, ANNEX_RELEASE);
	futex_rouse(&s->bell, INT_MAX, false);
}

int serve_hear(struct peer *p)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = p};

	return epoll_ctl(p->s->poll, EPOLL_CTL_ADD, p->sock, &e) ? -errno : 0;
}

void serve_ignore(const struct peer *p)
{
	epoll_ctl(p->s->poll, EPOLL_CTL_DEL, p->sock, NULL);
}

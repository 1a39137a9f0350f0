// SPDX-License-Identifier: MIT
/*
 * Waking the server's threads, and answering peers.
 */
#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

struct annex_serve_part serve_part_of(const struct annex_serve_message *m)
{
	struct annex_serve_part part = {.bytes = m->a,
					.uid = (uint32_t)m->b,
					.gid = (uint32_t)(m->b >> 32),
					.mode = (uint32_t)m->d,
					.weight = (uint32_t)(m->d >> 32 & INT32_MAX),
					.first = m->d & ANNEX_SERVE_FIRST ? 1 : 0,
					.rate = m->c};

	memcpy(part.name, m->name, sizeof(part.name));
	return part;
}

struct annex_serve_message serve_answer_to(const struct annex_serve_message *m, int result)
{
	return (struct annex_serve_message){.magic = ANNEX_SERVE_MAGIC,
					    .version = ANNEX_SERVE_VERSION,
					    .ask = m->ask,
					    .result = result};
}

/* Only if the client has read all messages: the last answer must have room. */
void serve_tell(const struct peer *p, const struct annex_serve_message *m, uint64_t done)
{
	struct annex_serve_message a = serve_answer_to(m, -EINPROGRESS);
	int unread;

	a.a = done;
	if (!ioctl(p->sock, SIOCOUTQ, &unread) && !unread)
		annex_packet_send(p->sock, &a, sizeof(a), NULL, 0, MSG_DONTWAIT);
}

int serve_answer(const struct peer *p, const struct annex_serve_message *m, int result)
{
	struct annex_serve_message a = serve_answer_to(m, result);

	return annex_packet_send(p->sock, &a, sizeof(a), NULL, 0, MSG_DONTWAIT);
}

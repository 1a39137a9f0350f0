// SPDX-License-Identifier: MIT
/*
 * The control thread: takes connections and their messages.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "server.h"

#define EVENTS 32
#define REST_MS 50u /* after a connection that could not be accepted */

/* Free pages of the arena that the daemon has allocated: the client may keep the region open. */
static void take_back(const struct peer *p)
{
	if (p->region >= 0)
		fallocate(p->region, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, ANNEX_SERVE_DATA,
			  ANNEX_SERVE_ARENA);
}

static void forget(struct peer *p)
{
	struct annex_server *s = p->s;

	pthread_mutex_lock(&s->lock);
	TAILQ_REMOVE(&s->peers, p, link);
	s->npeers--;
	if (p->part) {
		p->part->told.clients--;
		s->clients--;
	}
	pthread_mutex_unlock(&s->lock);
	take_back(p);
	serve_free(p);
}

/* Serve a peer no further; it is freed later. */
static void dismiss(struct peer *p)
{
	pthread_mutex_lock(&p->s->lock);
	p->leaving = true;
	pthread_mutex_unlock(&p->s->lock);
	serve_ignore(p);
	serve_kick(p->s);
}

/* A leaving peer without commands. */
static struct peer *find_left(struct annex_server *s)
{
	struct peer *p;

	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH(p, &s->peers, link)
	if (p->leaving && !p->flying && !p->busy)
		break;
	pthread_mutex_unlock(&s->lock);
	return p;
}

static void forget_left(struct annex_server *s)
{
	struct peer *p;
	eventfd_t any;

	eventfd_read(s->wake, &any);
	while ((p = find_left(s)))
		forget(p);
}

static int welcome(struct annex_server *s, int sock)
{
	struct peer *p = calloc(1, sizeof(*p));
	socklen_t len = sizeof(struct ucred);
	struct ucred who;
	int err;

	if (!p)
		return -ENOMEM;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &len)) {
		free(p);
		return -errno;
	}
	*p = (struct peer){.s = s,
			   .sock = sock,
			   .pid = who.pid,
			   .uid = who.uid,
			   .gid = who.gid,
			   .heard = annex_now(),
			   .kick = -1,
			   .event = -1,
			   .region = -1};
	err = serve_hear(p);
	if (err) {
		free(p);
		return err;
	}
	pthread_mutex_lock(&s->lock);
	TAILQ_INSERT_TAIL(&s->peers, p, link);
	s->npeers++;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Count sockets of a user, or (NULL) of all. *@idlest: the socket without a part that has been
 * silent for the longest time; or NULL. */
static unsigned int count(struct annex_server *s, const uid_t *user, struct peer **idlest)
{
	unsigned int n = 0;
	struct peer *p;

	*idlest = NULL;
	/* Only this thread changes the list, but the worker rotates it. */
	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (p->leaving || (user && p->uid != *user))
			continue;
		n++;
		if (!p->part && !p->busy && (!*idlest || p->heard < (*idlest)->heard))
			*idlest = p;
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* If there are @most, dismiss the idlest. Return: whether there is room for one more. */
static bool make_place(struct annex_server *s, const uid_t *user, unsigned int most)
{
	struct peer *idlest;

	if (count(s, user, &idlest) < most)
		return true;
	if (idlest)
		dismiss(idlest);
	return idlest;
}

/* Limit the sockets of each user. */
static bool is_welcome(struct annex_server *s, int sock)
{
	socklen_t len = sizeof(struct ucred);
	struct ucred who;
	unsigned int closing;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return false;
	closing = serve_closing(s, &who.uid);
	if (!who.uid || who.uid == geteuid())
		return make_place(s, NULL, SERVE_PEERS);
	return closing < SERVE_PEERS_OF_USER &&
	       make_place(s, &who.uid, SERVE_PEERS_OF_USER - closing) &&
	       make_place(s, NULL, SERVE_PEERS - SERVE_PEERS_KEPT);
}

/* Accept a connection, or close it if there are too many. */
static bool take_connection(struct annex_server *s)
{
	int sock = accept4(s->name.fd, NULL, NULL, SOCK_CLOEXEC), err;

	if (sock < 0) {
		err = -errno;
		if (err == -EAGAIN || err == -EINTR || err == -ECONNABORTED)
			return true;
	} else {
		err = is_welcome(s, sock) ? welcome(s, sock) : -EUSERS;
		if (err)
			close(sock);
	}
	if (err)
		annex_log(ANNEX_LOG_WARNING, "serve: a process has to wait: %s", strerror(-err));
	return !err;
}

static bool is_served(struct peer *p)
{
	bool served;

	pthread_mutex_lock(&p->s->lock);
	served = !p->leaving && !p->busy;
	pthread_mutex_unlock(&p->s->lock);
	return served;
}

/* The lowest bit of the pointer is set for the eventfd of a peer, and clear for its socket. */
static void take_event(struct annex_server *s, const struct epoll_event *e, bool *rest, bool *left)
{
	struct peer *p = e->data.ptr;

	if (e->data.ptr == s)
		*rest = !take_connection(s);
	else if (e->data.ptr == &s->wake)
		*left = true;
	else if ((uintptr_t)e->data.ptr & 1)
		serve_wake(s);
	else if (is_served(p) && !serve_message(p))
		dismiss(p);
}

/* Poll for connections, or not. */
static void listen_for(struct annex_server *s, bool any)
{
	struct epoll_event e = {.events = any ? EPOLLIN : 0, .data.ptr = s};

	epoll_ctl(s->poll, EPOLL_CTL_MOD, s->name.fd, &e);
}

void *serve_control(void *arg)
{
	struct annex_server *s = arg;
	struct epoll_event e[EVENTS];
	uint64_t until = 0; /* no connection is accepted before; 0: at once */
	bool rest, left;

	/* Acquire: with annex_server_close(). */
	while (!annex_atomic_load(&s->stop, ANNEX_ACQUIRE)) {
		/* No timeout: the eventfd wakes it for everything but connections. */
		int n = epoll_wait(s->poll, e, EVENTS, until ? (int)REST_MS : -1);

		rest = left = false;
		if (until && annex_now() >= until) {
			until = 0;
			listen_for(s, true);
		}
		for (int i = 0; i < n; i++)
			take_event(s, &e[i], &rest, &left);
		if (rest) {
			until = annex_deadline_ms(REST_MS);
			listen_for(s, false);
		}
		/* Last: events of this round may point to a peer. */
		if (left)
			forget_left(s);
	}
	return NULL;
}

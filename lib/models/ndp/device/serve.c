// SPDX-License-Identifier: MIT
/*
 * The server's thread: accepts connections, starts a thread for each, and joins ended threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "core/log.h"
#include "serve.h"

#define REST_MS 50

static void kick(struct ndp_server *s)
{
	uint64_t one = 1;

	/* Fails only when it is full: then it has been kicked. */
	if (write(s->kick, &one, sizeof(one)) < 0)
		return;
}

static void *run_peer(void *arg)
{
	struct ndp_peer *p = arg;

	ndp_peer_run(p);
	/* Release: the thread that joins this one frees its memory. */
	annex_atomic_store(&p->over, 1u, ANNEX_RELEASE);
	kick(p->s);
	return NULL;
}

static void forget(struct ndp_peer *p)
{
	struct ndp_server *s = p->s;

	pthread_mutex_lock(&s->lock);
	LIST_REMOVE(p, link);
	pthread_mutex_unlock(&s->lock);
	if (p->refused)
		s->refused--;
	else
		s->served--;
	close(p->fd);
	free(p);
}

static struct ndp_peer *find_over(struct ndp_server *s)
{
	struct ndp_peer *p;

	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(p, &s->peers, link)
	/* Acquire: with run_peer(). */
	if (annex_atomic_load(&p->over, ANNEX_ACQUIRE))
		break;
	pthread_mutex_unlock(&s->lock);
	return p;
}

static void join_all_over(struct ndp_server *s)
{
	struct ndp_peer *p;

	while ((p = find_over(s))) {
		pthread_join(p->thread, NULL);
		forget(p);
	}
}

/* Whether the user may be served, and whether there is room: 0, or the errno. */
static int judge(const struct ndp_server *s, uid_t uid)
{
	if (uid && uid != geteuid())
		return -EACCES;
	return s->served == NDP_PEERS ? -ENOSPC : 0;
}

static void take_peer(struct ndp_server *s, int fd)
{
	struct ndp_peer *p = calloc(1, sizeof(*p));
	struct ucred who;
	socklen_t len = sizeof(who);

	if (!p || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len)) {
		close(fd);
		free(p);
		return;
	}
	p->s = s;
	p->fd = fd;
	p->pid = who.pid;
	p->uid = who.uid;
	p->refused = judge(s, p->uid);
	if (p->refused && s->refused == NDP_REFUSED) {
		close(fd);
		free(p);
		return;
	}
	*(p->refused ? &s->refused : &s->served) += 1;
	pthread_mutex_lock(&s->lock);
	LIST_INSERT_HEAD(&s->peers, p, link);
	pthread_mutex_unlock(&s->lock);
	if (pthread_create(&p->thread, NULL, run_peer, p)) {
		annex_log(ANNEX_LOG_WARNING, "ndp: process %d is turned away: no more threads",
			  (int)p->pid);
		forget(p);
	}
}

/* A process that cannot be accepted waits. One that has gone again is not reported. */
static void rest(struct ndp_server *s, int err)
{
	struct pollfd kick = {.fd = s->kick, .events = POLLIN};

	if (err != ECONNABORTED && err != EINTR && err != EAGAIN)
		annex_log(ANNEX_LOG_WARNING, "ndp: a process has to wait: %s", strerror(err));
	poll(&kick, 1, REST_MS);
}

static void *serve(void *arg)
{
	struct ndp_server *s = arg;
	struct pollfd fds[2] = {{.fd = s->name.fd, .events = POLLIN},
				{.fd = s->kick, .events = POLLIN}};
	uint64_t kicks;

	/* Acquire: with ndp_server_close(). */
	while (!annex_atomic_load(&s->stop, ANNEX_ACQUIRE)) {
		/* Without end: it is kicked for everything that is not a connection. */
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents && read(s->kick, &kicks, sizeof(kicks)) > 0)
			join_all_over(s);
		if (fds[0].revents) {
			int fd = accept4(s->name.fd, NULL, NULL, SOCK_CLOEXEC);

			if (fd >= 0)
				take_peer(s, fd);
			else /* it stays readable: no descriptors, perhaps */
				rest(s, errno);
		}
	}
	return NULL;
}

static void release(struct ndp_server *s)
{
	annex_packet_unlisten(&s->name);
	if (s->kick >= 0)
		close(s->kick);
	pthread_mutex_destroy(&s->lock);
	free(s->memory);
	free(s);
}

int ndp_server_open(struct annex_ndp *ndp, const struct ndp_memory *memory, unsigned int n,
		    const char *path, struct ndp_server **out)
{
	struct ndp_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	s->ndp = ndp;
	s->name.fd = -1;
	s->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&s->lock, NULL);
	LIST_INIT(&s->peers);
	s->memory = calloc(n ? n : 1, sizeof(*memory));
	s->memories = n;
	if (s->memory && n)
		memcpy(s->memory, memory, n * sizeof(*memory));
	err = s->kick < 0 ? annex_fail(-errno, "%s: %m", path)
	      : s->memory ? annex_packet_listen(path, 0600, &s->name)
			  : annex_fail(-ENOMEM, "%s: out of memory", path);
	if (!err) {
		err = -pthread_create(&s->thread, NULL, serve, s);
		if (err)
			annex_fail(err, "%s: cannot start its thread: %s", path, strerror(-err));
	}
	if (err)
		release(s);
	else
		*out = s;
	return err;
}

void ndp_server_close(struct ndp_server *s)
{
	struct ndp_peer *p, *next;

	if (!s)
		return;
	/* Release: with serve(). */
	annex_atomic_store(&s->stop, 1u, ANNEX_RELEASE);
	kick(s);
	pthread_join(s->thread, NULL);
	/* Only this thread removes peers from the list now. */
	for (p = LIST_FIRST(&s->peers); p; p = next) {
		next = LIST_NEXT(p, link);
		shutdown(p->fd, SHUT_RDWR);
		pthread_join(p->thread, NULL);
		forget(p);
	}
	release(s);
}

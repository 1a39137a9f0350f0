// SPDX-License-Identifier: MIT
/*
 * Starting and closing a server.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/least.h"
#include "core/thread.h"
#include "server.h"

#define MEMORY_DEFAULT (1ull << 30)
#define MODE_DEFAULT 0666u
#define DSM_BYTES                                                                                  \
	((SERVE_FLYING * sizeof(struct annex_dsm_range) + ANNEX_NVME_PAGE - 1) / ANNEX_NVME_PAGE * \
	 ANNEX_NVME_PAGE)

static int read_opts(struct annex_server *s, const struct annex_serve_opts *opts)
{
	s->opts = *opts;
	if (!s->opts.mode)
		s->opts.mode = MODE_DEFAULT;
	if (!s->opts.clients)
		s->opts.clients = ANNEX_SERVE_CLIENTS;
	if (!s->opts.memory)
		s->opts.memory = MEMORY_DEFAULT;
	if (s->opts.clients > ANNEX_SERVE_CLIENTS || s->opts.mode & ~0777u)
		return annex_fail(-EINVAL, "serve: at most %u clients, and a mode as 0660",
				  ANNEX_SERVE_CLIENTS);
	return 0;
}

/* Claim the whole device. */
static int take_device(struct annex_server *s)
{
	void *dsm;
	int err = annex_dev_ns(s->dev, 1, &s->ns);

	if (!err)
		err = annex_dev_claim(s->dev, s->ns.nsid, 0, s->ns.blocks);
	if (!err)
		err = annex_dev_alloc(s->dev, ANNEX_PLACE_PROVIDER, DSM_BYTES, &dsm, &s->dsm_addr);
	if (err)
		return err;
	s->dsm = dsm;
	serve_piece_init(&s->piece, s->ns.block, annex_dev_max_transfer(s->dev));
	s->qp = annex_dev_qp_at(s->dev, 0);
	s->most = (unsigned int)least(SERVE_FLYING, s->qp->depth - 1);
	while (s->nslots < s->most) {
		s->slot[s->nslots] = (uint16_t)s->nslots;
		s->nslots++;
	}
	return 0;
}

static int watch(struct annex_server *s, int fd, void *ptr)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = ptr};

	return epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &e) ? annex_fail(-errno, "serve: %m") : 0;
}

/* Use a socket that another process (systemd) has created, and keeps. */
static int take_listener(struct annex_server *s)
{
	int fd = s->opts.listener, type = 0, listens = 0;
	socklen_t len = sizeof(type);

	s->name.fd = fd;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_SEQPACKET ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens)
		return annex_fail(-ENOTSOCK,
				  "serve: descriptor %d is no socket of type "
				  "SOCK_SEQPACKET that listens",
				  fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK))
		return annex_fail(-errno, "serve: %m");
	return 0;
}

static int open_sockets(struct annex_server *s)
{
	int err;

	s->poll = epoll_create1(EPOLL_CLOEXEC);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->poll < 0 || s->wake < 0)
		return annex_fail(-errno, "serve: %m");
	err = s->opts.listener ? take_listener(s)
			       : annex_packet_listen(s->opts.path, s->opts.mode, &s->name);
	if (!err)
		err = watch(s, s->name.fd, s);
	return err ? err : watch(s, s->wake, &s->wake);
}

static int start_threads(struct annex_server *s)
{
	int err = annex_thread_start(&s->worker, serve_worker, s);

	if (err)
		return annex_fail(err, "serve: no more threads");
	err = annex_thread_start(&s->control, serve_control, s);
	if (!err)
		return 0;
	annex_atomic_store(&s->stop, 1u, ANNEX_RELEASE);
	serve_wake(s);
	pthread_join(s->worker, NULL);
	return annex_fail(err, "serve: no more threads");
}

/* Free everything; there are no threads. */
static void release(struct annex_server *s)
{
	struct peer *p;

	if (s->joinable)
		pthread_join(s->adder, NULL);
	while ((p = TAILQ_FIRST(&s->peers))) {
		TAILQ_REMOVE(&s->peers, p, link);
		serve_free(p);
	}
	serve_closers_end(s);
	annex_packet_unlisten(&s->name);
	if (s->poll >= 0)
		close(s->poll);
	if (s->wake >= 0)
		close(s->wake);
	if (s->dsm)
		annex_dev_free(s->dev, ANNEX_PLACE_PROVIDER, s->dsm, DSM_BYTES, s->dsm_addr);
	table_close(&s->table);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int annex_serve(struct annex_dev *dev, const struct annex_serve_opts *opts,
		struct annex_server **out)
{
	struct annex_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "serve: out of memory");
	s->dev = dev;
	s->poll = s->wake = s->name.fd = -1;
	TAILQ_INIT(&s->peers);
	TAILQ_INIT(&s->closers);
	pthread_mutex_init(&s->lock, NULL);
	err = read_opts(s, opts);
	if (!err)
		err = take_device(s);
	if (!err)
		err = open_sockets(s);
	/* After the sockets: a second daemon on the same socket must not write a table. */
	if (!err)
		err = table_open(&s->table, opts->table, s->ns.blocks * s->ns.block, s->ns.block);
	if (!err)
		err = start_threads(s);
	if (err)
		release(s);
	else
		*out = s;
	return err;
}

int annex_server_close(struct annex_server *s)
{
	struct annex_io flush = {.opcode = ANNEX_NVM_FLUSH};
	int err = 0;

	if (!s)
		return 0;
	/* Release: with both threads. */
	annex_atomic_store(&s->stop, 1u, ANNEX_RELEASE);
	serve_kick(s);
	serve_wake(s);
	pthread_join(s->control, NULL);
	pthread_join(s->worker, NULL);
	flush.nsid = s->ns.nsid;
	if (!s->dead)
		err = annex_dev_io(s->dev, &flush, 1, NULL);
	release(s);
	return err;
}

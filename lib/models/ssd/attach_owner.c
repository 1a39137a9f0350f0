// SPDX-License-Identifier: MIT
/*
 * The owner's side of a range that others attach to: one thread takes one message of each process
 * after the other. Nothing that they send is believed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "attach.h"
#include "core/log.h"
#include "core/thread.h"

#define SILENT_MS 2000u /* that a process may be, before it has joined */
#define LOOK_MS 100     /* so often those are looked for */

/*
 * struct member - A process; @conn: -1: none.
 * @pid: readable when it has ended, also if a child of it has @conn still; -1: no HELLO came yet.
 * @view: its mapping, if it has @joined.
 * @since: when it connected.
 * @held: how often it holds each page; NULL: none.
 */
struct member {
	int conn, pid;
	bool joined;
	uint64_t since;
	struct window_view view;
	uint16_t *held;
};

/*
 * struct attach_owner - @bell: tells the thread to end.
 * @file: the backing file, opened once more, without its lock. @shown: bytes of the endpoint.
 * @pid: this process, for the others.
 */
struct attach_owner {
	struct window *w;
	int listener, file, memory, pid, bell;
	uint64_t bytes, shown;
	struct stat st;
	struct member member[ATTACH_MOST];
	pthread_t thread;
	bool runs;
	pid_t owner;
};

static uint64_t pages(const struct attach_owner *o)
{
	return o->bytes / WINDOW_PAGE;
}

static void let_all(struct attach_owner *o, struct member *m)
{
	for (uint64_t page = 0; m->held && page < pages(o); page++)
		for (; m->held[page]; m->held[page]--)
			window_let(o->w, page * WINDOW_PAGE, WINDOW_PAGE);
	free(m->held);
	m->held = NULL;
}

static void drop(struct attach_owner *o, struct member *m)
{
	if (m->joined)
		window_leave(o->w, &m->view);
	let_all(o, m);
	/* A child may have the socket too. */
	shutdown(m->conn, SHUT_RDWR);
	close(m->conn);
	if (m->pid >= 0)
		close(m->pid);
	if (m->view.uffd >= 0)
		close(m->view.uffd);
	*m = (struct member){.conn = -1, .pid = -1, .view = {.uffd = -1}};
}

/* Processes of this user, and root's: a stranger could keep the owner busy. */
static bool may_connect(int conn)
{
	const uid_t uid = attach_uid(conn);

	return uid == geteuid() || !uid;
}

static void take_in(struct attach_owner *o)
{
	int conn = accept4(o->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct member *m = o->member;

	if (conn < 0)
		return;
	while (m < o->member + ATTACH_MOST && m->conn >= 0)
		m++;
	if (m == o->member + ATTACH_MOST || !may_connect(conn)) {
		close(conn);
		return;
	}
	m->conn = conn;
	m->since = annex_now();
}

/* Any other file could have calls that never return. Newer kernels call a pidfd by the second. */
static bool is_file(int fd, const char *what, const char *or_what)
{
	char path[32], to[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof(to) - 1) > 0 &&
	       (!strcmp(to, what) || (or_what && !strncmp(to, or_what, strlen(or_what))));
}

static int hello(struct attach_owner *o, struct member *m, struct attach_packet *p,
		 struct attach_packet *answer)
{
	if (m->pid >= 0 || p->files != 2 || !attach_shows(p->fd[0], &o->st) ||
	    !is_file(p->fd[1], "anon_inode:[pidfd]", "pidfd:["))
		return -EACCES;
	m->pid = attach_take(p, 1);
	answer->m.at = o->bytes;
	answer->m.len = o->shown;
	answer->files = 3;
	answer->fd[0] = o->file;
	answer->fd[1] = o->pid;
	answer->fd[2] = o->memory;
	return 0;
}

static int join(struct attach_owner *o, struct member *m, struct attach_packet *p)
{
	if (m->pid < 0 || m->joined || p->files != 1 || p->m.at % WINDOW_PAGE ||
	    p->m.at > UINT64_MAX - o->bytes || !is_file(p->fd[0], "anon_inode:[userfaultfd]", NULL))
		return -EINVAL;
	m->view = (struct window_view){.uffd = attach_take(p, 0), .conn = m->conn, .base = p->m.at};
	m->joined = true;
	window_join(o->w, &m->view);
	return 0;
}

static int hold(struct attach_owner *o, struct member *m, uint64_t first, uint64_t end)
{
	int err;

	if (!m->held)
		m->held = calloc(pages(o), sizeof(*m->held));
	if (!m->held)
		return -ENOMEM;
	err = window_hold(o->w, first * WINDOW_PAGE, (end - first) * WINDOW_PAGE);
	/* No count is larger than the window's own. */
	for (uint64_t page = first; !err && page < end; page++)
		m->held[page]++;
	return err;
}

static int let(struct attach_owner *o, struct member *m, uint64_t first, uint64_t end)
{
	for (uint64_t page = first; page < end; page++)
		if (!m->held || !m->held[page])
			return -EINVAL;
	for (uint64_t page = first; page < end; page++)
		m->held[page]--;
	window_let(o->w, first * WINDOW_PAGE, (end - first) * WINDOW_PAGE);
	return 0;
}

static int serve(struct attach_owner *o, struct member *m, const struct attach_message *ask)
{
	const uint64_t first = ask->at / WINDOW_PAGE,
		       end = (ask->at + ask->len - 1) / WINDOW_PAGE + 1;

	if (!m->joined || ask->at >= o->bytes)
		return -EINVAL;
	if (ask->kind == ATTACH_FAULT)
		return window_serve(o->w, &m->view, ask->at, ask->len);
	if (!ask->len || ask->len > o->bytes - ask->at)
		return -EINVAL;
	switch (ask->kind) {
	case ATTACH_PERSIST:
		return window_persist(o->w, ask->at, ask->len);
	case ATTACH_HOLD:
		return hold(o, m, first, end);
	case ATTACH_LET:
		return let(o, m, first, end);
	default:
		return -EINVAL;
	}
}

/* Return: whether the process is served further. */
static bool answer(struct attach_owner *o, struct member *m)
{
	struct attach_packet p, a = {.files = 0};
	int err = attach_receive(m->conn, &p);

	if (err)
		return err == -EAGAIN;
	a.m = p.m;
	if (p.m.kind == ATTACH_HELLO)
		err = hello(o, m, &p, &a);
	else if (p.m.kind == ATTACH_JOIN)
		err = join(o, m, &p);
	else
		err = serve(o, m, &p.m);
	a.m.result = err;
	attach_drop_files(&p);
	/* A process that does not take its answers, or asks for what cannot be, is none of ours. */
	return !attach_send(m->conn, &a) && err != -EINVAL && err != -EACCES;
}

static bool is_late(const struct member *m)
{
	return !m->joined && annex_now() - m->since > SILENT_MS * ANNEX_NSEC_PER_MSEC;
}

/* Files for poll(): the bell, the listener, and two of each member. Return: its timeout. */
static int gather(const struct attach_owner *o, struct pollfd *fds)
{
	int timeout = -1;

	fds[0] = (struct pollfd){.fd = o->bell, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = o->listener, .events = POLLIN};
	for (unsigned int i = 0; i < ATTACH_MOST; i++) {
		const struct member *m = &o->member[i];

		fds[2 + 2 * i] = (struct pollfd){.fd = m->conn, .events = POLLIN};
		fds[3 + 2 * i] = (struct pollfd){.fd = m->pid, .events = POLLIN};
		if (m->conn >= 0 && !m->joined)
			timeout = LOOK_MS;
	}
	return timeout;
}

static void *run(void *arg)
{
	struct attach_owner *o = arg;
	struct pollfd fds[2 + 2 * ATTACH_MOST];

	for (;;) {
		int timeout = gather(o, fds);

		if (poll(fds, 2 + 2 * ATTACH_MOST, timeout) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		for (unsigned int i = 0; i < ATTACH_MOST; i++) {
			struct member *m = &o->member[i];
			const short said = fds[2 + 2 * i].revents;

			if (m->conn < 0)
				continue;
			if ((said & POLLIN && !answer(o, m)) || (said && !(said & POLLIN)) ||
			    fds[3 + 2 * i].revents || is_late(m))
				drop(o, m);
		}
		if (fds[1].revents)
			take_in(o);
	}
}

static int start(struct attach_owner *o, int file)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	o->file = open(path, O_RDWR | O_CLOEXEC);
	o->pid = attach_pidfd();
	o->bell = eventfd(0, EFD_CLOEXEC);
	if (o->file < 0 || o->pid < 0 || o->bell < 0 || fstat(o->file, &o->st))
		return annex_fail(-EOPNOTSUPP, "cxlssd: no other process can attach: %m");
	if (annex_thread_start(&o->thread, run, o))
		return annex_fail(-EAGAIN, "cxlssd: no more threads");
	o->runs = true;
	return 0;
}

int attach_serve(struct window *w, int listener, int file, int memory, uint64_t bytes,
		 uint64_t shown, struct attach_owner **out)
{
	struct attach_owner *o = calloc(1, sizeof(*o));
	int err;

	if (!o) {
		close(listener);
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	}
	o->w = w;
	o->listener = listener;
	o->memory = memory;
	o->bytes = bytes;
	o->shown = shown;
	o->owner = getpid();
	for (unsigned int i = 0; i < ATTACH_MOST; i++)
		o->member[i] = (struct member){.conn = -1, .pid = -1, .view = {.uffd = -1}};
	err = start(o, file);
	if (err) {
		attach_end(o);
		return err;
	}
	*out = o;
	return 0;
}

/* In a child of fork() the thread is not there, and the sockets are the parent's too: they are
 * closed, but not shut down. */
static void forget(struct attach_owner *o)
{
	for (unsigned int i = 0; i < ATTACH_MOST; i++) {
		struct member *m = &o->member[i];

		if (m->conn >= 0)
			close(m->conn);
		if (m->pid >= 0)
			close(m->pid);
		if (m->view.uffd >= 0)
			close(m->view.uffd);
		free(m->held);
	}
}

void attach_end(struct attach_owner *o)
{
	if (!o)
		return;
	if (o->owner != getpid()) {
		forget(o);
	} else {
		if (o->runs) {
			eventfd_write(o->bell, 1);
			pthread_join(o->thread, NULL);
		}
		for (unsigned int i = 0; i < ATTACH_MOST; i++)
			if (o->member[i].conn >= 0)
				drop(o, &o->member[i]);
	}
	close(o->listener);
	if (o->file >= 0)
		close(o->file);
	if (o->pid >= 0)
		close(o->pid);
	if (o->bell >= 0)
		close(o->bell);
	free(o);
}

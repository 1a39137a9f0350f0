// SPDX-License-Identifier: MIT
/*
 * The connection to a daemon, which is established again after a daemon has ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/thread.h"
#include "ask.h"
#include "link.h"

#define ANSWER_MS 5000u

int annex_emu_session_ask(struct emu_link *l, struct annex_serve_message *m, int fd)
{
	struct packet_files files = {.n = 0};
	int err;

	pthread_mutex_lock(&l->lock);
	err = l->s.sock < 0 || l->s.mute
		      ? annex_fail(-ESHUTDOWN, "unix:%s: the daemon is gone", l->path)
		      : annex_emu_ask(l->s.sock, l->path, m, fd, &files, NULL, NULL);
	if (err) /* a late answer must not be taken for the answer to the next question */
		l->s.mute = true;
	pthread_mutex_unlock(&l->lock);
	annex_packet_close(&files);
	return err ? err : m->result;
}

/* Report the refusal of a part. */
static int refused(const struct emu_link *l, int err)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return annex_fail(err, "unix:%s: there is no part \"%s\" (annex serve --status %s)",
				  l->path, l->name, l->path);
	case -EACCES:
		return annex_fail(err, "unix:%s: the part \"%s\" is not for this user%s", l->path,
				  l->name, l->readonly ? "" : " (or to read only: readonly=1)");
	case -EUSERS:
		return annex_fail(err, "unix:%s: it has as many clients as it takes", l->path);
	default:
		return annex_fail(err, "unix:%s: part \"%s\": %s", l->path, l->name,
				  strerror(-err));
	}
}

static int map_region(struct emu_link *l, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	char *base;

	/* A file that shrinks raises SIGBUS here. */
	if (fstat(fd, &st) || st.st_size != ANNEX_SERVE_REGION || seals < 0 ||
	    !(seals & F_SEAL_SHRINK))
		return annex_emu_no_daemon(l->path);
	base = mmap(NULL, ANNEX_SERVE_REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return annex_fail(-errno, "unix:%s: its region: %m", l->path);
	l->s.head = (struct annex_serve_head *)(void *)base;
	l->s.sq = (struct annex_serve_sqe *)(void *)(base + ANNEX_SERVE_SQ);
	l->s.cq = (struct annex_serve_cqe *)(void *)(base + ANNEX_SERVE_CQ);
	l->s.arena = base + ANNEX_SERVE_DATA;
	return 0;
}

/* Note the facts of the first connection; later ones must be the same. */
static int check_facts(struct emu_link *l, const struct annex_serve_message *a)
{
	if (!ANNEX_BLOCK_IS_GOOD(a->b) || !a->a || a->a > UINT64_MAX / a->b ||
	    a->c < ANNEX_NVME_PAGE || a->c < a->b)
		return annex_emu_no_daemon(l->path);
	if (l->block &&
	    (l->block != a->b || l->blocks != a->a || l->largest > a->c || l->birth != a->birth))
		return annex_fail(-ESTALE, "unix:%s: the part \"%s\" is another one now", l->path,
				  l->name);
	l->blocks = a->a;
	l->block = a->b;
	l->birth = a->birth;
	l->largest = l->largest ? l->largest : a->c;
	l->readonly |= a->d & 1;
	return 0;
}

static int watch(const struct emu_link *l, int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP};

	return epoll_ctl(l->fd, EPOLL_CTL_ADD, fd, &e) ? annex_fail(-errno, "unix:%s: %m", l->path)
						       : 0;
}

static int open_part(struct emu_link *l)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_OPEN, .a = l->readonly};
	struct packet_files files;
	int err;

	memcpy(m.name, l->name, sizeof(m.name));
	err = annex_emu_ask(l->s.sock, l->path, &m, -1, &files, NULL, NULL);
	if (!err)
		err = refused(l, m.result);
	if (!err && files.n != 3)
		err = annex_emu_no_daemon(l->path);
	if (!err)
		err = check_facts(l, &m);
	if (!err)
		err = map_region(l, files.fd[0]);
	if (!err) {
		l->s.kick = files.fd[1];
		l->s.event = files.fd[2];
		close(files.fd[0]);
		files.n = 0;
		err = watch(l, l->s.event);
	}
	annex_packet_close(&files);
	return err;
}

void annex_emu_session_tell(struct emu_link *l, unsigned int mem)
{
	struct emu_link_mem *m = &l->mem[mem];
	struct annex_serve_message ask = {
		.ask = ANNEX_SERVE_MAP, .a = mem + 1, .b = m->offset, .c = m->range.len};
	int err = annex_emu_session_ask(l, &ask, m->fd);

	m->known = !err;
	if (err && err != -ESHUTDOWN)
		annex_log(ANNEX_LOG_INFO, "unix:%s: slower: %llu bytes of memory are copied: %s",
			  l->path, (ull)m->range.len, strerror(-err));
}

/* Repeat memory and claims to a new daemon. -EBUSY: another client has claimed the blocks. */
static int tell_all(struct emu_link *l)
{
	int err = 0;

	pthread_mutex_lock(&l->told);
	for (unsigned int i = 0; i < ANNEX_SERVE_MEMORIES; i++)
		if (l->mem[i].used)
			annex_emu_session_tell(l, i);
	for (unsigned int i = 0; !err && i < l->nclaims; i++) {
		const struct emu_link_claim *c = &l->claims[i];
		struct annex_serve_message m = {
			.ask = ANNEX_SERVE_CLAIM, .a = c->pos, .b = c->bytes, .c = c->shared};

		err = annex_emu_session_ask(l, &m, -1);
	}
	pthread_mutex_unlock(&l->told);
	return err;
}

int annex_emu_session_begin(struct emu_link *l)
{
	int sock = packet_connect("unix", l->path, ANSWER_MS), err;

	if (sock < 0)
		return sock;
	pthread_mutex_lock(&l->lock);
	l->s.sock = sock;
	err = watch(l, sock);
	if (!err)
		err = open_part(l);
	pthread_mutex_unlock(&l->lock);
	if (!err)
		err = tell_all(l);
	if (err)
		annex_emu_session_end(l);
	return err;
}

void annex_emu_session_end(struct emu_link *l)
{
	pthread_mutex_lock(&l->lock);
	/* A closed file leaves the epoll set by itself. */
	if (l->s.sock >= 0)
		close(l->s.sock);
	if (l->s.kick >= 0)
		close(l->s.kick);
	if (l->s.event >= 0) {
		/* But not this one, which the daemon has open too. */
		epoll_ctl(l->fd, EPOLL_CTL_DEL, l->s.event, NULL);
		close(l->s.event);
	}
	if (l->s.head)
		munmap(l->s.head, ANNEX_SERVE_REGION);
	l->s = (struct emu_session){.sock = -1, .kick = -1, .event = -1};
	pthread_mutex_unlock(&l->lock);
}

bool annex_emu_session_alive(struct emu_link *l)
{
	char byte;
	bool alive;

	/* Another thread is asking, and takes the answer. */
	if (pthread_mutex_trylock(&l->lock))
		return true;
	alive = THREAD_KEPT(recv(l->s.sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT)) < 0 &&
		(errno == EAGAIN || errno == EINTR);
	pthread_mutex_unlock(&l->lock);
	return alive;
}

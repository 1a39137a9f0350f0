// SPDX-License-Identifier: MIT
/*
 * A client process: its requests over its socket, before and beside its calls.
 *
 * The server trusts no request, and does not wait until an answer is read: it drops a client that
 * does not read its answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/log.h"
#include "core/mapping.h"
#include "serve.h"

#define HELLO_MS 10000  /* that a process may be silent before it is a client */
#define REFUSED_MS 1000 /* and one that will be none */
#define ANSWER_ROOM 16384u

/* struct request - A message, and the files that came with it, of which none is kept. */
struct request {
	struct annex_m2_message ask;
	struct packet_files files;
};

/* Return: false: there is none, or it is not one of ours. */
static bool receive(const struct ndp_peer *p, struct request *r)
{
	struct iovec iov = {&r->ask, sizeof(r->ask)};
	ssize_t n = annex_packet_receive(p->fd, &iov, 1, &r->files, MSG_DONTWAIT);

	if (n == sizeof(r->ask) && r->ask.magic == ANNEX_M2_MAGIC)
		return true;
	annex_packet_close(&r->files);
	return false;
}

static bool send_bytes(const struct ndp_peer *p, const void *bytes, size_t n, const int *fds,
		       unsigned int nfds)
{
	return !annex_packet_send(p->fd, bytes, n, fds, nfds, MSG_DONTWAIT);
}

static struct annex_m2_message answer_to(const struct annex_m2_message *ask, int result)
{
	return (struct annex_m2_message){.magic = ANNEX_M2_MAGIC,
					 .version = ANNEX_M2_VERSION,
					 .ask = ask->ask,
					 .result = result};
}

static bool answer(const struct ndp_peer *p, const struct request *r, int result)
{
	struct annex_m2_message a = answer_to(&r->ask, result);

	return send_bytes(p, &a, sizeof(a), NULL, 0);
}

/* The passed file only proves access: the server maps its own file. */
static int find_memory(const struct ndp_peer *p, const struct request *r,
		       const struct ndp_memory **out)
{
	int flags = r->files.n == 1 ? fcntl(r->files.fd[0], F_GETFL) : -1;
	int mode = flags & O_ACCMODE;
	struct stat st;

	/* O_PATH opens a file without permission to access it. */
	if (flags < 0 || flags & O_PATH || fstat(r->files.fd[0], &st))
		return annex_fail(-EBADF, "NDP: process %d shows no file", p->pid);
	if (!r->ask.d || r->ask.d & ~3ull)
		return annex_fail(-EINVAL, "NDP: process %d asks for protection %#llx", p->pid,
				  (ull)r->ask.d);
	if ((r->ask.d & 1 && mode == O_WRONLY) || (r->ask.d & 2 && mode == O_RDONLY))
		return annex_fail(-EACCES, "NDP: process %d may not do that with its file", p->pid);
	for (unsigned int i = 0; i < p->s->memories; i++) {
		*out = &p->s->memory[i];
		if ((*out)->dev != st.st_dev || (*out)->ino != st.st_ino)
			continue;
		if (annex_mapping_lost((*out)->base, (*out)->bytes))
			return annex_fail(-EIO, "NDP: the memory that process %d shows is lost",
					  p->pid);
		return 0;
	}
	return annex_fail(-ENXIO, "NDP: process %d shows a file that is not served", p->pid);
}

static int map(struct ndp_peer *p, const struct request *r)
{
	const struct annex_m2_message *ask = &r->ask;
	const struct ndp_memory *mem = NULL;
	int err = find_memory(p, r, &mem);

	if (err)
		return err;
	if (ask->c > mem->bytes || !ask->b || ask->b > mem->bytes - ask->c ||
	    ask->c % ANNEX_M2_PAGE)
		return annex_fail(-EINVAL, "NDP: process %d: %llu bytes at %llu are not served",
				  p->pid, (ull)ask->b, (ull)ask->c);
	if (p->maps == NDP_PEER_MAPS)
		return annex_fail(-ENOSPC, "NDP: process %d has %u mappings already", p->pid,
				  NDP_PEER_MAPS);
	err = ndp_client_map(p->front->client, ask->a, mem->base + ask->c, ask->b,
			     (unsigned int)ask->d);
	if (err)
		return err;
	pthread_mutex_lock(&p->s->lock);
	p->maps++;
	p->mapped += ask->b;
	pthread_mutex_unlock(&p->s->lock);
	return 0;
}

static int unmap(struct ndp_peer *p, const struct request *r)
{
	int err = ndp_client_unmap(p->front->client, r->ask.a, r->ask.b);

	if (err)
		return err;
	pthread_mutex_lock(&p->s->lock);
	p->maps--;
	p->mapped -= r->ask.b;
	pthread_mutex_unlock(&p->s->lock);
	return 0;
}

static bool list_clients(struct ndp_peer *p, const struct request *r)
{
	struct annex_m2_message a = answer_to(&r->ask, 0);
	char buf[ANSWER_ROOM];
	size_t n = ndp_listing(p->s, &r->ask, &a, buf, sizeof(buf));

	return send_bytes(p, buf, n, NULL, 0);
}

/* Return: whether the process is served further. */
static bool handle(struct ndp_peer *p, struct request *r)
{
	int result;

	if (r->ask.version != ANNEX_M2_VERSION)
		return answer(p, r, -EPROTONOSUPPORT);
	switch (r->ask.ask) {
	case ANNEX_M2_LIST:
	case ANNEX_M2_RECORDS:
		return list_clients(p, r);
	case ANNEX_M2_MAP:
		result = p->front ? map(p, r) : -ENOTCONN;
		break;
	case ANNEX_M2_UNMAP:
		result = p->front ? unmap(p, r) : -ENOTCONN;
		break;
	case ANNEX_M2_HELLO:
		result = -EISCONN;
		break;
	default:
		result = -ENOSYS;
	}
	return answer(p, r, result);
}

/* As ndp_front's ready. */
static bool readable(void *ctx)
{
	struct ndp_peer *p = ctx;
	struct request r;
	bool more;

	if (!receive(p, &r))
		return false;
	more = handle(p, &r);
	annex_packet_close(&r.files);
	return more;
}

static int open_front(struct ndp_peer *p, const struct ndp_front_opts *opts, struct bell *theirs,
		      struct ndp_front **out)
{
	struct ndp_client *c;
	struct bell ours;
	int err = annex_bell_pair(&ours, theirs, true);

	if (err)
		return err;
	/* Table II: only root may shoot down translations of others. */
	err = ndp_client_open(p->s->ndp, !p->uid, &c);
	if (err) {
		annex_bell_close(&ours);
		annex_bell_close(theirs);
		return err;
	}
	err = ndp_front_open(p->s->ndp, c, opts, &ours, out);
	if (err) {
		ndp_client_close(c);
		annex_bell_close(theirs);
	}
	return err;
}

static bool grant_region(struct ndp_peer *p, const struct request *r)
{
	const struct annex_m2_message *ask = &r->ask;
	struct ndp_front_opts opts = {.stride = (uint32_t)ask->a, .slots = (uint32_t)ask->b};
	struct annex_m2_message a = answer_to(ask, 0);
	struct ndp_front *f;
	struct bell theirs;
	int fds[2];
	bool sent;

	if (ask->a > ANNEX_M2_STRIDE_MAX || ask->b > ANNEX_M2_SLOTS_MAX)
		a.result = -EINVAL;
	else
		a.result = open_front(p, &opts, &theirs, &f);
	if (a.result) {
		send_bytes(p, &a, sizeof(a), NULL, 0);
		return false;
	}
	f->also = p->fd;
	f->ready = readable;
	f->ctx = p;
	pthread_mutex_lock(&p->s->lock);
	p->front = f;
	pthread_mutex_unlock(&p->s->lock);
	fds[0] = f->fd;
	fds[1] = theirs.in;
	a.a = ndp_client_asid(f->client);
	sent = send_bytes(p, &a, sizeof(a), fds, 2);
	annex_bell_close(&theirs);
	return sent;
}

static void leave(struct ndp_peer *p)
{
	struct ndp_front *f = p->front;

	if (!f)
		return;
	/* A listing of clients must not find it while it is being closed. */
	pthread_mutex_lock(&p->s->lock);
	p->front = NULL;
	pthread_mutex_unlock(&p->s->lock);
	ndp_front_end(f);
	ndp_front_close(f);
}

void ndp_peer_run(struct ndp_peer *p)
{
	struct pollfd fd = {.fd = p->fd, .events = POLLIN};
	bool more = true;
	struct request r;

	while (more && !p->front) {
		int n = poll(&fd, 1, p->refused ? REFUSED_MS : HELLO_MS);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !receive(p, &r))
			break;
		if (p->refused) {
			answer(p, &r, p->refused);
			more = false;
		} else if (r.ask.ask == ANNEX_M2_HELLO && r.ask.version == ANNEX_M2_VERSION) {
			more = grant_region(p, &r);
		} else {
			more = handle(p, &r);
		}
		annex_packet_close(&r.files);
	}
	if (more && p->front)
		ndp_front_watch(p->front);
	leave(p);
	/* Its other end learns of it now, not when the thread is joined. */
	shutdown(p->fd, SHUT_RDWR);
}

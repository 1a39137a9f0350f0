// SPDX-License-Identifier: MIT
/*
 * A connected process: its requests over its socket. Each request is checked, and the daemon never
 * blocks on a client: a client that does not read answers is dropped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "server.h"

#define LISTED 64u          /* parts in an answer */
#define PINNED (4ull << 20) /* bytes of a memory, at most */

/*
 * Map memory for the device. A small one is pinned, which makes its commands cheaper; pinning a
 * large one would delay other clients, and the arena is mostly empty.
 */
static int reach(struct annex_server *s, struct memory *m)
{
	int err = -EOPNOTSUPP;

	if (m->bytes > PINNED)
		err = annex_dev_map_sparse(s->dev, m->base, m->bytes, &m->addr);
	return err == -EOPNOTSUPP ? annex_dev_map(s->dev, m->base, m->bytes, &m->addr) : err;
}

static int map_memory(struct annex_server *s, struct memory *m, int fd, uint64_t offset,
		      uint64_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	int err;

	if (base == MAP_FAILED)
		return -errno;
	*m = (struct memory){.base = base, .bytes = bytes};
	err = reach(s, m);
	if (err) {
		munmap(base, bytes);
		m->base = NULL;
	}
	return err;
}

static void unmap_memory(struct annex_server *s, struct memory *m)
{
	KEEP_LAST_ERROR(true);

	if (!m->base)
		return;
	if (annex_dev_unmap(s->dev, m->addr, m->bytes))
		annex_log(ANNEX_LOG_WARNING, "serve: memory of a client stays mapped: %s",
			  annex_last_error());
	else
		munmap(m->base, m->bytes);
	m->base = NULL;
}

static int make_region(void)
{
	int fd = memfd_create("annex-serve", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, ANNEX_SERVE_REGION) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Map the region: head and queues, and the arena, for the device too. */
static int map_region(struct peer *p, int fd)
{
	char *base = mmap(NULL, ANNEX_SERVE_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int err;

	if (base == MAP_FAILED)
		return -errno;
	err = map_memory(p->s, &p->mem[0], fd, ANNEX_SERVE_DATA, ANNEX_SERVE_ARENA);
	if (err) {
		munmap(base, ANNEX_SERVE_DATA);
		return err;
	}
	p->head = (struct annex_serve_head *)(void *)base;
	p->sq = (struct annex_serve_sqe *)(void *)(base + ANNEX_SERVE_SQ);
	p->cq = (struct annex_serve_cqe *)(void *)(base + ANNEX_SERVE_CQ);
	return 0;
}

static bool may_administer(const struct peer *p)
{
	return !p->uid || p->uid == geteuid();
}

/* A user has no more clients than places are left for others. With the lock held. */
static bool has_place(const struct peer *p)
{
	unsigned int left = p->s->opts.clients - p->s->clients, own = 0;
	const struct peer *q;

	TAILQ_FOREACH(q, &p->s->peers, link)
	own += q->part && q->uid == p->uid;
	return may_administer(p) || own < left;
}

/* Find the part, if the client may open it. With the lock held. */
static int find_part(struct peer *p, const struct annex_serve_message *m, struct part **out)
{
	struct annex_server *s = p->s;
	struct part *part = table_find(&s->table, m->name);

	if (!part || !part->live)
		return -ENOENT;
	if (!table_allows(part, p, !m->a))
		return -EACCES;
	if (s->clients == s->opts.clients || !has_place(p))
		return -EUSERS;
	*out = part;
	return 0;
}

static int watch_kick(struct peer *p)
{
	/* Edge-triggered: it is never drained, so a client that fills it harms only itself. */
	struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.ptr = (char *)p + 1};

	p->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return p->kick < 0 || epoll_ctl(p->s->poll, EPOLL_CTL_ADD, p->kick, &e) ? -errno : 0;
}

/*
 * A socket, not an eventfd: a client could set an eventfd to block, and fill it, while send() has a
 * flag for each call. It is shut down for reading, since clients could send files.
 * @theirs: the client's end.
 */
static int make_event(struct peer *p, int *theirs)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	p->event = ends[0];
	*theirs = ends[1];
	return shutdown(p->event, SHUT_RD) ? -errno : 0;
}

static int make_client(struct peer *p, int *theirs)
{
	int err;

	p->region = make_region();
	if (p->region < 0)
		return p->region;
	err = map_region(p, p->region);
	if (!err)
		err = watch_kick(p);
	if (!err)
		err = make_event(p, theirs);
	/* A client that connects while the worker sleeps must wake it. */
	if (!err)
		annex_atomic_store(&p->head->server_sleeps.v, 1u, ANNEX_RELAXED);
	return err;
}

/* Check before resources are allocated. */
static int may_open(struct peer *p, const struct annex_serve_message *m)
{
	struct part *part;
	int err;

	pthread_mutex_lock(&p->s->lock);
	err = find_part(p, m, &part);
	pthread_mutex_unlock(&p->s->lock);
	return err;
}

static int admit(struct peer *p, const struct annex_serve_message *m, struct annex_serve_message *a)
{
	struct annex_server *s = p->s;
	struct part *part = NULL;
	int err;

	pthread_mutex_lock(&s->lock);
	err = find_part(p, m, &part);
	if (!err) {
		p->readonly = m->a || !table_allows(part, p, true);
		part->told.clients++;
		s->clients++;
		a->a = part->told.bytes / s->ns.block;
		a->b = s->ns.block;
		a->c = annex_dev_max_transfer(s->dev);
		a->d = p->readonly;
		a->birth = part->birth;
		p->part = part; /* from now on the worker serves it */
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

static bool open_part(struct peer *p, const struct annex_serve_message *m)
{
	struct annex_serve_message a = serve_answer_to(m, 0);
	int theirs = -1, fds[3];
	bool sent;

	a.result = p->head ? -EISCONN : may_open(p, m);
	if (!a.result)
		a.result = make_client(p, &theirs);
	if (!a.result)
		a.result = admit(p, m, &a);
	fds[0] = p->region;
	fds[1] = p->kick;
	fds[2] = theirs;
	sent = !annex_packet_send(p->sock, &a, sizeof(a), fds, a.result ? 0 : 3, MSG_DONTWAIT);
	if (theirs >= 0)
		close(theirs);
	return sent && !a.result;
}

/* Whether all pages are allocated: pages that the daemon allocates would be charged to it. */
static bool is_whole(int fd, uint64_t offset, uint64_t bytes)
{
	off_t hole = lseek(fd, (off_t)offset, SEEK_HOLE);

	return hole >= 0 && (uint64_t)hole >= offset + bytes;
}

/* Check memory, whose file must be sealed against shrinking. */
static int judge_memory(const struct peer *p, const struct annex_serve_message *m,
			const struct packet_files *files)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW;
	struct statfs fs;
	struct stat st;
	int seals;

	if (files->n != 1)
		return -EBADF;
	/* First: other calls on a file of another kind can block for any time. */
	seals = fcntl(files->fd[0], F_GET_SEALS);
	if (seals < 0 || (seals & all) != all)
		return -EPERM;
	if (fstat(files->fd[0], &st) || fstatfs(files->fd[0], &fs))
		return -EBADF;
	if (fs.f_type != TMPFS_MAGIC)
		return -EPERM;
	if (!m->a || m->a > ANNEX_SERVE_MEMORIES || p->mem[m->a].base)
		return -EINVAL;
	if (!m->c || (m->b | m->c) % ANNEX_NVME_PAGE || m->b > (uint64_t)st.st_size ||
	    m->c > (uint64_t)st.st_size - m->b)
		return -EINVAL;
	if (m->c > p->s->opts.memory - p->mapped || (uint64_t)st.st_size > p->s->opts.memory)
		return -EDQUOT;
	return is_whole(files->fd[0], m->b, m->c) ? 0 : -ENODATA;
}

static int map(struct peer *p, const struct annex_serve_message *m, struct packet_files *files)
{
	struct memory new = {.base = NULL};
	int err = p->part ? judge_memory(p, m, files) : -ENOTCONN;

	if (!err)
		err = map_memory(p->s, &new, files->fd[0], m->b, m->c);
	if (err)
		return err;
	annex_packet_close(files); /* the mapping keeps the file */
	p->mapped += m->c;
	pthread_mutex_lock(&p->s->lock);
	p->mem[m->a] = new;
	pthread_mutex_unlock(&p->s->lock);
	return 0;
}

static int unmap(struct peer *p, const struct annex_serve_message *m)
{
	struct memory old = {.base = NULL};
	int err = 0;

	if (!m->a || m->a > ANNEX_SERVE_MEMORIES || !p->mem[m->a].base)
		return -EINVAL;
	pthread_mutex_lock(&p->s->lock);
	if (p->mem[m->a].flying)
		err = -EBUSY;
	else {
		old = p->mem[m->a];
		p->mem[m->a] = (struct memory){.base = NULL};
	}
	pthread_mutex_unlock(&p->s->lock);
	p->mapped -= old.bytes;
	unmap_memory(p->s, &old);
	return err;
}

/* Whether it keeps a claim of @c from another client. */
static bool is_claimed(const struct peer *p, const struct claim *c)
{
	for (unsigned int i = 0; i < p->nclaims; i++)
		if (c->pos < p->claim[i].pos + p->claim[i].bytes &&
		    p->claim[i].pos < c->pos + c->bytes && !(c->shared && p->claim[i].shared))
			return true;
	return false;
}

/* Only the control thread uses claims and sockets: no lock. */
static int claim(struct peer *p, const struct annex_serve_message *m)
{
	const struct claim c = {m->a, m->b, m->c};
	const struct peer *q;

	if (!p->part)
		return -ENOTCONN;
	if (p->readonly && !c.shared)
		return -EROFS;
	if (!m->b || m->a > p->part->told.bytes || m->b > p->part->told.bytes - m->a)
		return -ENXIO;
	if (p->nclaims == SERVE_CLAIMS)
		return -ENOSPC;
	pthread_mutex_lock(&p->s->lock); /* the worker rotates the list */
	TAILQ_FOREACH(q, &p->s->peers, link)
	if (q->part == p->part && q != p && is_claimed(q, &c))
		break;
	pthread_mutex_unlock(&p->s->lock);
	if (q)
		return -EBUSY;
	p->claim[p->nclaims++] = c;
	return 0;
}

static int remove_part(struct peer *p, const struct annex_serve_message *m)
{
	struct annex_server *s = p->s;
	struct part *part;
	int err;

	if (!may_administer(p))
		return -EACCES;
	pthread_mutex_lock(&s->lock);
	part = table_find(&s->table, m->name);
	err = !part ? -ENOENT : part->told.clients || !part->live ? -EBUSY : 0;
	if (!err) {
		part->live = false;
		err = table_save(&s->table);
		if (err)
			part->live = true; /* it is still in the file */
		else
			table_drop(&s->table, part);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

static int set_part(struct peer *p, const struct annex_serve_message *m)
{
	const struct annex_serve_part told = serve_part_of(m);
	int err;

	if (!may_administer(p))
		return -EACCES;
	pthread_mutex_lock(&p->s->lock);
	err = table_set(&p->s->table, &told);
	pthread_mutex_unlock(&p->s->lock);
	serve_wake(p->s); /* commands may have waited for the rate */
	return err;
}

static bool list(struct peer *p, const struct annex_serve_message *m)
{
	struct {
		struct annex_serve_message a;
		struct annex_serve_part part[LISTED];
	} buf = {.a = serve_answer_to(m, 0)};
	struct annex_server *s = p->s;

	pthread_mutex_lock(&s->lock);
	for (uint64_t i = m->a; i < s->table.n && buf.a.a < LISTED; i++)
		buf.part[buf.a.a++] = s->table.part[i]->told;
	buf.a.b = s->table.n;
	buf.a.d = s->table.block | s->piece.bytes << 32;
	pthread_mutex_unlock(&s->lock);
	buf.a.c = s->table.bytes;
	return !annex_packet_send(p->sock, &buf, sizeof(buf.a) + buf.a.a * sizeof(buf.part[0]),
				  NULL, 0, MSG_DONTWAIT);
}

static bool handle(struct peer *p, const struct annex_serve_message *m, struct packet_files *files)
{
	int result;

	if (m->version != ANNEX_SERVE_VERSION)
		return !serve_answer(p, m, -EPROTONOSUPPORT);
	switch (m->ask) {
	case ANNEX_SERVE_OPEN:
		return open_part(p, m);
	case ANNEX_SERVE_LIST:
		return list(p, m);
	case ANNEX_SERVE_MAP:
		result = map(p, m, files);
		break;
	case ANNEX_SERVE_UNMAP:
		result = unmap(p, m);
		break;
	case ANNEX_SERVE_CLAIM:
		result = claim(p, m);
		break;
	case ANNEX_SERVE_ADD:
		result = may_administer(p) ? serve_add(p, m) : -EACCES;
		if (!result)
			return true; /* the answer comes later */
		break;
	case ANNEX_SERVE_SET:
		result = set_part(p, m);
		break;
	case ANNEX_SERVE_REMOVE:
		result = remove_part(p, m);
		break;
	default:
		result = -ENOSYS;
	}
	return !serve_answer(p, m, result);
}

/* Close unwanted files. Return: false: its user has too many; the client has to leave. */
static bool discard(struct peer *p, const struct packet_files *files)
{
	if (!files->n)
		return true;
	if ((may_administer(p) || serve_closing(p->s, &p->uid) < SERVE_PEERS_OF_USER) &&
	    serve_close(p->s, p->uid, files->fd, files->n))
		return true;
	p->stray = *files;
	return false;
}

bool serve_message(struct peer *p)
{
	struct annex_serve_message m;
	struct iovec iov = {&m, sizeof(m)};
	struct packet_files files;
	ssize_t n = annex_packet_receive(p->sock, &iov, 1, &files, MSG_DONTWAIT);
	bool more = false;

	if (n == -EAGAIN || n == -EINTR)
		return true;
	p->heard = annex_now();
	if (n == sizeof(m) && m.magic == ANNEX_SERVE_MAGIC)
		more = handle(p, &m, &files);
	return discard(p, &files) && more;
}

void serve_free(struct peer *p)
{
	for (unsigned int i = 0; i <= ANNEX_SERVE_MEMORIES; i++)
		unmap_memory(p->s, &p->mem[i]);
	if (p->head)
		munmap(p->head, ANNEX_SERVE_DATA);
	if (p->kick >= 0) {
		/* The client may keep it open, and then it would stay in the set. */
		epoll_ctl(p->s->poll, EPOLL_CTL_DEL, p->kick, NULL);
		close(p->kick);
	}
	if (p->event >= 0)
		close(p->event);
	if (p->region >= 0)
		close(p->region);
	/* Last: it tells the client that its memory is not written any more. */
	if (!serve_close(p->s, p->uid, &p->sock, 1))
		close(p->sock);
	if (p->stray.n && !serve_close(p->s, p->uid, p->stray.fd, p->stray.n))
		annex_packet_close(&p->stray);
	free(p);
}

// SPDX-License-Identifier: MIT
/*
 * A device that another process serves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/log.h"
#include "core/thread.h"
#include "hdm/hdm.h"
#include "m2.h"
#include "talk.h"

/*
 * struct remote - A server.
 * @uri: its URI.
 * @sock: its socket, or -1.
 * @lock: held for a message and its answer.
 * @bytes: bytes of the region.
 */
struct remote {
	char *uri;
	int sock;
	pthread_mutex_t lock;
	uint64_t bytes;
};

static struct remote *remote_of(struct annex_m2 *m2)
{
	return m2->behind;
}

static void lose(struct annex_m2 *m2)
{
	/* Release: pairs with m2_down(). */
	annex_atomic_store(&m2->gone, 1u, ANNEX_RELEASE);
}

/* *@result: the result in the server's answer. */
static int ask(struct annex_m2 *m2, const struct annex_m2_message *what, int fd, int64_t *result)
{
	struct remote *r = remote_of(m2);
	struct annex_m2_message a;
	int err;

	pthread_mutex_lock(&r->lock);
	err = annex_m2_talk(r->sock, what, fd, &a, NULL, 0, NULL, NULL);
	pthread_mutex_unlock(&r->lock);
	if (err)
		lose(m2);
	else
		*result = a.result;
	return err;
}

static struct annex_m2_message message(uint32_t kind)
{
	return (struct annex_m2_message){
		.magic = ANNEX_M2_MAGIC, .version = ANNEX_M2_VERSION, .ask = kind};
}

/* Open a new file description: that of the range has locks, which the server must not keep. */
static int reopen(const struct annex_hdm *hdm, unsigned int prot)
{
	int flags = (prot & ANNEX_M2_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC;
	char path[32];
	int fd;

	if (hdm->fork.child)
		return fork_refuse(hdm->uri);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", hdm->m->fd);
	fd = open(path, flags);
	return fd < 0 ? annex_fail(-errno, "%s: %m", hdm->uri) : fd;
}

static int map(struct annex_m2 *m2, struct annex_hdm *hdm, char *addr, uint64_t bytes,
	       unsigned int prot)
{
	struct annex_m2_message m = message(ANNEX_M2_MAP);
	int64_t result = 0;
	int err, fd = reopen(hdm, prot);

	if (fd < 0)
		return fd;
	m.a = (uintptr_t)addr;
	m.b = bytes;
	m.c = (uint64_t)(addr - hdm->m->base);
	m.d = prot;
	err = ask(m2, &m, fd, &result);
	close(fd);
	if (err || !result)
		return err;
	if (result == -ENXIO)
		return annex_fail(-ENXIO, "%s: it does not serve %s", remote_of(m2)->uri, hdm->uri);
	return annex_fail((int)result, "%s: it does not map %s: %s", remote_of(m2)->uri, hdm->uri,
			  strerror((int)-result));
}

static int unmap(struct annex_m2 *m2, uint64_t addr, uint64_t bytes)
{
	struct annex_m2_message m = message(ANNEX_M2_UNMAP);
	int64_t result = 0;
	int err;

	m.a = addr;
	m.b = bytes;
	err = ask(m2, &m, -1, &result);
	if (err || !result)
		return err;
	return annex_fail((int)result, "%s: %llu bytes at %#llx: %s", remote_of(m2)->uri,
			  (ull)bytes, (ull)addr, strerror((int)-result));
}

/* The socket also detects a server that was killed, and could not write to the region. */
static bool down(struct annex_m2 *m2)
{
	struct pollfd fd = {.fd = remote_of(m2)->sock};

	return poll(&fd, 1, 0) > 0;
}

/*
 * Wait until the server closes the connection, when no kernel of this client runs any more, at most
 * for the time limit of a message. Shut the socket down first: a forked child may have it open, so
 * a close would not reach the server.
 */
static void await_end(int sock)
{
	char rest[sizeof(struct annex_m2_message)];
	ssize_t n;

	if (shutdown(sock, SHUT_WR))
		return;
	do
		n = THREAD_KEPT(recv(sock, rest, sizeof(rest), 0));
	while (n > 0 || (n < 0 && errno == EINTR));
}

static void close_remote(struct annex_m2 *m2)
{
	struct remote *r = remote_of(m2);

	if (m2->region)
		munmap(m2->region, r->bytes);
	if (r->sock >= 0 && *m2->mine)
		await_end(r->sock);
	if (r->sock >= 0)
		close(r->sock);
	pthread_mutex_destroy(&r->lock);
	free(r->uri);
	free(r);
}

static const struct m2_link remote_link = {
	.map = map, .unmap = unmap, .down = down, .close = close_remote};

/* Map the region. Its file must be sealed against shrinking, and have the size in its head. */
static int map_region(struct annex_m2 *m2, struct remote *r, int fd)
{
	struct stat st;
	void *region;
	int err;

	if (fstat(fd, &st) || fcntl(fd, F_GET_SEALS) < 0 ||
	    !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
		return annex_fail(-EPROTO, "%s: the region is no sealed memory", r->uri);
	m2->layout.kernels = 0;
	if ((uint64_t)st.st_size < m2_bytes(&m2->layout) || st.st_size > UINT32_MAX)
		return annex_fail(-EPROTO, "%s: a region of %lld bytes", r->uri,
				  (long long)st.st_size);
	region = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region == MAP_FAILED)
		return annex_fail(-errno, "%s: the region cannot be mapped: %m", r->uri);
	r->bytes = (uint64_t)st.st_size;
	err = annex_m2_attach_region(m2, region);
	if (!err && m2->head.bytes != r->bytes)
		err = annex_fail(-EPROTO, "%s: the region is not as large as it says", r->uri);
	if (err) {
		munmap(region, r->bytes);
		m2->region = NULL;
	}
	return err;
}

static int request_region(struct annex_m2 *m2, struct remote *r)
{
	struct annex_m2_message m = message(ANNEX_M2_HELLO), a;
	int fds[2], err;

	m.a = m2->opts.stride;
	m.b = m2->opts.slots;
	err = annex_m2_talk(r->sock, &m, -1, &a, fds, 2, NULL, NULL);
	if (err)
		return err;
	if (a.result == -ENOSPC)
		return annex_fail(-ENOSPC, "%s: it serves as many processes as it can", r->uri);
	if (a.result)
		return annex_fail((int)a.result, "%s: it does not serve this process: %s", r->uri,
				  strerror((int)-a.result));
	m2->bell = (struct bell){fds[1], fds[1], true};
	err = map_region(m2, r, fds[0]);
	close(fds[0]);
	return err;
}

int m2_open_remote(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out)
{
	struct annex_m2 *m2;
	struct remote *r;
	int err = annex_m2_create(opts, &m2);

	if (err)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r) {
		annex_m2_free(m2);
		return annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	}
	m2->behind = r;
	m2->link = &remote_link;
	pthread_mutex_init(&r->lock, NULL);
	r->uri = strdup(uri);
	r->sock = r->uri ? annex_m2_talk_connect(uri, m2->opts.timeout_ms)
			 : annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	err = r->sock < 0 ? r->sock : request_region(m2, r);
	if (err) {
		annex_m2_close(m2);
		return err;
	}
	*out = m2;
	return 0;
}

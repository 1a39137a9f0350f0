// SPDX-License-Identifier: MIT
/*
 * A cxlssd: range whose owner is another process: its memory mapped here, and a thread that
 * forwards page faults. When the owner is gone the memory is too: whoever touches it gets a SIGBUS,
 * since pages would be zeroes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "attach.h"
#include "core/log.h"
#include "core/thread.h"
#include "hdm/hdm.h"

#define MSGS 16u

/*
 * struct attached - @pid: the owner, readable when it has ended. @bell: tells the thread to end.
 * @nothing: an empty file, to be mapped when the owner is gone, which is @gone then.
 * @faults: that the owner has not answered; @heard: when it answered last, or was asked after a
 * pause. The thread's own.
 * @lock: of what follows. @busy: a thread has a call under way, whose number is @asked; @answered:
 * the last one that was answered, by @result.
 * @opener: the process that this is of use in.
 */
struct attached {
	struct annex_medium m;
	char *path;
	int conn, pid, uffd, bell, nothing;
	bool gone;
	unsigned int faults;
	uint64_t heard;
	uint32_t timeout_ms;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool busy;
	uint64_t asked, answered;
	int result;
	pthread_t thread;
	bool runs;
	pid_t opener;
};

static bool is_gone(const struct attached *a)
{
	/* Acquire: with lose(). */
	return annex_atomic_load(&a->gone, ANNEX_ACQUIRE);
}

static int fail_gone(const struct attached *a)
{
	return annex_fail(-EIO, "cxlssd:%s: the process that had it is gone: open it again",
			  a->path);
}

static int check(struct annex_medium *m)
{
	const struct attached *a = (const struct attached *)m;

	return is_gone(a) ? fail_gone(a) : 0;
}

/* The owner is gone, or as good as gone. */
static void lose(struct attached *a)
{
	struct uffdio_range all = {(uintptr_t)a->m.base, a->m.bytes};

	/* Release: whoever finds the memory gone is told why. */
	annex_atomic_store(&a->gone, true, ANNEX_RELEASE);
	if (mmap(a->m.base, a->m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, a->nothing,
		 0) == MAP_FAILED)
		annex_log(ANNEX_LOG_ERROR, "cxlssd:%s: who touches it hangs: %m", a->path);
	else if (ioctl(a->uffd, UFFDIO_WAKE, &all))
		annex_log(ANNEX_LOG_WARNING, "cxlssd:%s: a program is not woken: %m", a->path);
	pthread_mutex_lock(&a->lock);
	pthread_cond_broadcast(&a->change);
	pthread_mutex_unlock(&a->lock);
}

static int send_one(const struct attached *a, enum attach_kind kind, uint64_t id, uint64_t at,
		    uint64_t len)
{
	struct attach_packet p = {
		.m = {.magic = ATTACH_MAGIC, .kind = kind, .id = id, .at = at, .len = len}};

	return attach_send(a->conn, &p);
}

/* Return: whether the owner is there still. */
static bool forward(struct attached *a)
{
	struct uffd_msg msgs[MSGS];
	const unsigned int room = ATTACH_FAULTS - a->faults;
	ssize_t got = read(a->uffd, msgs, (room < MSGS ? room : MSGS) * sizeof(*msgs));

	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*msgs); i++) {
		const uint64_t at = msgs[i].arg.pagefault.address - (uintptr_t)a->m.base;

		if (msgs[i].event != UFFD_EVENT_PAGEFAULT)
			continue;
		if (send_one(a, ATTACH_FAULT, 0, at / WINDOW_PAGE * WINDOW_PAGE,
			     !!(msgs[i].arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP)))
			return false;
		if (!a->faults++)
			a->heard = annex_now();
	}
	return true;
}

static bool take_answer(struct attached *a)
{
	struct attach_packet p;
	int err = attach_receive(a->conn, &p);

	if (err)
		return err == -EAGAIN;
	attach_drop_files(&p);
	a->heard = annex_now();
	if (p.m.kind == ATTACH_FAULT && a->faults) {
		a->faults--;
		if (p.m.result && p.m.at < a->m.bytes) {
			annex_fail(p.m.result, "cxlssd:%s: the process that has it cannot read it",
				   a->path);
			window_lose(a->uffd, a->m.base, p.m.at / WINDOW_PAGE * WINDOW_PAGE);
		}
		return true;
	}
	pthread_mutex_lock(&a->lock);
	/* The answer to a call that was given up comes late. */
	if (p.m.id == a->asked) {
		a->answered = a->asked;
		a->result = p.m.result;
		pthread_cond_broadcast(&a->change);
	}
	pthread_mutex_unlock(&a->lock);
	return true;
}

/* Milliseconds until the owner should have answered a fault; 0: it has not. */
static int patience(const struct attached *a)
{
	const uint64_t most = a->timeout_ms * ANNEX_NSEC_PER_MSEC, since = annex_now() - a->heard;

	if (!a->faults)
		return -1;
	return since >= most ? 0 : (int)((most - since) / ANNEX_NSEC_PER_MSEC) + 1;
}

static void *run(void *arg)
{
	struct attached *a = arg;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = a->bell, .events = POLLIN},
			{.fd = a->conn, .events = POLLIN},
			{.fd = a->pid, .events = POLLIN},
			{.fd = a->faults < ATTACH_FAULTS ? a->uffd : -1, .events = POLLIN}};
		const int wait = patience(a);
		bool there = wait;

		if (there && poll(fds, 4, wait > INT32_MAX / 2 ? INT32_MAX / 2 : wait) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (there && fds[1].revents)
			there = take_answer(a);
		if (there && fds[3].revents)
			there = forward(a);
		if (!there || fds[2].revents) {
			lose(a);
			return NULL;
		}
	}
}

/* With the lock. */
static int ask(struct attached *a, enum attach_kind kind, uint64_t at, uint64_t len,
	       uint64_t deadline)
{
	struct annex_patience patience = {deadline, 0};
	int err = 0;

	while (a->busy && !is_gone(a) && !err)
		err = -thread_wait(&a->change, &a->lock, &patience);
	if (err || is_gone(a))
		return err;
	a->busy = true;
	err = send_one(a, kind, ++a->asked, at, len);
	while (!err && a->answered != a->asked && !is_gone(a))
		err = -thread_wait(&a->change, &a->lock, &patience);
	a->busy = false;
	pthread_cond_broadcast(&a->change);
	return err ? err : a->answered == a->asked ? a->result : 0;
}

static int call(struct annex_medium *m, enum attach_kind kind, const void *ptr, size_t len)
{
	struct attached *a = (struct attached *)m;
	uint64_t at = (uint64_t)((const char *)ptr - m->base);
	int err;

	if (!len)
		return 0;
	if (a->opener != getpid())
		return annex_fail(-ECHILD, "cxlssd:%s: opened before fork(): open it in the child",
				  a->path);
	pthread_mutex_lock(&a->lock);
	err = ask(a, kind, at, len, annex_deadline_ms(a->timeout_ms));
	pthread_mutex_unlock(&a->lock);
	if (is_gone(a) || err == -EPIPE || err == -ECONNRESET)
		return fail_gone(a);
	if (err == -ETIMEDOUT)
		return annex_fail(err, "cxlssd:%s: the process that has it does not answer",
				  a->path);
	return err ? annex_fail(err, "cxlssd:%s: the process that has it: %s", a->path,
				strerror(-err))
		   : 0;
}

static int persist(struct annex_medium *m, void *ptr, size_t len)
{
	return call(m, ATTACH_PERSIST, ptr, len);
}

static int hold(struct annex_medium *m, void *ptr, size_t len)
{
	return call(m, ATTACH_HOLD, ptr, len);
}

static void let(struct annex_medium *m, void *ptr, size_t len)
{
	call(m, ATTACH_LET, ptr, len);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* A child of fork() has neither the mapping nor the thread, and the socket is its parent's. */
static void close_attached(struct annex_medium *m)
{
	struct attached *a = (struct attached *)m;

	if (a->opener == getpid()) {
		if (a->runs) {
			eventfd_write(a->bell, 1);
			pthread_join(a->thread, NULL);
		}
		if (a->conn >= 0)
			shutdown(a->conn, SHUT_RDWR);
		if (m->base)
			munmap(m->base, m->bytes);
		pthread_cond_destroy(&a->change);
		pthread_mutex_destroy(&a->lock);
	}
	close_file(a->conn);
	close_file(a->pid);
	close_file(a->uffd);
	close_file(a->bell);
	close_file(a->nothing);
	close_file(m->fd);
	free(a->path);
	free(a);
}

static const struct annex_medium_ops ops = {.flush = "the endpoint's fence",
					    .persist = persist,
					    .hold = hold,
					    .let = let,
					    .check = check,
					    .close = close_attached};

/* One message and its answer, before there is a thread. -EAGAIN: the owner is gone, or silent. */
static int greet(const struct attached *a, struct attach_packet *p, uint64_t deadline)
{
	struct pollfd fd = {.fd = a->conn, .events = POLLIN};
	int err = attach_send(a->conn, p);

	while (!err && (err = attach_receive(a->conn, p)) == -EAGAIN) {
		const uint64_t now = annex_now();

		if (now >= deadline)
			return -EAGAIN;
		err = 0;
		/* A signal may end it early. */
		THREAD_KEPT(poll(&fd, 1,
				 deadline - now < ANNEX_NSEC_PER_SEC
					 ? 1 + (int)((deadline - now) / ANNEX_NSEC_PER_MSEC)
					 : 1000));
	}
	if (err == -EPIPE || err == -ECONNRESET)
		return -EAGAIN;
	if (err)
		return annex_fail(err, "cxlssd:%s: no answer of a process that has it: %s", a->path,
				  strerror(-err));
	if (p->m.result) {
		attach_drop_files(p);
		return annex_fail(p->m.result,
				  "cxlssd:%s: the process that has it lets none in: %s", a->path,
				  strerror(-p->m.result));
	}
	return 0;
}

static int take_hello(struct attached *a, int fd, uint64_t size, struct attach_packet *p)
{
	struct annex_medium *m = &a->m;
	struct stat file, memory;

	if (p->files != 3 || fstat(fd, &file) || !attach_shows(p->fd[0], &file) ||
	    fstat(p->fd[2], &memory) || !p->m.at || p->m.at % WINDOW_PAGE ||
	    (uint64_t)memory.st_size < p->m.at)
		return annex_fail(-EPROTO, "cxlssd:%s: what answers there does not have it",
				  a->path);
	if (size && size != p->m.len)
		return annex_fail(-EINVAL, "cxlssd:%s: it was made with size=%llu, and keeps it",
				  a->path, (ull)p->m.len);
	m->bytes = p->m.at;
	a->pid = attach_take(p, 1);
	m->fd = attach_take(p, 2);
	return 0;
}

static int map(struct attached *a)
{
	struct annex_medium *m = &a->m;

	m->base = annex_medium_map(m->fd, m->bytes, 0, MAP_SHARED | MAP_NORESERVE);
	if (!m->base)
		return annex_fail(-errno, "cxlssd: no %llu bytes of addresses: %m", (ull)m->bytes);
	a->nothing = memfd_create("annex-gone", MFD_CLOEXEC);
	a->bell = eventfd(0, EFD_CLOEXEC);
	if (a->nothing < 0 || a->bell < 0)
		return annex_fail(-errno, "cxlssd: %m");
	a->uffd = window_watch(m->base, m->bytes);
	return a->uffd < 0 ? a->uffd : hdm_unshare(m);
}

static int attach(struct attached *a, int fd, uint64_t size, uint64_t deadline)
{
	struct attach_packet p = {.m = {.magic = ATTACH_MAGIC, .kind = ATTACH_HELLO},
				  .fd = {fd, attach_pidfd()},
				  .files = 2};
	int mine = p.fd[1], err;

	if (mine < 0)
		return annex_fail(mine, "cxlssd:%s: no pidfd: %s", a->path, strerror(-mine));
	err = greet(a, &p, deadline);
	close(mine);
	if (err)
		return err;
	err = take_hello(a, fd, size, &p);
	attach_drop_files(&p);
	if (!err)
		err = map(a);
	if (err)
		return err;
	p = (struct attach_packet){
		.m = {.magic = ATTACH_MAGIC, .kind = ATTACH_JOIN, .at = (uintptr_t)a->m.base},
		.fd = {a->uffd},
		.files = 1};
	err = greet(a, &p, deadline);
	if (err)
		return err;
	attach_drop_files(&p);
	if (annex_thread_start(&a->thread, run, a))
		return annex_fail(-EAGAIN, "cxlssd: no more threads");
	a->runs = true;
	return 0;
}

static struct attached *make(const char *path, uint32_t timeout_ms)
{
	struct attached *a = calloc(1, sizeof(*a));
	pthread_condattr_t attr;

	if (!a)
		return NULL;
	a->m = (struct annex_medium){.ops = &ops, .fd = -1, .node = -1, .persistent = true};
	a->conn = a->pid = a->uffd = a->bell = a->nothing = -1;
	a->timeout_ms = timeout_ms;
	a->opener = getpid();
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->change, &attr);
	pthread_condattr_destroy(&attr);
	a->path = strdup(path);
	if (a->path)
		return a;
	close_attached(&a->m);
	return NULL;
}

int attach_open(const char *path, int fd, uint64_t number, uint64_t size, uint64_t deadline,
		uint32_t timeout_ms, struct annex_medium **out)
{
	struct attached *a = make(path, timeout_ms);
	int err;

	if (!a)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	a->conn = attach_connect(number);
	err = a->conn == -ECONNREFUSED || a->conn == -EAGAIN ? -EAGAIN : 0;
	if (!err && a->conn < 0)
		err = annex_fail(a->conn, "cxlssd:%s: no socket: %s", path, strerror(-a->conn));
	if (!err && geteuid() && attach_uid(a->conn) != geteuid())
		err = annex_fail(-EACCES, "cxlssd:%s: a process of another user has it", path);
	if (!err)
		err = attach(a, fd, size, deadline);
	if (err) {
		close_attached(&a->m);
		return err;
	}
	*out = &a->m;
	return 0;
}

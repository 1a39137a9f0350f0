// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/log.h"
#include "core/mapping.h"
#include "core/thread.h"
#include "core/uffd.h"
#include "window.h"

#define PAGE WINDOW_PAGE
#define TRIES 1000u
#define MSGS 16u
#define MOVING 64u /* pages that are never held, so that programs get on */

/*
 * struct window - @lock: of all that follows; the handler and callers of window_persist() take it.
 * @was: what the endpoint has of each page that is there, to tell which lines were stored.
 * @there: a bit for each page. @ring: those pages, in the order in which they came, @n of them from
 * @first on; @room: as many as there may be.
 * @held: how often each page is, @n_held of them.
 * @views: other mappings of the file.
 * @bell: tells the handler to end. @owner: the process that it runs in.
 */
struct window {
	struct annex_cxlssd *s;
	int fd, uffd, bell;
	char *base, *was;
	uint64_t bytes;
	pthread_mutex_t lock;
	pthread_t handler;
	bool handles;
	uint64_t *there;
	uint32_t *ring, first, n, room;
	uint16_t *held;
	uint32_t n_held;
	struct window_view *views;
	pid_t owner;
};

static bool is_there(const struct window *w, uint32_t page)
{
	return w->there[page / 64] >> page % 64 & 1;
}

/* Of another process, it may be gone. */
static int wake(int uffd, uint64_t addr)
{
	struct uffdio_range range = {addr, PAGE};

	return ioctl(uffd, UFFDIO_WAKE, &range) ? -errno : 0;
}

static void wake_own(const struct window *w, uint32_t page)
{
	int err = wake(w->uffd, (uintptr_t)w->base + (uint64_t)page * PAGE);

	if (err)
		annex_log(ANNEX_LOG_WARNING, "cxlssd: a program is not woken: %s", strerror(-err));
}

/* Lines of a page that were stored go to the endpoint, runs of them at once. */
static int write_back(struct window *w, uint32_t page)
{
	const uint64_t at = (uint64_t)page * PAGE;
	char now[PAGE], *was = w->was + at;
	int err = 0;

	/* Programs may store meanwhile: a torn line is compared with @was again later. */
	if (pread(w->fd, now, PAGE, (off_t)at) != PAGE)
		return annex_fail(-EIO, "cxlssd: a page cannot be read: %m");
	for (uint32_t from = 0, to; !err && from < PAGE; from = to) {
		to = from + ANNEX_CXLSSD_LINE;
		if (!memcmp(now + from, was + from, ANNEX_CXLSSD_LINE))
			continue;
		while (to < PAGE && memcmp(now + to, was + to, ANNEX_CXLSSD_LINE))
			to += ANNEX_CXLSSD_LINE;
		err = annex_cxlssd_write(w->s, at + from, now + from, to - from, NULL);
		if (!err)
			memcpy(was + from, now + from, to - from);
	}
	return err;
}

/* Threads that store to a protected page wait; without protection they go on. */
static int set_protection(int uffd, uint64_t addr, bool on)
{
	struct uffdio_writeprotect wp = {{addr, PAGE}, on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};

	for (unsigned int i = 0; ioctl(uffd, UFFDIO_WRITEPROTECT, &wp); i++) {
		if (errno != EAGAIN || i == TRIES)
			return -errno;
		sched_yield();
	}
	return 0;
}

/* Stores to the mapping might be lost unseen: its process is told that the range is gone. */
static void cut(struct window_view *v, int err)
{
	annex_log(ANNEX_LOG_WARNING, "cxlssd: an attached process is cut off: %s", strerror(-err));
	v->cut = true;
	shutdown(v->conn, SHUT_RDWR);
}

/* Programs cannot store to a page, but wait, until it is gone. */
static int protect(struct window *w, uint32_t page)
{
	const uint64_t at = (uint64_t)page * PAGE;
	int err = set_protection(w->uffd, (uintptr_t)w->base + at, true);

	if (err)
		return annex_fail(err, "cxlssd: a page cannot be protected: %s", strerror(-err));
	for (struct window_view *v = w->views; v; v = v->next) {
		err = v->cut ? 0 : set_protection(v->uffd, v->base + at, true);
		/* A process that died, or has lost that page, does not store to it. */
		if (err && err != -ESRCH && err != -ENOENT)
			cut(v, err);
	}
	return 0;
}

/* The page that came first of those that may go; it leaves the ring. */
static uint32_t next_victim(struct window *w)
{
	uint32_t page = w->ring[w->first];

	for (; w->held[page]; page = w->ring[w->first]) {
		w->first = (w->first + 1) % w->room;
		w->ring[(w->first + w->n - 1) % w->room] = page;
	}
	return page;
}

static int give_back(struct window *w, uint32_t page)
{
	if (fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)page * PAGE, PAGE))
		return annex_fail(-errno, "cxlssd: a page is not given back: %m");
	return 0;
}

static int evict(struct window *w)
{
	const uint32_t page = next_victim(w);
	const uint64_t at = (uint64_t)page * PAGE;
	int err = protect(w, page);

	if (!err)
		err = write_back(w, page);
	if (!err)
		err = give_back(w, page);
	if (err)
		return err;
	madvise(w->was + at, PAGE, MADV_DONTNEED);
	w->there[page / 64] &= ~(1ull << page % 64);
	w->first = (w->first + 1) % w->room;
	w->n--;
	return 0;
}

/* Behind the end of an empty file there is nothing. */
void window_lose(int uffd, char *base, uint64_t at)
{
	int fd;

	annex_log(ANNEX_LOG_ERROR, "cxlssd: bytes %llu to %llu cannot be had: %s", (ull)at,
		  (ull)at + PAGE, annex_last_error());
	if (!mapping_poison(base + at)) {
		fd = memfd_create("annex-lost", MFD_CLOEXEC);
		if (fd < 0 || mmap(base + at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				   fd, 0) == MAP_FAILED)
			annex_log(ANNEX_LOG_ERROR, "cxlssd: who touches them hangs: %m");
		if (fd >= 0)
			close(fd);
	}
	if (wake(uffd, (uintptr_t)base + at))
		annex_log(ANNEX_LOG_WARNING, "cxlssd: a program is not woken: %m");
}

/* The file gets a page as the endpoint has it, and threads that wait for it go on. -EEXIST, without
 * a line: the file has one. */
static int fill(struct window *w, uint32_t page)
{
	const uint64_t at = (uint64_t)page * PAGE;
	struct uffdio_copy copy = {
		.dst = (uintptr_t)w->base + at, .src = (uintptr_t)w->was + at, .len = PAGE};

	while (ioctl(w->uffd, UFFDIO_COPY, &copy)) {
		if (errno == EEXIST)
			return -EEXIST;
		if (errno != EAGAIN)
			return annex_fail(-errno, "cxlssd: a page cannot be mapped: %m");
		copy.copy = 0;
	}
	return 0;
}

/* A page that is not there may be in the file nevertheless: an attached process has the file, and
 * may have written to it past its mapping. */
static int bring(struct window *w, uint32_t page)
{
	const uint64_t at = (uint64_t)page * PAGE;
	int err = w->n == w->room ? evict(w) : 0;

	if (!err)
		err = annex_cxlssd_read(w->s, at, w->was + at, PAGE, NULL);
	if (err)
		return err;
	err = fill(w, page);
	for (unsigned int i = 0; err == -EEXIST && i < TRIES; i++) {
		err = give_back(w, page);
		err = err ? err : fill(w, page);
	}
	if (err)
		return err == -EEXIST ? annex_fail(-EIO, "cxlssd: an attached process writes to a "
							 "page past its mapping")
				      : err;
	w->there[page / 64] |= 1ull << page % 64;
	w->ring[(w->first + w->n++) % w->room] = page;
	return 0;
}

/* Another thread's touch may have brought the page already, or one may have made it go. An attached
 * process may have taken a page out of the file that counts as there: it comes again. */
static void fault(struct window *w, uint64_t addr, bool protected)
{
	const uint32_t page = (uint32_t)((addr - (uintptr_t)w->base) / PAGE);
	const uint64_t at = (uint64_t)page * PAGE;

	if (!is_there(w, page)) {
		if (protected)
			wake_own(w, page);
		else if (bring(w, page))
			window_lose(w->uffd, w->base, at);
	} else if (protected) {
		/* It was to go, and could not. */
		if (set_protection(w->uffd, (uintptr_t)w->base + at, false))
			wake_own(w, page);
	} else if (fill(w, page)) {
		wake_own(w, page);
	}
}

void window_join(struct window *w, struct window_view *v)
{
	pthread_mutex_lock(&w->lock);
	v->cut = false;
	v->next = w->views;
	w->views = v;
	pthread_mutex_unlock(&w->lock);
}

void window_leave(struct window *w, struct window_view *v)
{
	struct window_view **at = &w->views;

	pthread_mutex_lock(&w->lock);
	while (*at && *at != v)
		at = &(*at)->next;
	if (*at)
		*at = v->next;
	pthread_mutex_unlock(&w->lock);
}

int window_serve(struct window *w, struct window_view *v, uint64_t at, bool protected)
{
	const uint32_t page = (uint32_t)(at / PAGE);
	int err = 0;

	pthread_mutex_lock(&w->lock);
	if (!is_there(w, page))
		err = bring(w, page);
	else if (!protected)
		fill(w, page);
	/* With the lock: the page cannot be on its way out, which is what protects it. */
	if (!err && set_protection(v->uffd, v->base + at / PAGE * PAGE, false))
		wake(v->uffd, v->base + at / PAGE * PAGE);
	pthread_mutex_unlock(&w->lock);
	return err;
}

static void *handle(void *arg)
{
	struct window *w = arg;
	struct pollfd fds[] = {{.fd = w->uffd, .events = POLLIN},
			       {.fd = w->bell, .events = POLLIN}};
	struct uffd_msg msgs[MSGS];

	while (!fds[1].revents) {
		ssize_t got = poll(fds, 2, -1) > 0 ? read(w->uffd, msgs, sizeof(msgs)) : 0;

		for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*msgs); i++) {
			if (msgs[i].event != UFFD_EVENT_PAGEFAULT)
				continue;
			pthread_mutex_lock(&w->lock);
			fault(w, msgs[i].arg.pagefault.address,
			      msgs[i].arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP);
			pthread_mutex_unlock(&w->lock);
		}
	}
	return NULL;
}

static int listen_to(int uffd, char *base, uint64_t bytes)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_MISSING_SHMEM |
					     UFFD_FEATURE_PAGEFAULT_FLAG_WP |
					     UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	struct uffdio_register reg = {.range = {(uintptr_t)base, bytes},
				      .mode = UFFDIO_REGISTER_MODE_MISSING |
					      UFFDIO_REGISTER_MODE_WP};

	/* A child would see pages that are not there as zeroes. */
	if (madvise(base, bytes, MADV_DONTFORK))
		return annex_fail(-errno, "cxlssd: %m");
	if (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		return annex_fail(-EOPNOTSUPP,
				  "cxlssd: this kernel's userfaultfd is too old (Linux 5.19 has "
				  "all): %m");
	return 0;
}

int window_watch(char *base, uint64_t bytes)
{
	enum uffd_way way;
	int uffd = uffd_open("cxlssd", &way);
	int err = uffd < 0 ? uffd : listen_to(uffd, base, bytes);

	if (err) {
		if (uffd >= 0)
			close(uffd);
		return err;
	}
	if (way == UFFD_USER)
		annex_log(ANNEX_LOG_WARNING,
			  "cxlssd: system calls on pages that are not there yet fail with EFAULT, "
			  "as this user has no right to more (sudo sysctl -w "
			  "vm.unprivileged_userfaultfd=1, or let this user open "
			  "/dev/userfaultfd)");
	return uffd;
}

static int start(struct window *w)
{
	const uint64_t pages = w->bytes / PAGE;
	void *was = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	w->was = was == MAP_FAILED ? NULL : was;
	w->there = calloc((pages + 63) / 64, sizeof(*w->there));
	w->ring = calloc(w->room, sizeof(*w->ring));
	w->held = calloc(pages, sizeof(*w->held));
	w->bell = eventfd(0, EFD_CLOEXEC);
	if (!w->was || !w->there || !w->ring || !w->held || w->bell < 0)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	w->uffd = window_watch(w->base, w->bytes);
	if (w->uffd < 0)
		return w->uffd;
	if (annex_thread_start(&w->handler, handle, w))
		return annex_fail(-EAGAIN, "cxlssd: no more threads");
	w->handles = true;
	return 0;
}

static void stop(struct window *w)
{
	if (w->handles && w->owner == getpid()) {
		eventfd_write(w->bell, 1);
		pthread_join(w->handler, NULL);
	}
	if (w->uffd >= 0)
		close(w->uffd);
	if (w->bell >= 0)
		close(w->bell);
	if (w->was)
		munmap(w->was, w->bytes);
	pthread_mutex_destroy(&w->lock);
	free(w->there);
	free(w->ring);
	free(w->held);
	free(w);
}

int window_open(struct annex_cxlssd *s, int fd, char *base, uint64_t bytes, uint64_t most,
		struct window **out)
{
	struct window *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	*w = (struct window){
		.s = s, .fd = fd, .uffd = -1, .bell = -1, .base = base, .bytes = bytes};
	w->owner = getpid();
	w->room = (uint32_t)((most < bytes ? most : bytes) / PAGE);
	pthread_mutex_init(&w->lock, NULL);
	err = start(w);
	if (err) {
		stop(w);
		return err;
	}
	*out = w;
	return 0;
}

void window_let(struct window *w, uint64_t at, uint64_t len)
{
	pthread_mutex_lock(&w->lock);
	for (uint64_t page = at / PAGE; len && page <= (at + len - 1) / PAGE; page++)
		w->n_held -= !--w->held[page];
	pthread_mutex_unlock(&w->lock);
}

int window_hold(struct window *w, uint64_t at, uint64_t len)
{
	const uint64_t first = at / PAGE, end = len ? (at + len - 1) / PAGE + 1 : first;
	uint64_t more = 0;
	bool fits = true;

	pthread_mutex_lock(&w->lock);
	for (uint64_t page = first; page < end; page++) {
		more += !w->held[page];
		fits &= w->held[page] < UINT16_MAX;
	}
	/* With all pages at once none ever goes. */
	fits &= w->room == w->bytes / PAGE || w->n_held + more + MOVING <= w->room;
	for (uint64_t page = first; fits && page < end; page++)
		w->n_held += !w->held[page]++;
	pthread_mutex_unlock(&w->lock);
	return fits ? 0
		    : annex_fail(
			      -ENOMEM,
			      "cxlssd: %llu bytes that devices reach do not fit into the window: "
			      "a larger window= is needed",
			      (ull)len);
}

/* The lock is free between pages: those who wait for theirs get them. */
int window_persist(struct window *w, uint64_t at, uint64_t len)
{
	int err = 0;

	for (uint64_t page = at / PAGE; !err && len && page <= (at + len - 1) / PAGE; page++) {
		pthread_mutex_lock(&w->lock);
		if (is_there(w, (uint32_t)page))
			err = write_back(w, (uint32_t)page);
		pthread_mutex_unlock(&w->lock);
	}
	return err ? err : annex_cxlssd_fence(w->s, NULL);
}

int window_close(struct window *w)
{
	int err = 0;

	/* A child of fork() has neither the pages nor the handler, which may have had the lock. */
	if (w->owner != getpid()) {
		stop(w);
		return 0;
	}
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->n; i++) {
		int one = write_back(w, w->ring[(w->first + i) % w->room]);

		err = err ? err : one;
	}
	pthread_mutex_unlock(&w->lock);
	stop(w);
	return err;
}

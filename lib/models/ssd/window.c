// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/log.h"
#include "core/mapping.h"
#include "core/thread.h"
#include "core/uffd.h"
#include "window.h"

#define PAGE 4096u
#define MSGS 16u
#define MOVING 64u /* pages that are never pinned, so that programs make progress */

/*
 * struct window - A window.
 * @s: the endpoint.
 * @fd: the file of the mapping.
 * @uffd: the userfaultfd.
 * @bell: an eventfd that ends the handler.
 * @base: start of the mapping.
 * @was: the endpoint's contents of resident pages, to find stored lines.
 * @bytes: bytes of the mapping.
 * @lock: protects the members below; the handler and window_persist() take it.
 * @handler: the thread that serves faults.
 * @handles: it runs.
 * @there: resident pages, a bit each.
 * @ring: resident pages in order of arrival.
 * @first: index of the first one in @ring.
 * @n: number of resident pages.
 * @room: resident pages at most.
 * @held: number of pins of each page.
 * @n_held: number of pinned pages.
 * @owner: the process of the handler.
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
	pid_t owner;
};

static bool is_there(const struct window *w, uint32_t page)
{
	return w->there[page / 64] >> page % 64 & 1;
}

static struct uffdio_range range_of(const struct window *w, uint32_t page)
{
	return (struct uffdio_range){(uintptr_t)w->base + (uint64_t)page * PAGE, PAGE};
}

static void wake(struct window *w, uint32_t page)
{
	struct uffdio_range range = range_of(w, page);

	if (ioctl(w->uffd, UFFDIO_WAKE, &range))
		annex_log(ANNEX_LOG_WARNING, "cxlssd: cannot wake a program: %m");
}

/* Write stored lines of a page to the endpoint, in runs. */
static int write_back(struct window *w, uint32_t page)
{
	const uint64_t at = (uint64_t)page * PAGE;
	char now[PAGE], *was = w->was + at;
	int err = 0;

	/* Programs may store meanwhile: a later call compares a torn line with @was again. */
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

/* Block stores to a page until it is evicted. */
static int protect(struct window *w, uint32_t page)
{
	struct uffdio_writeprotect wp = {range_of(w, page), UFFDIO_WRITEPROTECT_MODE_WP};

	while (ioctl(w->uffd, UFFDIO_WRITEPROTECT, &wp))
		if (errno != EAGAIN)
			return annex_fail(-errno, "cxlssd: a page cannot be protected: %m");
	return 0;
}

/* Take the oldest page that is not pinned out of the ring. */
static uint32_t next_victim(struct window *w)
{
	uint32_t page = w->ring[w->first];

	for (; w->held[page]; page = w->ring[w->first]) {
		w->first = (w->first + 1) % w->room;
		w->ring[(w->first + w->n - 1) % w->room] = page;
	}
	return page;
}

static int evict(struct window *w)
{
	const uint32_t page = next_victim(w);
	const uint64_t at = (uint64_t)page * PAGE;
	int err = protect(w, page);

	if (!err)
		err = write_back(w, page);
	if (!err && fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, PAGE))
		err = annex_fail(-errno, "cxlssd: a page is not given back: %m");
	if (err)
		return err;
	madvise(w->was + at, PAGE, MADV_DONTNEED);
	w->there[page / 64] &= ~(1ull << page % 64);
	w->first = (w->first + 1) % w->room;
	w->n--;
	return 0;
}

/* Make the page poison, or else map it beyond the end of an empty file: accesses raise SIGBUS. */
static void give_up(struct window *w, uint32_t page)
{
	int fd;

	annex_log(ANNEX_LOG_ERROR, "cxlssd: cannot read bytes %llu to %llu: %s", (ull)page * PAGE,
		  (ull)page * PAGE + PAGE, annex_last_error());
	if (annex_mapping_poison(w->base + (uint64_t)page * PAGE))
		return;
	fd = memfd_create("annex-lost", MFD_CLOEXEC);
	if (fd < 0 || mmap(w->base + (uint64_t)page * PAGE, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		annex_log(ANNEX_LOG_ERROR, "cxlssd: accesses to them hang: %m");
	if (fd >= 0)
		close(fd);
}

static int bring(struct window *w, uint32_t page)
{
	const uint64_t at = (uint64_t)page * PAGE;
	struct uffdio_copy copy = {
		.dst = (uintptr_t)w->base + at, .src = (uintptr_t)w->was + at, .len = PAGE};
	int err = w->n == w->room ? evict(w) : 0;

	if (!err)
		err = annex_cxlssd_read(w->s, at, w->was + at, PAGE, NULL);
	if (err)
		return err;
	while (ioctl(w->uffd, UFFDIO_COPY, &copy)) {
		if (errno != EAGAIN)
			return annex_fail(-errno, "cxlssd: a page cannot be mapped: %m");
		copy.copy = 0;
	}
	w->there[page / 64] |= 1ull << page % 64;
	w->ring[(w->first + w->n++) % w->room] = page;
	return 0;
}

/* The page may have come or gone meanwhile by a fault of another thread. */
static void fault(struct window *w, uint64_t addr, bool protected)
{
	const uint32_t page = (uint32_t)((addr - (uintptr_t)w->base) / PAGE);
	const bool there = is_there(w, page);
	struct uffdio_writeprotect open = {range_of(w, page), 0};

	if (!there && !protected && bring(w, page)) {
		give_up(w, page);
		wake(w, page);
	} else if (there && protected) {
		/* Its eviction failed. */
		if (ioctl(w->uffd, UFFDIO_WRITEPROTECT, &open))
			wake(w, page);
	} else if (there || protected) {
		wake(w, page);
	}
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

static int watch(struct window *w)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_MISSING_SHMEM |
					     UFFD_FEATURE_PAGEFAULT_FLAG_WP |
					     UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	struct uffdio_register reg = {.range = {(uintptr_t)w->base, w->bytes},
				      .mode = UFFDIO_REGISTER_MODE_MISSING |
					      UFFDIO_REGISTER_MODE_WP};
	enum uffd_way way;

	w->uffd = annex_uffd_open("cxlssd", &way);
	if (w->uffd < 0)
		return w->uffd;
	if (ioctl(w->uffd, UFFDIO_API, &api) || ioctl(w->uffd, UFFDIO_REGISTER, &reg))
		return annex_fail(-EOPNOTSUPP,
				  "cxlssd: this kernel's userfaultfd is too old (Linux 5.19 has "
				  "all): %m");
	if (way == UFFD_USER)
		annex_log(ANNEX_LOG_WARNING,
			  "cxlssd: system calls on pages that are not there yet fail with EFAULT, "
			  "as this user has no right to more (sudo sysctl -w "
			  "vm.unprivileged_userfaultfd=1, or let this user open "
			  "/dev/userfaultfd)");
	return 0;
}

static int start(struct window *w)
{
	const uint64_t pages = w->bytes / PAGE;
	void *was = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err;

	w->was = was == MAP_FAILED ? NULL : was;
	w->there = calloc((pages + 63) / 64, sizeof(*w->there));
	w->ring = calloc(w->room, sizeof(*w->ring));
	w->held = calloc(pages, sizeof(*w->held));
	w->bell = eventfd(0, EFD_CLOEXEC);
	if (!w->was || !w->there || !w->ring || !w->held || w->bell < 0)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	/* A child would read pages that are not resident as zeroes. */
	if (madvise(w->base, w->bytes, MADV_DONTFORK))
		return annex_fail(-errno, "cxlssd: %m");
	err = watch(w);
	if (err)
		return err;
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
	/* If all pages fit, none is ever evicted. */
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

int window_persist(struct window *w, uint64_t at, uint64_t len)
{
	int err = 0;

	pthread_mutex_lock(&w->lock);
	for (uint64_t page = at / PAGE; !err && len && page <= (at + len - 1) / PAGE; page++)
		if (is_there(w, (uint32_t)page))
			err = write_back(w, (uint32_t)page);
	pthread_mutex_unlock(&w->lock);
	return err ? err : annex_cxlssd_fence(w->s, NULL);
}

int window_close(struct window *w)
{
	int err = 0;

	/* A child of fork() has neither the pages nor the handler, which may have held the lock. */
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

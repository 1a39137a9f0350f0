// SPDX-License-Identifier: MIT
/*
 * UFFDIO_MOVE needs pages of one process that no device has pinned (else EBUSY), in mappings of one
 * kind: so neither mapping is forked, and a page that the program has locked is unlocked first, as
 * it leaves anyhow. It clears write protection, but cannot set it, and a write before a call that
 * does would not be detected. So clean pages are copied, by UFFDIO_COPY, which can.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/least.h"
#include "core/log.h"
#include "fault.h"
#include "page.h"
#include "pool.h"

#define PAGEMAP_SWAPPED ((uint64_t)1 << 62)
#define PAGEMAP_PRESENT ((uint64_t)1 << 63)

/* Since Linux 6.8; not in all headers. */
#ifndef UFFDIO_MOVE
#define UFFD_FEATURE_MOVE (1 << 16)
#define UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES ((__u64)1 << 1)
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
struct uffdio_move {
	__u64 dst, src, len, mode;
	__s64 move;
};
#endif

/**
 * struct pool - Idle memory.
 * @lock: protects the members, and the memory of idle pages; taken after the space's, or alone.
 * @idle: the pages with idle memory at @alias are the free ones of this map. The program may have
 *	taken the memory away: then it is a hole, which is filled when it is used.
 * @expected: number of charged pages that have not taken their memory yet.
 */
struct pool {
	pthread_mutex_t lock;
	struct runs idle;
	uint64_t expected;
};

static uint8_t *alias(const struct annex_space *s, uint32_t page)
{
	return s->alias + pages_bytes(page);
}

static uint8_t *base(const struct annex_space *s, uint32_t page)
{
	return s->base + pages_bytes(page);
}

/* Move @n pages. Return: their number until an error, which is in errno. */
static uint32_t move(const struct annex_space *s, uint8_t *to, const uint8_t *from, uint32_t n,
		     uint64_t mode)
{
	uint32_t done = 0, most = n;

	while (done < n) {
		struct uffdio_move m = {
			.dst = (uintptr_t)to + pages_bytes(done),
			.src = (uintptr_t)from + pages_bytes(done),
			.len = pages_bytes((uint32_t)least(most, n - done)),
			.mode = mode,
		};

		if (!ioctl(s->uffd, UFFDIO_MOVE, &m) || m.move > 0) {
			done += (uint32_t)((uint64_t)m.move / ANNEX_MEM_PAGE);
			most = n;
		} else if (errno == EINVAL && m.len > ANNEX_MEM_PAGE) {
			/* A part has other rights, or is locked: find where it begins. */
			most = (uint32_t)(m.len / ANNEX_MEM_PAGE / 2);
		} else if (errno != EAGAIN) {
			break;
		}
	}
	return done;
}

static void *map(const struct annex_space *s)
{
	void *p = mmap(NULL, s->opts.size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Pages that a child or equal pages share cannot be moved, and large ones are split. */
	madvise(p, s->opts.size, MADV_DONTFORK);
	madvise(p, s->opts.size, MADV_UNMERGEABLE);
	madvise(p, s->opts.size, MADV_NOHUGEPAGE);
	return p;
}

/* Also to @alias, so that pages can be moved there: no page of it is write-protected. */
static int watch(struct annex_space *s)
{
	int err;

	s->uffd = annex_watch_open(s, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MOVE);
	if (s->uffd < 0)
		return s->uffd;
	err = annex_watch_range(s, s->uffd, s->base,
				UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
	return err ? err : annex_watch_range(s, s->uffd, s->alias, UFFDIO_REGISTER_MODE_WP);
}

/* Move a page there and back: a filter may refuse it. */
static int try(struct annex_space *s)
{
	*(volatile uint8_t *)s->alias = 1;
	if (!move(s, s->base, s->alias, 1, 0) || !move(s, s->alias, s->base, 1, 0))
		return -errno;
	return madvise(s->alias, ANNEX_MEM_PAGE, MADV_DONTNEED_LOCKED) ? -errno : 0;
}

static int start(struct annex_space *s)
{
	uint32_t n = (uint32_t)(s->opts.size / ANNEX_MEM_PAGE), first;
	int err;

	s->pool = calloc(1, sizeof(*s->pool));
	if (!s->pool)
		return -ENOMEM;
	annex_mutex_init(&s->pool->lock);
	s->base = map(s);
	s->alias = map(s);
	if (!s->base || !s->alias || annex_runs_init(&s->pool->idle, n, true))
		return -ENOMEM;
	annex_runs_take_all(&s->pool->idle, n, &first);
	err = watch(s);
	return err ? err : try(s);
}

int annex_pool_start(struct annex_space *s)
{
	int err = start(s);

	if (!err) {
		s->user_only = s->watch == ANNEX_WATCH_USER;
		s->track = true;
		return 0;
	}
	if (s->uffd >= 0)
		close(s->uffd);
	if (s->base)
		munmap(s->base, s->opts.size);
	if (s->alias)
		munmap(s->alias, s->opts.size);
	s->uffd = -1;
	s->base = s->alias = NULL;
	annex_pool_stop(s);
	return err;
}

void annex_pool_stop(struct annex_space *s)
{
	if (!s->pool)
		return;
	annex_runs_fini(&s->pool->idle);
	pthread_mutex_destroy(&s->pool->lock);
	free(s->pool);
	s->pool = NULL;
}

/* Copy memory to pages without any. Return: the number of pages. */
static uint32_t copy(const struct annex_space *s, uint32_t first, uint32_t n, const void *from,
		     uint64_t mode)
{
	struct uffdio_copy c = {
		.dst = (uintptr_t)base(s, first),
		.src = (uintptr_t)from,
		.len = pages_bytes(n),
		.mode = mode,
	};

	return !ioctl(s->uffd, UFFDIO_COPY, &c) || c.copy > 0
		       ? (uint32_t)((uint64_t)c.copy / ANNEX_MEM_PAGE)
		       : 0;
}

/* The same, of their memory at @alias, which is then idle. */
static uint32_t copy_alias(struct annex_space *s, uint32_t first, uint32_t n, uint64_t mode)
{
	n = copy(s, first, n, alias(s, first), mode);
	annex_pool_give(s, first, n);
	return n;
}

/* The program may have taken the memory of a shown page away; otherwise this fails with EEXIST. */
static uint32_t show_again(const struct annex_space *s, uint32_t page)
{
	static const uint8_t zeroes[ANNEX_MEM_PAGE];

	return copy(s, page, 1, zeroes,
		    s->pages[page].flags & PAGE_CLEAN ? UFFDIO_COPY_MODE_WP : 0);
}

uint32_t annex_pool_show(struct annex_space *s, uint32_t first, uint32_t n, bool clean, bool wake)
{
	/* The same bit for both calls. */
	const uint64_t quiet = wake ? 0 : UFFDIO_COPY_MODE_DONTWAKE;
	uint32_t done;

	if (s->pages[first].flags & PAGE_SHOWN)
		return show_again(s, first);
	if (clean)
		return copy_alias(s, first, n, quiet | UFFDIO_COPY_MODE_WP);
	done = move(s, base(s, first), alias(s, first), n, quiet);
	/* A device has not let go of it yet, its place is locked, or it is a hole. */
	if (!done && errno != EEXIST)
		done = copy_alias(s, first, 1, quiet);
	return done;
}

/* Free memory at @alias. */
static int drop(const struct annex_space *s, uint32_t first, uint32_t n)
{
	return madvise(alias(s, first), pages_bytes(n), MADV_DONTNEED_LOCKED);
}

/* Free memory of pages that is still idle after a copy: their own comes to its place. */
static void clear_place(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, part;
	bool idle;

	pthread_mutex_lock(&s->pool->lock);
	for (; first < end; first += part) {
		part = annex_runs_take_here(&s->pool->idle, first, end - first, &idle);
		if (idle)
			drop(s, first, part);
	}
	pthread_mutex_unlock(&s->pool->lock);
}

static bool protect(const struct annex_space *s, const uint8_t *at, uint32_t n, uint64_t mode)
{
	struct uffdio_writeprotect wp = {
		.range = {.start = (uintptr_t)at, .len = pages_bytes(n)},
		.mode = mode,
	};
	int err;

	do
		err = ioctl(s->uffd, UFFDIO_WRITEPROTECT, &wp);
	while (err && errno == EAGAIN);
	return !err;
}

/* Whether the program has memory there, also in swap. Without /proc: in memory. */
static bool has_memory(const struct annex_space *s, uint32_t page)
{
	off_t at = (off_t)((uintptr_t)base(s, page) / ANNEX_MEM_PAGE * sizeof(uint64_t));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	ssize_t got = fd < 0 ? 0 : pread(fd, &entry, sizeof(entry), at);
	unsigned char there = 1;

	if (fd >= 0)
		close(fd);
	if (got == sizeof(entry))
		return entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED);
	return mincore(base(s, page), ANNEX_MEM_PAGE, &there) || there & 1;
}

uint32_t annex_pool_hide(struct annex_space *s, uint32_t first, uint32_t n, bool clean)
{
	const uint64_t mode = UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES;
	bool unlocked = false;
	uint32_t done = 0, at;
	int err;

	clear_place(s, first, n);
	while (done < n) {
		done += move(s, alias(s, first + done), base(s, first + done), n - done, mode);
		at = first + done;
		if (done == n)
			break;
		err = errno;
		/* It is moved, but Linux 6.18 told EAGAIN. */
		if (err == EEXIST && !has_memory(s, at)) {
			done++;
			continue;
		}
		/* The program has locked some, or locks all memory, also where there was none. */
		if (err == EINVAL && !unlocked) {
			unlocked = true;
			err = munlock(base(s, at), pages_bytes(n - done));
		} else if (err == EEXIST) {
			err = drop(s, at, 1);
		}
		if (err)
			break;
	}
	/* In swap, a page keeps its write protection, of which a transfer must not hear. */
	if (clean && done)
		protect(s, alias(s, first), done, 0);
	return done;
}

bool annex_pool_protect(struct annex_space *s, uint32_t first, uint32_t n)
{
	unsigned char there[JOB_PAGES];

	if (n > JOB_PAGES || !protect(s, base(s, first), n, UFFDIO_WRITEPROTECT_MODE_WP))
		return false;
	for (uint32_t i = first; i < first + n; i++)
		s->pages[i].flags |= PAGE_CLEAN;
	/* A transfer must not wait for memory that the program has taken away. */
	if (mincore(base(s, first), pages_bytes(n), there))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!(there[i] & 1))
			return false;
	return true;
}

/* Move idle memory to neighbouring pages without any. Return: number of pages that have it then. */
static uint32_t refill(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t from, got = annex_runs_take(&s->pool->idle, n, &from), done;

	if (!got)
		return 0;
	done = move(s, alias(s, first), alias(s, from), got, UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES);
	annex_runs_give(&s->pool->idle, from + done, got - done);
	/* The next page has memory already: moved without a count, as in annex_pool_hide(). */
	return done < got && errno == EEXIST ? done + 1 : done;
}

void annex_pool_expect(struct annex_space *s, int64_t n)
{
	pthread_mutex_lock(&s->pool->lock);
	s->pool->expected += (uint64_t)n;
	pthread_mutex_unlock(&s->pool->lock);
}

int annex_pool_take(struct annex_space *s, uint32_t first, uint32_t n, bool zeroes)
{
	uint32_t end = first + n, part, got;
	int err = 0;
	bool idle;

	for (; first < end && !err; first += part) {
		pthread_mutex_lock(&s->pool->lock);
		part = annex_runs_take_here(&s->pool->idle, first, end - first, &idle);
		got = idle ? part : refill(s, first, part);
		pthread_mutex_unlock(&s->pool->lock);
		part = got ? got : part;
		if (got && zeroes)
			memset(alias(s, first), 0, pages_bytes(part));
		else if (!got && madvise(alias(s, first), pages_bytes(part), MADV_POPULATE_WRITE))
			err = -errno;
	}
	annex_pool_expect(s, -(int64_t)n);
	return err;
}

void annex_pool_give(struct annex_space *s, uint32_t first, uint32_t n)
{
	pthread_mutex_lock(&s->pool->lock);
	annex_runs_give(&s->pool->idle, first, n);
	pthread_mutex_unlock(&s->pool->lock);
}

uint32_t annex_pool_excess(struct annex_space *s)
{
	uint32_t idle, used;

	pthread_mutex_lock(&s->pool->lock);
	idle = s->pool->idle.free;
	used = s->device - (uint32_t)s->pool->expected;
	pthread_mutex_unlock(&s->pool->lock);
	if (used + idle <= s->budget)
		return 0;
	return used > s->budget ? idle : used + idle - s->budget;
}

void annex_pool_trim(struct annex_space *s, uint32_t most)
{
	uint32_t first, n;

	do {
		pthread_mutex_lock(&s->pool->lock);
		n = annex_runs_take(&s->pool->idle, (uint32_t)least(most, JOB_PAGES), &first);
		/* Before another thread gives memory to the place again. */
		if (n)
			drop(s, first, n);
		pthread_mutex_unlock(&s->pool->lock);
		most -= n;
	} while (n && most);
}

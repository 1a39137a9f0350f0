// SPDX-License-Identifier: MIT
/*
 * Process memory that other processes can be given: a sealed memfd for each allocation.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/provider.h>
#include "array.h"
#include "range.h"
#include "shared.h"

/* struct shared - An allocation, and its file. */
struct shared {
	struct range range;
	int fd;
};

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
	struct shared *v; /* sorted */
	unsigned int n, room;
} all;

static void begin(void)
{
	pthread_mutex_init(&lock, NULL);
}

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

static int make_file(size_t size)
{
	int fd = memfd_create("annex-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	/* A process that is given the file can rely on its size. */
	if (!ftruncate(fd, (off_t)size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -1;
}

static bool note(void *ptr, size_t size, int fd)
{
	bool noted;
	unsigned int i;

	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	noted = array_grow(all.v, all.n, all.room);
	if (noted) {
		i = range_search(all.v, all.n, sizeof(*all.v), (uintptr_t)ptr);
		memmove(&all.v[i + 1], &all.v[i], (all.n - i) * sizeof(*all.v));
		all.v[i] = (struct shared){{(uintptr_t)ptr, size}, fd};
		all.n++;
	}
	pthread_mutex_unlock(&lock);
	return noted;
}

static void *shared_alloc(void *ctx, size_t size, size_t align)
{
	const struct annex_provider *pages = annex_provider_pages();
	void *ptr;
	int fd;

	(void)ctx;
	size = whole_pages(size);
	ptr = pages->alloc(pages->ctx, size, align);
	if (!ptr)
		return NULL;
	fd = make_file(size);
	if (fd >= 0 &&
	    mmap(ptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == ptr) {
		madvise(ptr, size, MADV_HUGEPAGE); /* a wish */
		if (note(ptr, size, fd))
			return ptr;
	}
	if (fd >= 0)
		close(fd);
	pages->free(pages->ctx, ptr, size);
	return NULL;
}

/* The entry that @ptr is in, or NULL. With the lock held. */
static struct shared *find(const void *ptr)
{
	unsigned int i = range_search(all.v, all.n, sizeof(*all.v), (uintptr_t)ptr);

	return i < all.n && range_holds(&all.v[i].range, (uintptr_t)ptr, 1) ? &all.v[i] : NULL;
}

static void shared_free(void *ctx, void *ptr, size_t size)
{
	struct shared *s;

	(void)ctx;
	if (!ptr)
		return;
	pthread_mutex_lock(&lock);
	s = find(ptr);
	if (s) {
		close(s->fd);
		all.n--;
		memmove(s, s + 1, (size_t)(all.v + all.n - s) * sizeof(*s));
	}
	pthread_mutex_unlock(&lock);
	munmap(ptr, whole_pages(size));
}

bool shared_find(const void *ptr, size_t len, int *fd, uint64_t *offset)
{
	const struct shared *s;

	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	s = find(ptr);
	if (s && !range_holds(&s->range, (uintptr_t)ptr, len))
		s = NULL;
	if (s) {
		*fd = s->fd;
		*offset = (uintptr_t)ptr - s->range.addr;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

const struct annex_provider *annex_provider_shared(void)
{
	static const struct annex_provider shared = {
		.name = "shared",
		.alloc = shared_alloc,
		.free = shared_free,
	};

	return &shared;
}

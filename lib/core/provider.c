// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/provider.h>
#include "array.h"
#include "range.h"
#include "shared.h"

#define HUGE_PAGE (2ul << 20)

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t size)
{
	return (size + page_size() - 1) & ~(page_size() - 1);
}

/* mmap of size + align, then trimmed, so that any alignment is met without a header. */
static void *map_aligned(size_t size, size_t align)
{
	size_t page = page_size(), head, total;
	uintptr_t raw, start;
	char *p;

	size = whole_pages(size);
	if (align < page)
		align = page;
	if (!size || size > SIZE_MAX / 2 || align > SIZE_MAX / 4)
		return NULL;
	total = size + align - page;
	p = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	raw = (uintptr_t)p;
	start = (raw + align - 1) & ~(uintptr_t)(align - 1);
	head = start - raw;
	if (head)
		munmap(p, head);
	if (total - head > size)
		munmap(p + head + size, total - head - size);
	return p + head;
}

static void *pages_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	return map_aligned(size, align);
}

static void *huge_alloc(void *ctx, size_t size, size_t align)
{
	void *p;

	(void)ctx;
	if (size < HUGE_PAGE)
		return map_aligned(size, align);
	p = map_aligned(size, align > HUGE_PAGE ? align : HUGE_PAGE);
	if (p)
		madvise(p, size, MADV_HUGEPAGE); /* a wish: ordinary pages serve as well */
	return p;
}

static void unmap_pages(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	if (ptr)
		munmap(ptr, size);
}

const struct annex_provider *annex_provider_pages(void)
{
	static const struct annex_provider pages = {
		.name = "pages",
		.alloc = pages_alloc,
		.free = unmap_pages,
	};

	return &pages;
}

const struct annex_provider *annex_provider_huge(void)
{
	static const struct annex_provider huge = {
		.name = "huge",
		.alloc = huge_alloc,
		.free = unmap_pages,
	};

	return &huge;
}

/* struct shared - An allocation of annex_provider_shared(), and its file. */
struct shared {
	struct range range;
	int fd;
};

static pthread_mutex_t shared_lock;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;
static struct {
	struct shared *v; /* sorted */
	unsigned int n, room;
} shared_all;

static void shared_init(void)
{
	pthread_mutex_init(&shared_lock, NULL);
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

static bool shared_add(void *ptr, size_t size, int fd)
{
	bool noted;
	unsigned int i;

	pthread_once(&shared_once, shared_init);
	pthread_mutex_lock(&shared_lock);
	noted = array_grow(shared_all.v, shared_all.n, shared_all.room);
	if (noted) {
		i = range_search(shared_all.v, shared_all.n, sizeof(*shared_all.v), (uintptr_t)ptr);
		memmove(&shared_all.v[i + 1], &shared_all.v[i],
			(shared_all.n - i) * sizeof(*shared_all.v));
		shared_all.v[i] = (struct shared){{(uintptr_t)ptr, size}, fd};
		shared_all.n++;
	}
	pthread_mutex_unlock(&shared_lock);
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
		if (shared_add(ptr, size, fd))
			return ptr;
	}
	if (fd >= 0)
		close(fd);
	pages->free(pages->ctx, ptr, size);
	return NULL;
}

/* The entry that contains @ptr, or NULL. The lock is held. */
static struct shared *shared_of(const void *ptr)
{
	unsigned int i = range_search(shared_all.v, shared_all.n, sizeof(*shared_all.v),
				      (uintptr_t)ptr);

	return i < shared_all.n && range_holds(&shared_all.v[i].range, (uintptr_t)ptr, 1)
		       ? &shared_all.v[i]
		       : NULL;
}

static void shared_free(void *ctx, void *ptr, size_t size)
{
	struct shared *s;

	(void)ctx;
	if (!ptr)
		return;
	pthread_mutex_lock(&shared_lock);
	s = shared_of(ptr);
	if (s) {
		close(s->fd);
		shared_all.n--;
		memmove(s, s + 1, (size_t)(shared_all.v + shared_all.n - s) * sizeof(*s));
	}
	pthread_mutex_unlock(&shared_lock);
	munmap(ptr, whole_pages(size));
}

bool shared_find(const void *ptr, size_t len, int *fd, uint64_t *offset)
{
	const struct shared *s;

	pthread_once(&shared_once, shared_init);
	pthread_mutex_lock(&shared_lock);
	s = shared_of(ptr);
	if (s && !range_holds(&s->range, (uintptr_t)ptr, len))
		s = NULL;
	if (s) {
		*fd = s->fd;
		*offset = (uintptr_t)ptr - s->range.addr;
	}
	pthread_mutex_unlock(&shared_lock);
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

/* struct note - Data of annex_provider_udmabuf(), in a page before an allocation. */
struct note {
	int fd; /* its dma-buf */
};

/* A dma-buf for a memfd of @size bytes, both closed by the caller; -1: none. */
static int export_memfd(int memfd, size_t size)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = size};
	int dev, fd = -1;

	if (ftruncate(memfd, (off_t)size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (dev >= 0) {
		fd = ioctl(dev, UDMABUF_CREATE, &create);
		close(dev);
	}
	return fd;
}

static struct note *note_of(void *ptr)
{
	return (struct note *)((char *)ptr - page_size());
}

/* Memory of the memfd with a page before it, or MAP_FAILED. */
static void *map_memfd(int memfd, size_t size)
{
	size_t page = page_size();
	char *base = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (base == MAP_FAILED)
		return MAP_FAILED;
	if (mmap(base + page, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0) ==
	    MAP_FAILED) {
		/* Other threads may have got some of the rest, which may have been replaced. */
		munmap(base, page);
		return MAP_FAILED;
	}
	return base + page;
}

static void *udmabuf_alloc(void *ctx, size_t size, size_t align)
{
	void *ptr = MAP_FAILED;
	int memfd, fd;

	(void)ctx;
	if (!size || align > page_size())
		return NULL;
	size = whole_pages(size);
	memfd = memfd_create("annex", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memfd < 0)
		return NULL;
	fd = export_memfd(memfd, size);
	if (fd >= 0)
		ptr = map_memfd(memfd, size);
	close(memfd);
	if (ptr == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	note_of(ptr)->fd = fd;
	return ptr;
}

static void udmabuf_free(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	if (!ptr)
		return;
	close(note_of(ptr)->fd);
	munmap(note_of(ptr), page_size() + whole_pages(size));
}

static int udmabuf_fd(void *ctx, void *ptr, uint64_t *offset)
{
	(void)ctx;
	*offset = 0;
	return note_of(ptr)->fd;
}

const struct annex_provider *annex_provider_udmabuf(void)
{
	static const struct annex_provider udmabuf = {
		.name = "udmabuf",
		.alloc = udmabuf_alloc,
		.free = udmabuf_free,
		.dmabuf = udmabuf_fd,
	};

	return &udmabuf;
}

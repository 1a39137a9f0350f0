// SPDX-License-Identifier: MIT
/*
 * Process memory behind dma-bufs: a sealed memfd, which /dev/udmabuf makes one of.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/provider.h>

/* struct piece - An allocation, @fd its dma-buf. */
struct piece {
	struct piece *next;
	void *ptr;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces; /* under the lock */

/* The dma-buf of a memfd of so many bytes, both closed by the caller; -1: there is none. */
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

static void *udmabuf_alloc(void *ctx, size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct piece *p = calloc(1, sizeof(*p));
	int memfd = memfd_create("annex", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)ctx;
	size = (size + page - 1) & ~(page - 1);
	if (!p || memfd < 0 || align > page || !size)
		goto fail;
	p->fd = export_memfd(memfd, size);
	if (p->fd < 0)
		goto fail;
	p->ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (p->ptr == MAP_FAILED) {
		close(p->fd);
		goto fail;
	}
	close(memfd);
	pthread_mutex_lock(&lock);
	p->next = pieces;
	pieces = p;
	pthread_mutex_unlock(&lock);
	return p->ptr;
fail:
	if (memfd >= 0)
		close(memfd);
	free(p);
	return NULL;
}

/* The link to the piece at @ptr. The lock is held. */
static struct piece **find(const void *ptr)
{
	struct piece **at = &pieces;

	while (*at && (*at)->ptr != ptr)
		at = &(*at)->next;
	return at;
}

static void udmabuf_free(void *ctx, void *ptr, size_t size)
{
	struct piece **at, *p;

	(void)ctx;
	pthread_mutex_lock(&lock);
	at = find(ptr);
	p = *at;
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&lock);
	if (!p)
		return;
	munmap(ptr, size);
	close(p->fd);
	free(p);
}

static int udmabuf_fd(void *ctx, void *ptr, uint64_t *offset)
{
	struct piece *p;
	int fd;

	(void)ctx;
	*offset = 0;
	pthread_mutex_lock(&lock);
	p = *find(ptr);
	fd = p ? p->fd : -1;
	pthread_mutex_unlock(&lock);
	return fd;
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

// SPDX-License-Identifier: MIT
/*
 * Process memory behind dma-bufs: a sealed memfd, which /dev/udmabuf makes one of.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/provider.h>

/* Notes on an allocation, in a page of its own before it. */
struct note {
	int fd; /* its dma-buf */
};

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

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
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
		/* Of the rest, which may have been replaced, others may have been given some. */
		munmap(base, page);
		return MAP_FAILED;
	}
	return base + page;
}

static size_t whole_pages(size_t size)
{
	return (size + page_size() - 1) & ~(page_size() - 1);
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

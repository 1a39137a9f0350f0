/* SPDX-License-Identifier: MIT */
/*
 * The calls of annex.ko with one field wrong at a time, and their expected results, for ioctl.c and
 * view.c.
 */
#ifndef TESTS_QEMU_IOCTL_H
#define TESTS_QEMU_IOCTL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uapi/annex.h>

#define PAGE 4096ull
#define ROOM 1024u /* segments */
#define RINGS 0x100000ull
#define ALL_ONES (~0ull & ~(PAGE - 1))
#define NEAR 32u /* pages from an owner's memory on, where fuzz.c looks for the module's own */

static char path[64];
static int fd = -1;
static struct annex_ioc_info info;
static struct annex_ioc_seg segs[ROOM];
static char *mem; /* 16 pages */
static unsigned int failures;

__attribute__((format(printf, 3, 4))) static inline bool expect(long want, long got,
								const char *format, ...)
{
	char words[160];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (got == want) {
		dprintf(3, "ok %s\n", words);
		return true;
	}
	dprintf(3, "not ok %s\n#   %ld (%s), not %ld (%s)\n", words, got, strerror((int)labs(got)),
		want, strerror((int)labs(want)));
	failures++;
	return false;
}

static inline bool has(uint32_t flag)
{
	return info.flags & flag;
}

static inline long call(unsigned long request, void *args)
{
	int got = ioctl(fd, request, args);

	return got < 0 ? -errno : got;
}

/* An address, or a negative errno; it is unmapped again. */
static inline long try_mmap(size_t bytes, int prot, int flags, uint64_t offset)
{
	void *at = mmap(NULL, bytes, prot, flags, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, bytes);
	return 0;
}

static inline char *pages(unsigned int n, int prot)
{
	char *at = mmap(NULL, n * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(3);
	return at;
}

static inline long open_again(void)
{
	int got = open(path, O_RDWR | O_CLOEXEC);

	if (got < 0)
		return -errno;
	close(got);
	return 0;
}

static inline struct annex_ioc_map user(const void *addr, uint64_t bytes)
{
	return (struct annex_ioc_map){.size = sizeof(struct annex_ioc_map),
				      .kind = ANNEX_MAP_USER,
				      .addr = (uintptr_t)addr,
				      .bytes = bytes,
				      .segs = (uintptr_t)segs,
				      .nsegs = ROOM,
				      .fd = -1};
}

static inline struct annex_ioc_map fresh(uint32_t kind, uint64_t bytes)
{
	struct annex_ioc_map args = user(NULL, bytes);

	args.kind = kind;
	return args;
}

static inline struct annex_ioc_map dmabuf(int file, uint64_t offset, uint64_t bytes)
{
	struct annex_ioc_map args = fresh(ANNEX_MAP_DMABUF, bytes);

	args.fd = file;
	args.offset = offset;
	return args;
}

static inline long map(struct annex_ioc_map args, uint32_t *id)
{
	long err = call(ANNEX_IOC_MAP, &args);

	if (id)
		*id = err ? 0 : args.id;
	return err;
}

static inline long unmap(uint32_t id)
{
	struct annex_ioc_unmap args = {.size = sizeof(args), .id = id};

	return call(ANNEX_IOC_UNMAP, &args);
}

/* A mapping that should have failed is removed, or it would spoil later claims. */
static inline void no_map(long want, struct annex_ioc_map args, const char *words)
{
	uint32_t id;
	long got = map(args, &id);

	expect(want, got, "map: %s", words);
	if (!got)
		unmap(id);
}

/* A dma-buf, or a negative errno. */
static inline int try_export(uint32_t id, uint64_t offset, uint64_t bytes)
{
	struct annex_ioc_dmabuf args = {
		.size = sizeof(args), .offset = ANNEX_MMAP_NEW(id) + offset, .bytes = bytes};
	long err = call(ANNEX_IOC_DMABUF, &args);

	return err ? (int)err : args.fd;
}

static inline void no_export(long want, uint32_t id, uint64_t offset, uint64_t bytes,
			     const char *words)
{
	int got = try_export(id, offset, bytes);

	expect(want, got < 0 ? got : 0, "dma-buf: %s", words);
	if (got >= 0)
		close(got);
}

static uint32_t rings; /* a mapping for queues */

static inline struct annex_ioc_queue queue(uint32_t qid)
{
	return (struct annex_ioc_queue){.size = sizeof(struct annex_ioc_queue),
					.qid = qid,
					.depth = 64,
					.sq_map = rings,
					.cq_map = rings,
					.eventfd = -1,
					.cq_offset = RINGS / 2};
}

static inline long destroy(uint32_t qid)
{
	struct annex_ioc_qid args = {.size = sizeof(args), .qid = qid};

	return call(ANNEX_IOC_QUEUE_DELETE, &args);
}

static inline void no_queue(long want, struct annex_ioc_queue args, const char *words)
{
	long got = call(ANNEX_IOC_QUEUE_CREATE, &args);

	expect(want, got, "create: %s", words);
	if (!got)
		destroy(args.qid);
}

static inline void no_mmap(long want, size_t bytes, uint64_t offset, const char *words)
{
	expect(want, try_mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, offset), "mmap: %s",
	       words);
}

/* Run @what in a child. Return: its exit status, or the signal that ends it. */
static inline int in_child(int (*what)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		failures = 0;
		_exit(what(arg));
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

#endif

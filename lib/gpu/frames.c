// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/log.h"
#include "context.h"
#include "stream.h"

#define FRAME (64u << 10) /* smaller than a GPU's, so that little data has many */
#define LITTER 0xa5       /* a fresh frame is full of it */

static int reserve(void *ctx, uint64_t bytes, void **base)
{
	size_t all = bytes + FRAME;
	char *p, *first;

	(void)ctx;
	if (all < bytes)
		return annex_fail(-ENOMEM, "host: no %llu bytes of addresses", (ull)bytes);
	p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return annex_fail(-ENOMEM, "host: no %llu bytes of addresses", (ull)bytes);
	first = p + (-(uintptr_t)p & (FRAME - 1));
	if (first > p)
		munmap(p, (size_t)(first - p));
	munmap(first + bytes, FRAME - (size_t)(first - p));
	*base = first;
	return 0;
}

static void release(void *ctx, void *base, uint64_t bytes)
{
	(void)ctx;
	munmap(base, bytes);
}

static int map(void *at, uint32_t n, int prot)
{
	void *p = mmap(at, (size_t)n * FRAME, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
			       (prot == PROT_NONE ? MAP_NORESERVE : 0),
		       -1, 0);

	return p == MAP_FAILED ? annex_fail(-errno, "host: a frame: %m") : 0;
}

static int bare(void *ctx, void *at)
{
	(void)ctx;
	return map(at, 1, PROT_NONE);
}

/* A frame that idles can be used again where it is; elsewhere a new one is as good. */
static int back(void *ctx, void *at, uint32_t n, void *const *from)
{
	char *p = at;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++, p += FRAME) {
		if (from[i] == p)
			err = mprotect(p, FRAME, PROT_READ | PROT_WRITE)
				      ? annex_fail(-errno, "host: a frame: %m")
				      : 0;
		else
			err = map(p, 1, PROT_READ | PROT_WRITE);
		if (!err)
			memset(p, LITTER, FRAME);
	}
	for (uint32_t i = 0; i < n; i++)
		if (from[i] && (err || from[i] != (char *)at + (size_t)i * FRAME))
			bare(ctx, from[i]);
	if (err)
		map(at, n, PROT_NONE);
	return err;
}

/* As on a GPU the host must not access them: a thread that does crashes here. */
static void idle(void *ctx, void *at, uint32_t n)
{
	(void)ctx;
	if (mprotect(at, (size_t)n * FRAME, PROT_NONE))
		annex_log(ANNEX_LOG_WARNING, "host: idle frames can be touched: %m");
}

static int put(void *ctx, void *to, const void *from, size_t bytes)
{
	(void)ctx;
	memcpy(to, from, bytes);
	return 0;
}

static int zero(void *ctx, void *at, size_t bytes)
{
	(void)ctx;
	memset(at, 0, bytes);
	return 0;
}

static int pin(void *ctx, void *ptr, size_t bytes)
{
	(void)ctx;
	(void)ptr;
	(void)bytes;
	return 0;
}

static void unpin(void *ctx, void *ptr)
{
	(void)ctx;
	(void)ptr;
}

const struct annex_frames gpu_frames_host = {
	.name = "host",
	.bytes = FRAME,
	.reserve = reserve,
	.release = release,
	.back = back,
	.bare = bare,
	.idle = idle,
	.put = put,
	.get = put,
	.zero = zero,
	.mark = gpu_stream_mark,
	.await = gpu_stream_await,
	.between = gpu_stream_between,
	.unmark = gpu_stream_unmark,
	.pin = pin,
	.unpin = unpin,
};

// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/log.h"
#include "frames.h"

#define FRAME (64u << 10) /* smaller than a GPU's, so that little data has many */

/* A fresh frame is full of this. */
static char litter = (char)0xa5;

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

static int map(void *at, int prot)
{
	void *p = mmap(at, FRAME, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
			       (prot == PROT_NONE ? MAP_NORESERVE : 0),
		       -1, 0);

	return p == MAP_FAILED ? annex_fail(-errno, "host: a frame: %m") : 0;
}

static int back(void *ctx, void *at)
{
	const char *full_of = ctx;
	int err = map(at, PROT_READ | PROT_WRITE);

	if (!err && full_of)
		memset(at, *full_of, FRAME);
	return err;
}

static int bare(void *ctx, void *at)
{
	(void)ctx;
	return map(at, PROT_NONE);
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

#define FRAMES(what, with)                                                                         \
	{                                                                                          \
		.name = (what), .bytes = FRAME, .reserve = reserve, .release = release,            \
		.back = back, .bare = bare, .put = put, .get = put, .zero = zero, .pin = pin,      \
		.unpin = unpin, .ctx = (with),                                                     \
	}

const struct annex_frames gpu_frames_host = FRAMES("host", &litter);
const struct annex_frames gpu_frames_memory = FRAMES("memory", NULL);

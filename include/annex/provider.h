/* SPDX-License-Identifier: MIT */
/*
 * Memory providers: where queues, buffers and cache lines live is one argument, never a hidden
 * malloc.
 */
#ifndef ANNEX_PROVIDER_H
#define ANNEX_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_provider - A source of memory.
 * @name: for messages.
 * @alloc: returns @size zeroed bytes aligned to @align (a power of two), or NULL.
 * @free: gives back what @alloc returned, with the same size.
 * @dmabuf: the descriptor of the dma-buf that @ptr, which @alloc returned, begins in, and *@offset
 *	where in it; NULL: it is ordinary process memory. The descriptor stays the provider's.
 * @ctx: passed to all.
 *
 * A provider must outlive everything created with it. Its functions may be called from any
 * thread.
 */
struct annex_provider {
	const char *name;
	void *(*alloc)(void *ctx, size_t size, size_t align);
	void (*free)(void *ctx, void *ptr, size_t size);
	int (*dmabuf)(void *ctx, void *ptr, uint64_t *offset);
	void *ctx;
};

/**
 * annex_provider_pages() - Ordinary process memory, in whole pages.
 */
const struct annex_provider *annex_provider_pages(void);

/**
 * annex_provider_huge() - Process memory in huge pages where the kernel has them to give.
 *
 * Transparent huge pages are asked for (MADV_HUGEPAGE); without them it is ordinary memory. Saves
 * TLB misses on caches of many megabytes.
 */
const struct annex_provider *annex_provider_huge(void);

/**
 * annex_provider_shared() - Process memory that other processes can be given: sealed memfds.
 *
 * A device of another process (unix:) reads and writes it in place; any other memory it copies. A
 * child has the same memory after a fork, not a copy.
 */
const struct annex_provider *annex_provider_shared(void);

/**
 * annex_provider_udmabuf() - Process memory behind dma-bufs (Linux's udmabuf): what memory of
 * another device looks like, on a machine without one.
 *
 * Its alloc needs /dev/udmabuf, and returns NULL without.
 */
const struct annex_provider *annex_provider_udmabuf(void);

#ifdef __cplusplus
}
#endif
#endif

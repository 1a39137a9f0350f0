/* SPDX-License-Identifier: MIT */
/*
 * Memory providers: sources of memory for queues, buffers and cache lines, chosen by the caller.
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
 * @dmabuf: returns the descriptor of the dma-buf that contains @ptr, which @alloc returned, and
 *	sets *@offset to the offset there. The provider owns the descriptor. NULL: this is ordinary
 *	process memory.
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
 * annex_provider_huge() - Process memory in transparent huge pages, if the kernel has them.
 *
 * Uses MADV_HUGEPAGE; otherwise this is ordinary memory. Avoids TLB misses on caches of many
 * megabytes.
 */
const struct annex_provider *annex_provider_huge(void);

/**
 * annex_provider_shared() - Process memory that can be shared with other processes: sealed memfds.
 *
 * A device of another process (unix:) reads and writes this memory in place; data in other memory
 * is copied. After fork() parent and child share this memory.
 */
const struct annex_provider *annex_provider_shared(void);

/**
 * annex_provider_udmabuf() - Process memory with dma-bufs (Linux's udmabuf), to imitate memory of
 * another device.
 *
 * Its alloc returns NULL if there is no /dev/udmabuf.
 */
const struct annex_provider *annex_provider_udmabuf(void);

#ifdef __cplusplus
}
#endif
#endif

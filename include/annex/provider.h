/* SPDX-License-Identifier: MIT */
/*
 * Memory providers: where queues, buffers and cache lines live is one argument, never a hidden
 * malloc.
 */
#ifndef ANNEX_PROVIDER_H
#define ANNEX_PROVIDER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_provider - A source of memory.
 * @name: for messages.
 * @alloc: returns @size zeroed bytes aligned to @align (a power of two), or NULL.
 * @free: gives back what @alloc returned, with the same size.
 * @ctx: passed to both.
 *
 * A provider must outlive everything created with it. Both functions may be called from any
 * thread.
 */
struct annex_provider {
	const char *name;
	void *(*alloc)(void *ctx, size_t size, size_t align);
	void (*free)(void *ctx, void *ptr, size_t size);
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

#ifdef __cplusplus
}
#endif
#endif

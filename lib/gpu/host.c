// SPDX-License-Identifier: MIT
/*
 * The host in the place of a GPU: its memory is the process's, and its threads are too.
 */
#include <string.h>
#include <annex/gpu.h>
#include "core/racy.h"
#include "context.h"

static void *host_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	return annex_provider_pages()->alloc(annex_provider_pages()->ctx, size, align);
}

static void host_free(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	annex_provider_pages()->free(annex_provider_pages()->ctx, ptr, size);
}

static int host_copy(void *ctx, void *to, const void *from, size_t bytes)
{
	(void)ctx;
	memcpy(to, from, bytes);
	return 0;
}

static int host_fill(void *ctx, void *ptr, int byte, size_t bytes)
{
	(void)ctx;
	memset(ptr, byte, bytes);
	return 0;
}

static int host_reach(void *ctx, void *ptr, size_t bytes, bool io, void **seen)
{
	(void)ctx;
	(void)bytes;
	(void)io;
	*seen = ptr;
	return 0;
}

static void host_unreach(void *ctx, void *ptr)
{
	(void)ctx;
	(void)ptr;
}

static int host_flush(void *ctx, struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
		      uint64_t n)
{
	(void)ctx;
	/* Errors are in the record of the cache. */
	for (uint32_t i = 0; i < nslots; i++)
		if (annex_gpu_flush_slot(cache, i, first, n))
			break;
	return 0;
}

/*
 * Out of a slot that is written back: lanes may change elements meanwhile, as annex_gpu_copy_out()
 * says, so words are copied whole. All that moves is whole blocks.
 */
ANNEX_RACY static void copy_words(void *to, const volatile uint64_t *from, uint64_t n)
{
	uint64_t *words = to;

	for (uint64_t i = 0; i < n; i++)
		words[i] = from[i];
}

static int host_moves(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	(void)ctx;
	annex_racy_begin();
	for (unsigned int i = 0; i < n; i++) {
		void *far = (void *)(uintptr_t)moves[i].far;

		if (moves[i].to_far)
			memcpy(far, moves[i].near, moves[i].len);
		else
			copy_words(moves[i].near, far, moves[i].len / sizeof(uint64_t));
	}
	annex_racy_end();
	return 0;
}

const struct annex_gpu_memory *annex_gpu_memory_host(void)
{
	static const struct annex_copier copier = {.name = "host", .copy = host_moves};
	static const struct annex_provider pages = {
		.name = "host", .alloc = host_alloc, .free = host_free};
	static const struct annex_gpu_memory host = {
		.name = "host",
		.device = &pages,
		.pinned = &pages,
		.put = host_copy,
		.get = host_copy,
		.fill = host_fill,
		.reach = host_reach,
		.unreach = host_unreach,
		.flush = host_flush,
		.copier = &copier,
		.frames = &gpu_frames_host,
	};

	return &host;
}

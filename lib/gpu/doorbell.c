// SPDX-License-Identifier: MIT
/*
 * Doorbells for GPU threads: pages of a drive's registers, or of a proxy's memory.
 */
#include <errno.h>
#include "context.h"
#include "core/log.h"

static const struct gpu_page *find(const struct annex_gpu_context *ctx, const char *at)
{
	for (unsigned int i = 0; i < ctx->npages; i++)
		if (ctx->pages[i].at == at)
			return &ctx->pages[i];
	return NULL;
}

int gpu_see(struct annex_gpu_context *ctx, uint32_t *word, bool io, uint32_t **seen)
{
	const struct annex_gpu_memory *memory = ctx->memory;
	size_t off = (uintptr_t)word % ANNEX_NVME_PAGE;
	const struct gpu_page *page;
	char *at;

	*seen = NULL;
	if (!word)
		return 0;
	at = (char *)word - off;
	page = find(ctx, at);
	if (!page) {
		struct gpu_page *fresh = &ctx->pages[ctx->npages];
		void *ptr;
		int err;

		if (ctx->npages == GPU_PAGES)
			return annex_fail(-E2BIG, "%s: more than %u pages of doorbells",
					  annex_dev_uri(ctx->dev), GPU_PAGES);
		/* annex.ko inserts a doorbell page on first access. Pinning does not access it:
		 * read it. */
		annex_mmio_read32(word);
		err = memory->reach(memory->ctx, at, ANNEX_NVME_PAGE, io, &ptr);
		if (err)
			return err;
		*fresh = (struct gpu_page){at, ptr};
		ctx->npages++;
		page = fresh;
	}
	*seen = (uint32_t *)(void *)(page->seen + off);
	return 0;
}

void gpu_unsee_all(struct annex_gpu_context *ctx)
{
	while (ctx->npages)
		ctx->memory->unreach(ctx->memory->ctx, ctx->pages[--ctx->npages].at);
}

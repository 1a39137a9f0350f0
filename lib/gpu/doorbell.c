// SPDX-License-Identifier: MIT
/*
 * Doorbells for GPU threads: pages of a drive's registers, or of a proxy's memory.
 */
#include <errno.h>
#include "context.h"
#include "core/log.h"

static const struct gpu_page *find(const struct gpu_dev *d, const char *at)
{
	for (unsigned int i = 0; i < d->npages; i++)
		if (d->pages[i].at == at)
			return &d->pages[i];
	return NULL;
}

int gpu_see(struct gpu_dev *d, uint32_t *word, uint32_t **seen)
{
	const struct annex_gpu_memory *memory = d->ctx->memory;
	size_t off = (uintptr_t)word % ANNEX_NVME_PAGE;
	const struct gpu_page *page;
	char *at;

	*seen = NULL;
	if (!word)
		return 0;
	at = (char *)word - off;
	page = find(d, at);
	if (!page) {
		struct gpu_page *fresh = &d->pages[d->npages];
		void *ptr;
		int err;

		if (d->npages == GPU_PAGES)
			return annex_fail(-E2BIG, "%s: more than %u pages of doorbells",
					  annex_dev_uri(d->dev), GPU_PAGES);
		/* annex.ko inserts a doorbell page on first access. Pinning does not access it:
		 * read it. */
		annex_mmio_read32(word);
		err = memory->reach(memory->ctx, at, ANNEX_NVME_PAGE, !d->proxy, &ptr);
		if (err)
			return err;
		*fresh = (struct gpu_page){at, ptr};
		d->npages++;
		page = fresh;
	}
	*seen = (uint32_t *)(void *)(page->seen + off);
	return 0;
}

void gpu_unsee_all(struct gpu_dev *d)
{
	const struct annex_gpu_memory *memory = d->ctx->memory;

	while (d->npages)
		memory->unreach(memory->ctx, d->pages[--d->npages].at);
}

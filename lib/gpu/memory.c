// SPDX-License-Identifier: MIT
/*
 * GPU memory, by whatever kind of it a context has.
 */
#include <errno.h>
#include "context.h"
#include "core/log.h"

size_t gpu_whole_pages(size_t bytes)
{
	return (bytes + ANNEX_NVME_PAGE - 1) & ~(size_t)(ANNEX_NVME_PAGE - 1);
}

void *gpu_alloc(const struct annex_gpu_context *ctx, size_t bytes, const char *what)
{
	const struct annex_provider *device = ctx->memory->device;
	void *ptr = device->alloc(device->ctx, gpu_whole_pages(bytes), ANNEX_NVME_PAGE);

	if (!ptr)
		annex_fail(-ENOMEM, "%s: no %zu bytes of %s memory for %s", ctx->memory->name,
			   bytes, device->name, what);
	return ptr;
}

bool gpu_owns(const struct annex_gpu_context *ctx)
{
	return !ctx->fork.child || ctx->memory == annex_gpu_memory_host();
}

void gpu_free(const struct annex_gpu_context *ctx, void *ptr, size_t bytes)
{
	const struct annex_provider *device = ctx->memory->device;

	if (ptr && gpu_owns(ctx))
		device->free(device->ctx, ptr, gpu_whole_pages(bytes));
}

int gpu_put(const struct annex_gpu_context *ctx, void *to, const void *from, size_t bytes)
{
	return ctx->memory->put(ctx->memory->ctx, to, from, bytes);
}

int gpu_get(const struct annex_gpu_context *ctx, void *to, const void *from, size_t bytes)
{
	return ctx->memory->get(ctx->memory->ctx, to, from, bytes);
}

int annex_gpu_memory_fail(int err, const char *why)
{
	return annex_fail(err, "%s", why);
}
